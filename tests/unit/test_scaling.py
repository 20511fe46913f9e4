"""Scaling of programs over the number of ranks: curves, the ideal, and the efficiency."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.golden import Golden
from support.measured import lines, result

from wirespeed.report.facts.programs import parts
from wirespeed.report.facts.scaling import Scaling, scalings
from wirespeed.report.page import read_sources
from wirespeed.report.page.data import page_data
from wirespeed.report.page.styles import styles
from wirespeed.report.sources import measured
from wirespeed.results.reading import read
from wirespeed.results.runs import collect

RESULTS = Path(__file__).parents[2] / "results"
WEAK = RESULTS / "eight" / "h200-x8-jacobi.jsonl.gz"
STRONG = RESULTS / "programs" / "h200-x4-lbm.jsonl.gz"
BOTH_WAYS = RESULTS / "h200-x2-jacobi.jsonl"


def found(*files: Path) -> list[Scaling]:
    return scalings(measured(read_sources([str(file) for file in files])[0]))


def test_curves(golden: Golden) -> None:
    """Protects the ideals of weak and strong scaling, shares of them, and a curve for overlap and without."""
    told = {}
    for file in (WEAK, STRONG, BOTH_WAYS):
        sets = measured(read_sources([str(file)])[0])
        looks = styles([path for each in sets for path in each.run.paths])
        (scaling,) = page_data(sets, looks, "")["scaling"]
        curves = "\n".join(map(json.dumps, scaling.pop("curves")))
        told[file.name] = f"{json.dumps(scaling)}\n{curves}"
    golden("report/scaling", told)


def test_programs_stand_apart() -> None:
    """Protects from a line through two programs; files of the same program are one picture."""
    assert [each.title.split(",")[0] for each in found(WEAK, STRONG)] == ["jacobi", "lbm"]
    assert not found(RESULTS / "programs" / "h200-lbm-8192x1024.jsonl"), "one number of ranks"
    assert not found(RESULTS / "h200-x2-pingpong.jsonl")


def test_fewest_ranks(tmp_path: Path) -> None:
    """Protects what is compared: without one rank, the fewest are the base."""
    records = [json.loads(line) for line in lines(WEAK)]
    alone = {one["run"] for one in records if one["kind"] == "run" and one["plan"]["ranks"] == 1}
    rest = [json.dumps(record) for record in records if record["run"] not in alone]
    (tmp_path / "r.jsonl").write_text("\n".join(rest) + "\n")
    (without,) = found(tmp_path / "r.jsonl")
    assert without.base.ranks == 2 and without.ranks == [2, 4, 8]
    of_two = [curve.points[0].entry.seconds for curve in without.curves]
    assert min(of_two) == without.base.entry.seconds


@pytest.mark.parametrize("name", ["jacobi", "lbm"])
def test_no_step_is_faster_than_a_copy_of_its_points(name: str) -> None:
    """Protects the share of a copy from the halo, which the driver copies along."""
    runs = collect(read(result(f"h200-x2-{name}")).records)
    shares = [parts(run, entry).of_copy for run in runs for entry in run.entries.values()]
    assert shares and all(share and 0.2 < share < 1.005 for share in shares)
