"""Scaling of programs over the number of ranks: curves, the ideal, and the efficiency."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wirespeed.report.facts.scaling import Scaling, scalings
from wirespeed.report.page import read_sources
from wirespeed.report.page.data import page_data
from wirespeed.report.page.styles import styles
from wirespeed.report.sources import measured

RESULTS = Path(__file__).parents[2] / "results"
WEAK = RESULTS / "eight" / "h200-x8-jacobi.jsonl.gz"
STRONG = RESULTS / "programs" / "h200-x4-lbm.jsonl.gz"


def found(*files: Path) -> list[Scaling]:
    return scalings(measured(read_sources([str(file) for file in files])[0]))


def test_weak_scaling_on_eight_gpus() -> None:
    """Protects the ideal of weak scaling, which is one rank's time, and a line for each path."""
    (weak,) = found(WEAK)
    assert weak.title == "jacobi, weak scaling: 4096x4096 a rank" and weak.ranks == [1, 2, 4, 8]
    assert "gpu" in [curve.path for curve in weak.curves] and weak.base.entry.path == "compute"
    assert {weak.ideal(ranks) for ranks in weak.ranks} == {weak.base.entry.seconds}
    for curve in weak.curves:
        assert [point.ranks for point in curve.points] == weak.ranks
        assert weak.efficiency(curve.points[0]) == (1, 1, 1)
        for point in curve.points[1:]:
            share, low, high = weak.efficiency(point)
            assert share == pytest.approx(weak.base.entry.seconds / point.entry.seconds)
            assert low <= share <= high


def test_strong_scaling_on_four_gpus() -> None:
    """Protects the ideal of strong scaling, which falls as ranks are added, and the share of it."""
    (strong,) = found(STRONG)
    assert strong.title == "lbm, strong scaling: 8192x1024 in all" and strong.ranks == [1, 2, 4]
    alone = strong.base.entry.seconds
    assert [strong.ideal(ranks) for ranks in (1, 2, 4)] == [alone, alone / 2, alone / 4]
    (gpu,) = (curve for curve in strong.curves if curve.path == "gpu")
    share, *_ = strong.efficiency(gpu.points[-1])
    assert share == pytest.approx(alone / (4 * gpu.points[-1].entry.seconds)) and 0.9 < share < 1


def test_programs_stand_apart() -> None:
    """Protects from a line through two programs; files of the same program are one picture."""
    assert [each.title.split(",")[0] for each in found(WEAK, STRONG)] == ["jacobi", "lbm"]
    assert not found(RESULTS / "programs" / "h200-lbm-8192x1024.jsonl"), "one number of ranks"
    assert not found(RESULTS / "h200-x2-pingpong.jsonl")


def test_overlap_and_fewest_ranks(tmp_path: Path) -> None:
    """Protects what is compared: overlap apart; without one rank, the fewest are the base."""
    (both,) = found(RESULTS / "h200-x2-jacobi.jsonl")
    labels = [curve.label for curve in both.curves]
    assert "gpu, overlap yes" in labels and "gpu, overlap no" in labels
    import gzip

    lines = gzip.decompress(WEAK.read_bytes()).decode().splitlines()
    one = {record["run"] for record in map(json.loads, lines) if record["kind"] == "run"
           and record["plan"]["ranks"] == 1}  # fmt: skip
    rest = [line for line in lines if json.loads(line)["run"] not in one]
    (tmp_path / "r.jsonl").write_text("\n".join(rest) + "\n")
    (without,) = found(tmp_path / "r.jsonl")
    assert without.base.ranks == 2 and without.ranks == [2, 4, 8]
    of_two = [curve.points[0].entry.seconds for curve in without.curves]
    assert min(of_two) == without.base.entry.seconds


def test_the_page_has_the_same_numbers() -> None:
    """Protects the page's curves: times with their intervals, shares in per cent, the ideal."""
    sets = measured(read_sources([str(STRONG)])[0])
    looks = styles([path for each in sets for path in each.run.paths])
    data: dict[str, Any] = page_data(sets, looks, "lbm")
    (scaling,), (strong,) = data["scaling"], found(STRONG)
    assert scaling["ideal"]["ranks"] == [1, 2, 4]
    ideal = [strong.ideal(ranks) for ranks in (1, 2, 4)]
    assert scaling["ideal"]["seconds"] == pytest.approx(ideal, rel=1e-4)
    for drawn, curve in zip(scaling["curves"], strong.curves, strict=True):
        assert drawn["path"] == curve.path and drawn["ranks"] == [1, 2, 4]
        assert drawn["seconds"] == pytest.approx([point.entry.seconds for point in curve.points], rel=1e-4)
        shares = [100 * strong.efficiency(point)[0] for point in curve.points]
        assert drawn["efficiency"] == pytest.approx(shares, rel=1e-4)
        ends = (drawn[f"efficiency{end}"] for end in ("_low", "", "_high"))
        assert all(low <= share <= high for low, share, high in zip(*ends, strict=True))
