"""A figure beside its baseline: the share, its interval, and where each output has it."""

from __future__ import annotations

import pytest
from support.records import entry, make_run

from wirespeed.report.facts.figure_columns import ShareOfBaseline
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
    beside = {"baseline": {"name": "contiguous", "seconds": times}, "pattern": "blocks"}
    lists = [entry(path, 4096, 2e-5, **beside) for path in ("host", "gpu")]
    source = Source("a.jsonl", [make_run(*lists, pattern="blocks")], [], [])
    (host, gpu) = reached(measured([source]))
    assert (host["path"], gpu["path"], host["name"]) == ("host", "gpu", "contiguous")
    assert host["bytes"] == [4096] and host["share"] == pytest.approx([50])
    assert host["low"][0] < 50 < host["high"][0]
    (chart,) = charts(measured([source]), "blocks")
    assert chart["sizes"] == "block size"
