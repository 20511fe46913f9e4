"""The path to use at each size: the line, the tables and the column of the fastest do not contradict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import report_files as made
from support.records import entry, make_run, shown

from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts.best import spans
from wirespeed.report.facts.outcome import best_words
from wirespeed.report.facts.statements import statements
from wirespeed.report.facts.trust import headline
from wirespeed.report.page import read_sources, render
from wirespeed.report.views.path_columns import fastest
from wirespeed.results.runs import Run

SIZES = (64, 128, 256, 512)
TIMES: dict[str, tuple[float, ...]] = {
    "host": (1.02e-6, 2e-6, 3e-6, 4e-6),
    "host-pinned": (1.0e-6, 2.02e-6, 3.5e-6, 4.5e-6),
}
"""Pinned memory is a little faster at 64 B, a little slower at 128 B, and then surely slower."""


def run_of(times: dict[str, tuple[float, ...]]) -> Run:
    cells = [(path, *cell) for path, each in times.items() for cell in zip(SIZES, each, strict=True)]
    return make_run(*(entry(path, size, seconds, 0.03) for path, size, seconds in cells))


def line(run: Run) -> str:
    (words,) = (each.words for each in statements(run) if each.subject.startswith("fastest for"))
    return words


def test_a_path_that_is_as_fast_at_some_sizes_is_named_with_them() -> None:
    """Protects a reader whose table has `host-pinned ≈` at a size from a line that has `host` alone."""
    run = run_of(TIMES)
    assert fastest(run, "CPU", 64) == "host-pinned ≈"
    assert line(run).endswith("host for 64 B to 512 B (≈ host-pinned at 64 B to 128 B)")
    assert line(run) in " ".join(shown(run, 150).split())


def test_a_figure_in_doubt_is_neither_the_fastest_nor_forgotten() -> None:
    """Protects from the scheduler's figure as a winner, and from a winner that is likely the slower one."""
    waits: dict[str, Any] = {"cores": {"waited": 0.4, "rank": 0, "preempted": 3, "shared": None}}
    sure, busy = entry("host", 64, 2e-6), entry("host-pinned", 64, 1.9e-6, **waits)
    run = make_run(sure, busy, entry("host-shared", 64, 1e-6, 1.5), entry("rma-host", 64, 3e-5, 1.5))
    assert fastest(run, "CPU", 64) == "host"
    assert line(run).endswith("host for 64 B (cannot tell of host-pinned, host-shared at 64 B)")
    others = entry("host", 64, 2e-6), entry("host-pinned", 64, 5e-6, **waits)
    assert line(make_run(*others)).endswith("host for 64 B"), "it took longer, whatever it waited for"
    assert line(make_run(busy, entry("host", 64, 2e-6, **waits))).endswith("&host-pinned for 64 B")


def test_a_short_message_s_rate_is_no_bandwidth_beside_uncertain_longer_ones() -> None:
    """Protects from "host: 0.881 GB/s at 4 KiB" below "best: 4.96 GB/s at 1 MiB by host"."""
    short, long = entry("host", 4096, 4e-6), entry("host", 1 << 20, 3e-4, 1.5)
    assert best_words(make_run(short, long), "host") == "uncertain"
    assert best_words(make_run(short), "host").endswith("at 4 KiB")
    assert best_words(make_run(short, entry("host", 1 << 20, 3e-4)), "host").endswith("at 1 MiB")
    assert best_words(make_run(short), "gpu") == ""


def test_a_lucky_figure_is_not_the_fastest() -> None:
    """Protects from a name that the line "best" does not have: both count a wide interval's worse end."""
    run = make_run(entry("host", 64, 1e-6, 0.2), entry("host-pinned", 64, 1.1e-6, 0.01))
    assert line(run).endswith("host-pinned ≈ host for 64 B")
    assert headline(run).startswith("one way 1.10 us at 64 B by host-pinned")


@pytest.mark.parametrize("seed", range(10))
def test_each_name_of_the_column_stands_in_the_line(seed: int) -> None:
    """Protects from forgetting a path: at every size the fastest ones are those that the span names."""
    steps = [1 + 0.02 * ((seed * 7 + place * place * 3 + place) % 5) for place in range(12)]
    paths = ("host", "host-pinned", "rma-host")
    run = run_of({path: tuple(steps[4 * n : 4 * n + 4]) for n, path in enumerate(paths)})
    for span in spans(run, "CPU"):
        partly = dict(span.partly)
        for figure in span.entries:
            named = {span.path, *span.equals, *(path for path in partly if figure.bytes in partly[path])}
            assert named == {best.path for best in run.fastest(figure.bytes, "CPU")}


def test_markdown_and_the_page_name_them_too(tmp_path: Path) -> None:
    memory = {"memory": "pageable"}
    records = [
        made.entry(path, size, seconds) | memory
        for path, each in TIMES.items()
        for size, seconds in zip(SIZES, each, strict=True)
    ]
    steps = [made.step(path) | memory for path in TIMES]
    file = made.write(tmp_path / "a.jsonl", made.head(), *steps, *records, made.end())
    sources, lost = read_sources([file])
    named = "host-pinned at 64 B to 128 B"
    assert f"| host | 1.02 us | 0.128 | {named} |" in markdown(sources, lost)
    assert f'<td class="free">{named}</td>' in render(sources, lost)
