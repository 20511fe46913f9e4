"""Ranks that start apart: on the page, too; tests/golden/report/below.transcript has what is said."""

from __future__ import annotations

from support.records import entry, make_run, step

from wirespeed.report.facts.statement import WARNING
from wirespeed.report.facts.statements import statements


def test_it_is_a_warning() -> None:
    """Protects from taking the exit of a barrier for the time of an exchange."""
    start = {"by": "MPI_Barrier", "samples": 9, "skew_s": 3e-7, "skew_max_s": 3e-7}
    run = make_run(step("host"), entry("host", 8, 2e-6, start=start, iterations_per_sample=1))
    (said,) = (one for one in statements(run) if one.words.startswith("ranks start apart"))
    assert said.level == WARNING
