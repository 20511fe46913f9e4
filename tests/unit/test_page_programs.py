"""Programs: a step and its parts."""

from __future__ import annotations

import pytest
from support.measured import result

from wirespeed.report.facts.programs import parts
from wirespeed.results.reading import read
from wirespeed.results.runs import collect


@pytest.mark.parametrize("name", ["jacobi", "lbm"])
def test_no_step_is_faster_than_a_copy_of_its_points(name: str) -> None:
    """Protects the share of a copy from the halo, which the driver copies along."""
    runs = collect(read(result(f"h200-x2-{name}")).records)
    shares = [parts(run, entry).of_copy for run in runs for entry in run.entries.values()]
    assert shares and all(share and 0.2 < share < 1.005 for share in shares)
