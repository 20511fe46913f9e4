"""Beside the table: the tutorial's lines, published curves, what to try next, the list of paths."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from support.records import as_read, end, entry, head

from wirespeed.job.messages import Progress
from wirespeed.job.plan import Plan
from wirespeed.report.export import tutorial
from wirespeed.report.export.formats import FORMATS
from wirespeed.report.systems import published_curves
from wirespeed.report.terminal.survey import next_steps
from wirespeed.results.runs import collect
from wirespeed.systems.reference import FOLDER

SUMMIT = FOLDER / "summit_pingpong.csv"


class TestTutorial:
    def test_summits_seconds_give_summits_bandwidths(self) -> None:
        with SUMMIT.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 84
        for row in rows:
            seconds, published = float(row["seconds_one_way"]), float(row["GiB_per_s"])
            printed = float(tutorial.line(int(row["bytes"]), seconds).split()[-1])
            # The published seconds are rounded to a nanosecond.
            assert printed == pytest.approx(published, rel=0.6e-9 / seconds, abs=1e-9)


class TestReference:
    def test_summit(self) -> None:
        summit = published_curves.load_system("summit")
        assert list(summit.curves) == ["host", "staged", "aware"]
        assert all(list(curve) == [1 << power for power in range(3, 31)] for curve in summit.curves.values())
        assert summit.curves["aware"][1 << 30].rate == pytest.approx(47.01e9, rel=1e-3)
        for curve in summit.curves.values():
            for size, point in curve.items():
                assert point.rate == pytest.approx(size / point.seconds, rel=0.6e-9 / point.seconds)


class TestNextSteps:
    def commands(
        self, plan: Plan, gpus: int = 0, others: Sequence[str] = (), **environment: str
    ) -> list[str]:
        mpis = [SimpleNamespace(prefix=f"/{title}", title=title) for title in ("a", "a", *others)]
        machine: Any = SimpleNamespace(devices=[{}] * gpus, mpis=mpis)
        return [step.command for step in next_steps(plan, "a b.jsonl", machine, environment=environment)]

    def test_they_fit_the_machine(self) -> None:
        assert "wirespeed pingpong --device emulated" in self.commands(Plan())
        assert "wirespeed show 'a b.jsonl'" in self.commands(Plan())
        assert self.commands(Plan(), 1)[:2] == ["wirespeed copy", "wirespeed doctor"]
        assert "wirespeed pairs" in self.commands(Plan(), 4) and "wirespeed pairs" not in self.commands(
            Plan(), 2
        )
        assert "wirespeed survey --mpi /b" in self.commands(Plan(), others="b")
        assert "srun -N 2 -n 2 wirespeed pingpong" in self.commands(Plan(), SLURM_NNODES="4")
        assert "srun -N 2 -n 2 wirespeed pingpong" not in self.commands(Plan(), SLURM_NNODES="x")

    def test_they_measure_where_the_survey_did(self) -> None:
        """A copied command must not go back to another MPI, or from emulated GPUs to none."""
        where = "--device emulated --mpi '/opt/my mpi'"
        assert self.commands(Plan(device="emulated", mpi="/opt/my mpi"), 4, "b", SLURM_NNODES="2") == [
            f"wirespeed copy {where}",
            f"wirespeed pairs {where}",
            f"wirespeed pingpong {where}",
            f"srun -N 2 -n 2 wirespeed pingpong {where}",
            f"wirespeed doctor {where}",
        ]


def test_json_is_every_record() -> None:
    stream = io.StringIO()
    FORMATS["json"](
        collect([*as_read([head(), entry("host", 8, 1e-6), end()]), Progress("host", 8, 0, 1)]), stream, None
    )
    records = json.loads(stream.getvalue())["records"]
    assert [record["kind"] for record in records] == ["run", "entry", "end"]
    stream = io.StringIO()
    FORMATS["json"]([], stream, None)
    assert json.loads(stream.getvalue()) == {
        "summary": {"trust": None, "runs": [], "doctor": []},
        "records": [],
    }
