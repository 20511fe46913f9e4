"""Beside the table: the tutorial's lines, published curves, what to try next, the list of paths."""

from __future__ import annotations

import csv
import json
from types import SimpleNamespace
from typing import Any

import pytest
from support.golden import Golden
from support.records import as_read, end, entry, head

from wirespeed.job.messages import Progress
from wirespeed.job.plan import Plan
from wirespeed.report.export import tutorial
from wirespeed.report.export.formats import TEXTS
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


MADE = Plan(device="emulated", mpi="/opt/my mpi")
SURVEYS: tuple[tuple[Plan, int, str, dict[str, str]], ...] = (
    *((Plan(), gpus, "", {}) for gpus in (0, 1, 2, 4)),
    (Plan(), 0, "b", {}),
    *((Plan(), 0, "", {"SLURM_NNODES": nodes}) for nodes in ("4", "x")),
    # A copied command must not go back to another MPI, or from emulated GPUs to none.
    (MADE, 4, "b", {"SLURM_NNODES": "2"}),
)


def test_next_steps(golden: Golden) -> None:
    """Protects commands that fit the machine, and measure where the survey did."""
    told = {}
    for plan, gpus, others, environment in SURVEYS:
        mpis = [SimpleNamespace(prefix=f"/{title}", title=title) for title in ("a", "a", *others)]
        machine: Any = SimpleNamespace(devices=[{}] * gpus, mpis=mpis)
        steps = next_steps(plan, "a b.jsonl", machine, environment=environment)
        device = "emulated" if plan is MADE else "any device"
        title = f"{device}, {gpus} GPUs, another MPI: {others or 'none'}, {environment}"
        told[title] = "\n".join(step.command for step in steps)
    golden("report/next_steps", told)


def test_json_is_every_record() -> None:
    runs = collect([*as_read([head(), entry("host", 8, 1e-6), end()]), Progress("host", 8, 0, 1)])
    records = json.loads(TEXTS["json"](runs, ()))["records"]
    assert [record["kind"] for record in records] == ["run", "entry", "end"]
    assert json.loads(TEXTS["json"]([], ())) == {
        "summary": {"trust": None, "runs": [], "doctor": []},
        "records": [],
    }
