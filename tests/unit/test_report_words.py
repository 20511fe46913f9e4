"""Shares, ranges and the fastest in words: what tables, pages and lines share."""

from __future__ import annotations

from typing import Any

import pytest
from support.records import entry, make_run

from wirespeed.report.facts import figures
from wirespeed.report.facts.figure_columns import ShareOfBaseline
from wirespeed.report.facts.outcome import spans
from wirespeed.report.page.data import charts, reached
from wirespeed.report.sources import Source, measured


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (ShareOfBaseline("contiguous", 0.5), "50 %"),
        (ShareOfBaseline("contiguous", 0.0123, 0.0122, 0.0124), "1.2 % ±0.01"),
        (ShareOfBaseline("contiguous", 0.001, 0.0009, 0.0011), "0.1 % ±0.01"),
        (ShareOfBaseline("contiguous", 1.1, 0.9, 1.3), "110 % ±20"),
        (ShareOfBaseline("contiguous", 0.1, 0.01, 2.0), "10 % uncertain"),
    ],
)
def test_words_of_a_share(share: ShareOfBaseline, said: str) -> None:
    assert str(share) == said


def test_the_page_has_a_curve() -> None:
    times = {"median": 1e-5, "low": 0.98e-5, "high": 1.02e-5}
    beside: dict[str, Any] = {"baseline": {"name": "contiguous", "seconds": times}, "pattern": "blocks"}
    lists = [entry(path, 4096, 2e-5, **beside) for path in ("host", "gpu")]
    source = Source("a.jsonl", [make_run(*lists, pattern="blocks")], [], [])
    (host, gpu) = reached(measured([source]))
    assert (host["path"], gpu["path"], host["name"]) == ("host", "gpu", "contiguous")
    assert host["bytes"] == [4096] and host["share"] == pytest.approx([50])
    assert host["low"][0] < 50 < host["high"][0]
    (chart,) = charts(measured([source]), "blocks")
    assert chart["sizes"] == "block size"


SIZES = (64, 128, 256, 512)


@pytest.mark.parametrize("seed", range(10))
def test_each_name_of_the_column_stands_in_the_line(seed: int) -> None:
    """Protects from forgetting a path: at every size the fastest ones are those that the span names."""
    steps = [1 + 0.02 * ((seed * 7 + place * place * 3 + place) % 5) for place in range(12)]
    paths = ("host", "host-pinned", "rma-host")
    cells = zip([(path, size) for path in paths for size in SIZES], steps, strict=True)
    run = make_run(*(entry(path, size, seconds * 1e-6, 0.03) for (path, size), seconds in cells))
    for span in spans(run, "CPU"):
        partly = dict(span.partly)
        for figure in span.entries:
            named = {span.path, *span.equals, *(path for path in partly if figure.bytes in partly[path])}
            assert named == {best.path for best in run.fastest(figure.bytes, "CPU")}


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
