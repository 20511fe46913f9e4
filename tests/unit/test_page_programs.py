"""Programs on the page: bars of a step and its parts, and no curve of a single size."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.measured import result

from wirespeed.report.facts.programs import parts
from wirespeed.report.page import read_sources, render
from wirespeed.report.page.data import charts
from wirespeed.report.sources import measured
from wirespeed.report.views import bars
from wirespeed.results.reading import read
from wirespeed.results.runs import collect

RESULTS = Path(__file__).parents[2] / "results"
REAL = RESULTS / "h200-x2-jacobi.jsonl"


def test_a_step_and_its_parts() -> None:
    """Protects what a reader compares: the shortest step first, its computation below it, and a copy."""
    sets = measured(read_sources([str(REAL)])[0])
    hidden, exposed, *_, efficiency = bars(sets)
    assert hidden.title == "Time of a step, 2 ranks" and "copy" in hidden.explained
    assert exposed.title == "Time of a step, 2 ranks, overlap no", "two charts have two titles"
    assert [bar.label for bar in hidden.bars[:6]] == ["gpu", "", "ipc-write", "", "aware", ""]
    assert hidden.bars[0].note == "35.4 us, its communication is hidden"
    first, alone = hidden.bars[2:4]
    assert first.note == "~48.5 us, of which ~12.1 us ±1.19 us is communication"
    assert alone.note == "36.3 us computation alone" and alone.paler and alone.value < first.value
    assert first.limit and 34e-6 < first.limit < 36e-6
    assert {"gpu, 2 ranks", "gpu, 2 ranks, overlap no"} <= {bar.label for bar in efficiency.bars}
    assert charts(sets, "jacobi") == []


def test_a_page_of_programs_alone() -> None:
    """Protects the first screen where nothing but programs was measured."""
    page = render(*read_sources([str(REAL)]))
    assert "Shortest step" in page and "Efficiency against one rank" in page and "Lowest latency" not in page


@pytest.mark.parametrize("name", ["jacobi", "lbm"])
def test_no_step_is_faster_than_a_copy_of_its_points(name: str) -> None:
    """Protects the share of a copy from the halo, which the driver copies along."""
    runs = collect(read(result(f"h200-x2-{name}")).records)
    shares = [parts(run, entry).of_copy for run in runs for entry in run.entries.values()]
    assert shares and all(share and 0.2 < share < 1.005 for share in shares)
