"""The path to use at each size: the line, the tables and the column of the fastest do not contradict."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import report_files as made
from support.records import entry, make_run

from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts.outcome import spans
from wirespeed.report.page import read_sources, render
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
    assert f"host for 64 B to 512 B (≈ {named})" in markdown(sources, lost)
    assert f'<td class="free">{named}</td>' in render(sources, lost)
