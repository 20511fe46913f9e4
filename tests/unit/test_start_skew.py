"""A figure of which much is how far apart the ranks began says both numbers."""

from __future__ import annotations

from typing import Any

import pytest
from support.records import as_read, entry, make_run, shown, step

from wirespeed.report.facts.statement import WARNING
from wirespeed.report.facts.statements import statements
from wirespeed.results.runs import Run


def run_of(*skews: float | None, seconds: float = 2e-6, per_sample: int = 1, by: str = "MPI_Barrier") -> Run:
    """A run of one path, with a launch for each skew."""
    records: list[dict[str, Any]] = []
    for launch, skew in enumerate(skews, 1):
        start = {"by": by, "samples": 9, "skew_s": skew, "skew_max_s": skew}
        more: dict[str, Any] = {"launch": launch, "start": start, "iterations_per_sample": per_sample}
        records += [step("host", launch=launch), entry("host", 8, seconds, **more)]
    return make_run(*records)


def test_both_numbers_are_said() -> None:
    """Protects from taking the exit of a barrier for the time of an exchange, in a table and on the page."""
    run = run_of(0.3e-6)
    line = (
        "ranks start apart: host at 8 B; at 8 B the last one starts 0.30 us late in each sample (by "
        "MPI_Barrier), and the figure is 2.00 us"
    )
    assert line in " ".join(shown(run).split())
    assert (WARNING, line) in [(said.level, said.words) for said in statements(run)]


@pytest.mark.parametrize(
    ("skew", "per_sample", "said"),
    [(0.11e-6, 1, True), (0.09e-6, 1, False), (0.3e-6, 4, False), (0.6e-6, 4, True), (None, 1, False)],
)
def test_what_is_little_is_not_said(skew: float | None, per_sample: int, said: bool) -> None:
    """Protects from a line for every run: a skew is once in a sample, whatever its iterations."""
    text = " ".join(shown(run_of(skew, per_sample=per_sample)).split())
    assert ("ranks start apart" in text) == said
    assert (f"in each sample of {per_sample} iterations" in text) == (said and per_sample > 1)


def test_of_several_launches_the_worst_counts() -> None:
    """Protects from a launch whose ranks started well and hides the others."""
    run = run_of(0.001e-6, 0.5e-6, None)
    (figure,) = run.entries.values()
    assert figure.launches == 3 and figure.start and figure.start.skew_s == 0.5e-6


def test_a_file_without_it_is_read() -> None:
    """Protects older files, and patterns that no barrier precedes."""
    (record,) = as_read([entry("host", 8, 2e-6)])
    assert getattr(record, "start", 0) is None
