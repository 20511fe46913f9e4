"""A figure beside its baseline: the share, its interval, and where each output has it."""

from __future__ import annotations

from typing import Any

import pytest
from support.records import as_read, end, entry, head, make_run, shown, step

from wirespeed.report.facts.figure_columns import ShareOfBaseline, baselines, share_of_baseline
from wirespeed.report.page.data import charts, reached
from wirespeed.report.sources import Source, measured
from wirespeed.results.runs import Run, collect
from wirespeed.statistics.samples import ratio_interval


def block(path: str, size: int, seconds: float, contiguous: float, **more: Any) -> dict[str, Any]:
    """A list of 4 blocks, beside one message of as many bytes."""
    beside = {"median": contiguous, "low": 0.98 * contiguous, "high": 1.02 * contiguous, "min": contiguous}
    return entry(
        path,
        size,
        seconds,
        pattern="blocks",
        definition="list: half of the time there and back",
        bandwidth_bytes=4 * size,
        derived=[{"name": "blocks", "unit": "blocks/s", "amount": 4, "median": 4 / seconds}],
        **{"baseline": {"name": "contiguous", "seconds": beside}, **more},
    )


def run_of(paths: tuple[str, ...], launches: int = 1) -> Run:
    begin = head(paths)
    begin["plan"] |= {"pattern": "blocks", "sizes": [4096, 32768], "launches": launches}
    records = [begin]
    for path in paths:
        records += [step(path), block(path, 4096, 2e-5, 1e-5), block(path, 32768, 5e-5, 4e-5)]
    (run,) = collect(as_read([*records, end()]))
    return run


def test_a_share_has_the_interval_of_both_figures() -> None:
    run = run_of(("host",))
    found = share_of_baseline(run, run.entries["host", 4096])
    assert found is not None and found.name == "contiguous" and found.share == pytest.approx(0.5)
    list_, beside = run.entries["host", 4096], run.entries["host", 4096].baseline
    assert beside
    expected = ratio_interval(
        (beside.seconds, beside.low, beside.high), (list_.seconds, list_.low, list_.high)
    )
    assert (found.share, found.low, found.high) == expected and not found.uncertain
    assert str(found) == "50 % ±1.0" and baselines(run) == ["contiguous"]


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


def test_without_a_baseline_there_is_no_share() -> None:
    run = make_run(entry("host", 8, 1e-6))
    assert share_of_baseline(run, run.entries["host", 8]) is None and baselines(run) == []
    assert "of contiguous" not in shown(run, explain=True)


def test_the_page_has_a_curve() -> None:
    source = Source("a.jsonl", [run_of(("host", "gpu"))], [], [])
    (host, gpu) = reached(measured([source]))
    assert (host["path"], gpu["path"], host["name"]) == ("host", "gpu", "contiguous")
    assert host["bytes"] == [4096, 32768] and host["share"] == pytest.approx([50, 80])
    assert host["low"][0] < 50 < host["high"][0]
    (chart,) = charts(measured([source]), "blocks")
    assert chart["sizes"] == "block size"
