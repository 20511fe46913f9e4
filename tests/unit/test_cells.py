"""A figure whose interval is wide looks so in every report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import report_files as made
from support.records import shown

from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts import figures
from wirespeed.report.page import read_sources, render

MANY = ("host", "staged", "aware", "nccl", "gpu", "ipc-write")
LARGE = 1 << 20
LOW, HIGH = 1.0e-4, 2.0e-4


def figure(path: str, share: float, *, both: bool = False, size: int = LARGE) -> made.Record:
    """100 us to 200 us where `share` is a third; else the same median with a narrower interval."""
    middle = 1.5e-4
    times: made.Record = {"median": middle, "low": middle * (1 - share), "high": middle * (1 + share)}
    if both:
        times["speeds"] = [LOW, HIGH]
    return made.entry(path, size, middle, stopped="max-time", precision=share) | {"seconds": times}


def written(folder: Path, share: float, *, both: bool = False) -> tuple[str, str, str]:
    """(terminal, Markdown, page) of a run whose first path has such an interval."""
    records = [figure(path, share if path == "host" else 0.005, both=both) for path in MANY]
    file = made.write(folder / "a.jsonl", made.head(), *map(made.step, MANY), *records, made.end())
    sources, lost = read_sources([file])
    return shown(sources[0].runs[0], 150), markdown(sources, lost), render(sources, lost)


def of_host(text: str) -> tuple[str, ...]:
    """Its cells in the tables of a Markdown file: of times, of bandwidths."""
    heads = r"^\| (?:one way|GB/s \(of limit\)) \| host .*\n.*\n"
    tables = re.findall(rf"{heads}\| 1 MiB \| (.*?) \| ", text, re.MULTILINE)
    return tuple(cell.replace("\\", "") for cell in tables)


RANGES = [(False, "100-200 us", "5.2-10"), (True, "100|200 us", "5.2|10")]


@pytest.mark.parametrize(("both", "time", "rate"), RANGES)
def test_a_range_stands_where_no_column_has_it(tmp_path: Path, both: bool, time: str, rate: str) -> None:
    """Protects from `~ 150 us` in Markdown where the terminal has `100-200`."""
    terminal, text, page = written(tmp_path, 1 / 3, both=both)
    assert f" {rate} " in terminal
    assert of_host(text) == (time, rate)
    assert "a range or !: not within ±10 %" in text.replace("\\", "")
    assert "! not within ±10 %" in page


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (17.6, 23.4, "18-23"),
        (0.71, 0.996, "0.71-1.0"),
        (0.0712, 0.0996, "0.071-0.10"),
        (0.00123, 0.00996, "0.0012-0.010"),
        (0.0004, 0.0013, "<0.001-0.0013"),
        (0.0004, 0.0007, "<0.001"),
        (0.0, 0.5, "0-0.50"),
    ],
)
def test_a_range_has_two_figures(low: float, high: float, words: str) -> None:
    """Protects from '0.00-0.00' GB/s of short messages."""
    assert figures.between(low, high) == words


def test_bandwidths_have_the_marks_of_times(tmp_path: Path) -> None:
    """Protects the line `unless marked` above a table of bandwidths without any mark."""
    _, text, _ = written(tmp_path, 0.05)
    assert of_host(text) == ("~ 150 us", "~ 6.99")


def test_the_best_path_of_a_size_is_as_unsure_as_its_figure(tmp_path: Path) -> None:
    """Protects Markdown's and the page's tables of paths to use from a plain number for a wide interval."""
    records = [made.entry("host", LARGE, 1e-3), figure("host-pinned", 1 / 3)]
    memory = {"memory": "pageable"}
    steps = [made.step(path) | memory for path in ("host", "host-pinned")]
    lines = [made.head(), *steps, *(record | memory for record in records), made.end()]
    sources, lost = read_sources([made.write(tmp_path / "a.jsonl", *lines)])
    assert "| 1 MiB | host-pinned | 100-200 us | 5.2-10 |" in markdown(sources, lost)
    assert '<td class="number">100-200 us</td><td class="number">5.2-10</td>' in render(sources, lost)


def test_a_sign_beside_a_best_figure_is_explained(tmp_path: Path) -> None:
    """Protects from `best !6.99 GB/s` below a table that has a column of intervals, and so no `!`."""
    records = [figure("host", 1 / 3, size=size) for size in (LARGE, 2 * LARGE)]
    file = made.write(tmp_path / "a.jsonl", made.head(), made.step("host"), *records, made.end())
    run = read_sources([file])[0][0].runs[0]
    text = shown(run, 150)
    assert "±33 %" in text and re.search(r"best: .*!", text)
    assert "! not within ±10 %" in " ".join(text.split())


def test_bars_show_how_wide_an_interval_is(tmp_path: Path) -> None:
    """Protects the page's bars, beside which no interval stands."""
    records = [record | {"stopped": "max-time", "precision": 0.2} for record in made.groups([(8, 4)])]
    for record in records:
        if record["kind"] == "entry":
            middle = record["seconds"]["median"]
            record["seconds"] |= {"low": 0.8 * middle, "high": 1.2 * middle}
    sources, lost = read_sources([made.write(tmp_path / "a.jsonl", *records)])
    (note,) = re.findall(r'class="figure">([^<]*)', render(sources, lost))
    assert re.match(r"\d+-\d+ GB/s", note)
