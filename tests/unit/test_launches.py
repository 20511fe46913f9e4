"""Several launches of a figure: combined when read, named where some are lacking, counted by every output."""

from __future__ import annotations

import math
import random
import re
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intervals import ALIKE, held_of_launches
from msgspec import to_builtins
from support import report_files as made
from support.records import as_read, end, entry, figure, head, make_run

from wirespeed.paths import find_path
from wirespeed.results.launches import Combined, combined
from wirespeed.results.reading import read
from wirespeed.results.recorder import Recorder
from wirespeed.results.runs import Entry, Run, collect, resumed

TIMES = st.lists(st.floats(1e-9, 1e3), min_size=2, max_size=30)
RUNS = 2000


def launches(*seconds: float, path: str = "host", size: int = 8, **more: Any) -> list[dict[str, Any]]:
    return [entry(path, size, one, launch=number, **more) for number, one in enumerate(seconds, 1)]


def run_of(*records: dict[str, Any], count: int = 3) -> Run:
    begin = head()
    begin["plan"]["launches"] = count
    (run,) = collect(as_read([begin, *records, end()]))
    return run


# ---- the combined figure --------------------------------------------------------------------------------


@given(TIMES)
def test_the_combined_figure(seconds: list[float]) -> None:
    """Protects what a table says of several launches: median, range and interval of their medians."""
    each = [figure("host", 64, one, launch=number) for number, one in enumerate(seconds, 1)]
    whole = combined(each)
    assert isinstance(whole, Combined) and whole.launches == len(seconds) and whole.each == tuple(each)
    assert whole.seconds == pytest.approx(statistics.median(seconds))
    assert (whole.times.min, whole.times.max) == (min(seconds), max(seconds))
    assert whole.samples == 120 * len(seconds) and whole.rate == pytest.approx(64 / whole.seconds)
    if len(seconds) < 3:
        assert (whole.times.low, whole.times.high, whole.precision, whole.confidence) == (None,) * 4
    else:
        assert whole.low <= whole.seconds <= whole.high and whole.confidence == 0.95
        assert whole.precision == pytest.approx((whole.high - whole.low) / 2 / whole.seconds)
        assert whole.bytes_per_second.low == pytest.approx(64 / whole.high)


@given(TIMES, st.randoms())
def test_the_order_of_the_lines_does_not_matter(seconds: list[float], chance: random.Random) -> None:
    """Protects a file whose lacking launches came later (--resume)."""
    each = [figure("host", 8, one, launch=number) for number, one in enumerate(seconds, 1)]
    shuffled = chance.sample(each, len(each))
    assert combined(shuffled) == combined(each)


def test_launches_that_read_the_same_are_not_sure_beyond_their_clock() -> None:
    """Protects from "±0.0 %": a median that reads k steps of the clock may be half a step off both ways."""

    def whole(*shares: float) -> Entry:
        beside = {"name": "contiguous", "seconds": figure("host", 8, 1e-6, 0.001).times}
        more = {"baseline": to_builtins(beside)}
        each = [figure("host", 8, 2e-6, one, launch=number, **more) for number, one in enumerate(shares, 1)]
        return combined(each)

    same = whole(0.004, 0.002, 0.003)
    assert (same.low, same.high) == pytest.approx((1.996e-6, 2.004e-6)) and same.precision == pytest.approx(
        0.002
    )
    assert same.baseline and (same.baseline.low, same.baseline.high) == pytest.approx((0.999e-6, 1.001e-6))
    unknown = whole(0.0, 0.0, 0.0)
    assert (unknown.times.low, unknown.times.high, unknown.precision) == (None,) * 3


def test_one_launch_is_what_it_was() -> None:
    one = figure("host", 8, 1e-6)
    assert combined([one]) is one and (one.launch, one.launches, one.each) == (1, 1, (one,))


def test_teams_and_derived_figures_follow() -> None:
    """Protects matrices and message rates: each team's median, each rate from the combined time."""

    def teams(*seconds: float) -> list[dict[str, Any]]:
        return [{"name": f"0-{n}", "seconds": {"median": one}} for n, one in enumerate(seconds, 1)]

    rates = [{"name": "messages", "unit": "messages/s", "amount": 64, "median": 1.0}]
    run = make_run(
        *(
            entry("host", 8, time, launch=number, teams=teams(*pair), derived=rates)
            for number, (time, pair) in enumerate([(1e-6, (1, 5)), (4e-6, (3, 4)), (2e-6, (2, 9))], 1)
        )
    )
    whole = run.entries["host", 8]
    assert [(team.name, team.seconds) for team in whole.teams] == [("0-1", 2), ("0-2", 5)]
    assert whole.derived[0].median == pytest.approx(64 / 2e-6)


# ---- does the interval hold? ----------------------------------------------------------------------------


def documented() -> dict[str, dict[int, float]]:
    """The table of results/README.md: by noise and number of launches."""
    text = (Path(__file__).parents[2] / "results" / "README.md").read_text()
    heads = re.search(r"^\| launches, in percent \|([\d |]+)\|$", text, re.MULTILINE)
    assert heads
    counts = [int(word) for word in heads[1].split("|")]
    rows = re.findall(r"^\| ([^|]*launch[^|]*|by [^|]*) \|((?: \d+ \|)+)$", text, re.MULTILINE)
    return {
        name: dict(zip(counts, (int(one) / 100 for one in shares.strip(" |").split("|")), strict=True))
        for name, shares in rows
        if name in ALIKE
    }


@pytest.mark.parametrize("name", ALIKE)
def test_the_documented_share_of_intervals_holds(name: str) -> None:
    """Protects the word "95 %": of an interval made of a few launches, on a quiet and on a busy machine."""
    for count, share in documented()[name].items():
        held = held_of_launches(name, count, RUNS) / RUNS
        assert held == pytest.approx(share, abs=0.005 + 3 * math.sqrt(share * (1 - share) / RUNS)), count


# ---- files ----------------------------------------------------------------------------------------------


def _of(name: str, records: list[dict[str, Any]], **plan: Any) -> list[dict[str, Any]]:
    begin = head()
    begin["plan"].update(launches=3, **plan)
    return [{**record, "run": name} for record in (begin, *records, end())]


def test_an_interrupted_figure_is_measured_again(tmp_path: Path) -> None:
    """Protects a resumed run from what three seconds of measuring after Ctrl-C gave."""
    first = [entry("host", 8, 1e-6, stopped="precision"), entry("host", 16, 5e-6, 0.4, stopped="interrupted")]
    file = made.write(tmp_path / "r.jsonl", *_of("a", first))
    plan = replace(read(file).runs[0].plan, sizes=(8, 16), out=file, resume=True)
    assert Recorder(plan, lambda _: None).missing_sizes(find_path("host")) == (16,)
    lines = as_read([*_of("a", first), *_of("b", [entry("host", 16, 2e-6)], resume=True)])
    (run,) = resumed(collect(lines))
    assert run.entries["host", 16].seconds == 2e-6 and run.entries["host", 8].seconds == 1e-6
