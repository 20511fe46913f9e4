"""Programs on the page: bars of a step and its parts, and no curve of a single size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wirespeed.report.page import read_sources, render
from wirespeed.report.page.bars import bars
from wirespeed.report.page.curves import charts
from wirespeed.report.page.sources import measured

REAL = Path(__file__).parents[2] / "results" / "h200-x2-jacobi.jsonl"


def test_a_step_and_its_parts() -> None:
    """Protects what a reader compares: the shortest step first, its computation below it, and a copy."""
    sets = measured(read_sources([str(REAL)])[0])
    (steps,) = bars(sets)
    assert steps.title == "Time of a step, 2 ranks" and "copy" in steps.explained
    assert [bar.label for bar in steps.bars] == ["gpu", "", "aware", "", "nccl-stream", ""]
    first, alone = steps.bars[:2]
    assert first.note == "47.9 us, of which 1.22 us is communication"
    assert alone.note == "46.7 us computation alone" and alone.paler and alone.value < first.value
    assert first.limit and 34e-6 < first.limit < 36e-6
    assert charts(sets, "jacobi") == []


def test_efficiency_and_a_page_of_programs_alone(tmp_path: Path) -> None:
    """Protects the first screen where nothing but programs was measured."""
    records: list[dict[str, Any]] = [json.loads(line) for line in REAL.read_text().splitlines()]
    single: list[dict[str, Any]] = []
    for record in records:
        copy = json.loads(json.dumps(record)) | {"run": "single"}
        if copy["kind"] == "run":
            copy["plan"]["ranks"] = 1
        if copy["kind"] in ("run", "end") or copy.get("path") == "gpu":
            single.append(copy)
    entry = next(one for one in single if one["kind"] == "entry")
    entry["path"], entry["seconds"]["median"] = "gpu", 0.9 * entry["seconds"]["median"]
    file = tmp_path / "both.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in [*single, *records]))
    sources = read_sources([str(file)])
    *_, efficiency = bars(measured(sources[0]))
    assert efficiency.title == "Efficiency against one rank"
    assert (efficiency.bars[0].label, efficiency.bars[0].note) == ("aware, 2 ranks", "71 %")
    assert "gpu, 2 ranks" in [bar.label for bar in efficiency.bars]
    page = render(*sources)
    assert "Shortest step" in page and "Efficiency against one rank" in page and "Lowest latency" not in page
