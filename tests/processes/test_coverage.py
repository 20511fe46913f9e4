"""Do 95 % intervals contain the true median? And does bench/claims.py write every simulated table?

bench/intervals.py draws the noise and runs the stopping rule at its defaults. bench/claims.py writes the
table of results/README.md; the tests compare it with the code, in both directions, as closely as few runs
can tell.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from claims import END, TABLES, begin
from intervals import FEW, ITERATION_S, MODELS, covered, fast, held_of_few, sampled, switching, truth_of
from support.command import captured
from support.selection import slow_case

from wirespeed.statistics.samples import COARSE
from wirespeed.statistics.stopping import Stopping

RUNS = 300
QUICK = [*MODELS][5::4]
"""Of each kind of noise one: skewed, slow, two speeds."""
FEWEST_PERCENT = 93
"""Of every row."""
AS_LONG_AS_A_FIGURE = "two speeds, 2 % apart, changing every 100 ms"
"""A figure that stops for precision has often seen one of them only, and is off by 1 %."""

Shares = tuple[float | None, ...]
"""Alone: how often the interval holds, how often precision stops, how often these hold; by turns the same."""


def documented() -> dict[str, Shares]:
    """The tables of results/README.md, by noise."""
    text = (Path(__file__).parents[2] / "results" / "README.md").read_text()
    text = text.split("## Do the intervals hold?")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+?) \|((?: (?:\d+ %)? ?\|)+)$", text, re.MULTILINE)
    return {
        name: tuple(int(cell[:-2]) / 100 if cell else None for cell in map(str.strip, cells.split("|")[:-1]))
        for name, cells in rows
    }


def agrees(count: int, runs: int, share: float) -> bool:
    """Is `count` of `runs` what a share, written in whole percent, leads to by chance (three sigma)?"""
    known = min(max(share, 0.005), 0.995)
    return abs(count / runs - share) <= 0.005 + 3 * math.sqrt(known * (1 - known) / runs)


def test_every_row_is_simulated() -> None:
    """Protects the table from figures that no simulation confirms."""
    assert set(documented()) == {*MODELS, *FEW}


def test_every_row_of_the_table_holds() -> None:
    """Protects the word "95 %": no kind of noise is left where far fewer intervals hold."""
    for name, shares in documented().items():
        if name == AS_LONG_AS_A_FIGURE:
            continue
        for share in (shares[0], *shares[2:4], *shares[5:6]):
            assert share is None or 100 * share >= FEWEST_PERCENT, name


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
def test_every_row_is_what_the_code_does(name: str) -> None:
    """Protects the table's figures: neither less nor more."""
    model = MODELS[name]
    truth = truth_of(model)
    told = documented()[name][:3], documented()[name][3:]
    counts = covered(model, truth, RUNS)
    for (held, early, held_early, _), (holding, stopping, of_those) in zip(counts, told, strict=True):
        assert holding is not None and stopping is not None
        assert agrees(held, RUNS, holding) and agrees(early, RUNS, stopping)
        assert of_those is None or not early or agrees(held_early, early, of_those)


def test_a_second_speed_is_seldom_overlooked() -> None:
    """Protects from "precise" where a figure saw one of two speeds, 2 % apart, that change every 50 ms."""
    model = MODELS["two speeds, 2 % apart, changing every 50 ms"]
    (_, early, held_early, _), _ = covered(model, truth_of(model), RUNS)
    assert early - held_early <= 0.02 * RUNS


@pytest.mark.parametrize("name", FEW)
def test_coverage_of_a_few_long_iterations_with_late_ones(name: str) -> None:
    """Protects Student's t of 3 to 5 batches, and the order statistics of 6 and more."""
    runs, holding = 4_000, documented()[name][0]
    assert holding is not None and agrees(held_of_few(FEW[name], runs), runs, holding)


@pytest.mark.parametrize("kind", ["skewed", "two speeds"])
def test_a_figure_that_was_measured_on_holds_too(kind: str) -> None:
    """Protects intervals of figures that took more time because they were wide: no chance is looked for."""
    rng, rows = np.random.default_rng(3), 200
    draws = (
        np.exp(fast(rng, rows)) if kind == "skewed" else 1 + switching(rng, rows, 60) + 0.1 * fast(rng, rows)
    )
    truth = (1.0 if kind == "skewed" else 1.5) * ITERATION_S
    held = coarse = 0
    for row in draws:
        samples, _, _ = sampled(row, Stopping(), ITERATION_S, turns=3, budget_s=0.25)
        interval, precision = samples.interval(), samples.precision()
        assert interval and precision
        held += interval[0] <= truth <= interval[1]
        coarse += precision > COARSE
    print(f"{kind}: held {held / rows:.3f}, {coarse / rows:.3f} still coarse")
    assert held / rows >= 0.92


LONG = ("learn", "intervals")
"""Tables of which one repetition takes long."""

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / "docs").glob("*.md"), ROOT / "results" / "README.md"]


def tables(root: Path) -> dict[str, str]:
    """Each table of the pages below a folder, by its name."""
    texts = (root / page.relative_to(ROOT) for page in PAGES)
    found: dict[str, str] = {}
    for text in (file.read_text() for file in texts):
        for name, table in re.findall(rf"<!-- bench/claims.py (\S+) -->\n(.*?){END}", text, re.DOTALL):
            assert name not in found
            found[name] = table
    return found


def shape(table: str) -> list[list[str]]:
    """Its cells; of those with simulated figures, how many figures there are."""
    rows = [line[2:-2].split(" | ") for line in table.splitlines() if line.startswith("|")]
    head, label = rows[:2], [row[:1] for row in rows[2:]]
    words = [[_figures(cell) for cell in row[1:]] for row in rows[2:]]
    return [*head, *([*name, *cells] for name, cells in zip(label, words, strict=True))]


def _figures(cell: str) -> str:
    """'100, 99.5' -> '#, #'; a cell that may be empty is one figure."""
    return re.sub(r"\d+(\.\d+)?( %)?", "#", cell.strip()) or "#"


def test_every_table_is_simulated() -> None:
    """Protects the pages from tables that no command makes, and the command from tables without a place."""
    assert tables(ROOT).keys() == TABLES.keys()
    for name, table in TABLES.items():
        assert begin(name) in (ROOT / table.page).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", [slow_case(name) if name in LONG else name for name in TABLES])
def test_it_writes_what_the_pages_have(name: str, tmp_path: Path) -> None:
    for page in PAGES:
        copy = tmp_path / page.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(page, copy)
    page = tmp_path / TABLES[name].page
    was, others = page.read_text(), {key: text for key, text in tables(tmp_path).items() if key != name}
    words = ["--only", name, "--repetitions", "1", "--root", str(tmp_path)]
    command = [sys.executable, str(ROOT / "bench" / "claims.py"), *words]
    captured(command, ok=True)
    found = tables(tmp_path)
    assert shape(found[name]) == shape(tables(ROOT)[name])
    if name != "stated":
        assert found[name].startswith("1 repetitions each:\n\n| ")
    assert {key: text for key, text in found.items() if key != name} == others
    # Nothing around the table has changed.
    assert page.read_text().replace(found[name], "") == was.replace(tables(ROOT)[name], "")


def test_an_unknown_table(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "claims.py"), "--only", "fleet,weather"]
    done = captured([*command, "--root", str(tmp_path)])
    assert done.returncode == 1 and done.stderr.startswith("no table weather; there are fleet, watch")
