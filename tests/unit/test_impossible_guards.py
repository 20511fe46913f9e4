"""What guards a machine does without impossible figures: check, compare, watch and fleet."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.fake_run import FakeRun
from support.fleet_files import write_fleet
from support.impossible import FALSE
from support.records import entry, make_run

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.fleet.history import read_history
from wirespeed.job.plan import Plan
from wirespeed.report.drift.detection import Drift


def test_watch_has_no_verdict_of_it() -> None:
    """Protects a watched machine from being called slower, or lost, by a figure that cannot be."""
    drift = Drift(first=2)
    for more in ({}, {}, FALSE, FALSE):
        drift.add(make_run(entry("host", 8, 1e-6), entry("host", 64, 1e-6, **more)))
    assert not drift.harmed and [one.key.bytes for one in drift.verdicts.figures] == [8]


def test_a_fleet_leaves_it_out(tmp_path: Path) -> None:
    """Protects a node from being judged by it; a warning says which file."""
    write_fleet(tmp_path, nodes=4, days=1, rounds=1)
    before = read_history(str(tmp_path))
    file = min(tmp_path.glob("*.jsonl"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text(
        "".join(json.dumps(one | (FALSE if one["kind"] == "entry" else {})) + "\n" for one in lines)
    )
    after = read_history(str(tmp_path))
    assert len(after.loose) == len(before.loose) - 1 and not before.warnings
    assert after.warnings == [f"{file}: 1 figure that cannot be true, left out ('wirespeed show' says why)"]


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((ExitCode.OK, ExitCode.IMPOSSIBLE), ExitCode.IMPOSSIBLE),
        ((ExitCode.IMPOSSIBLE, ExitCode.FAILED_ENTRY), ExitCode.IMPOSSIBLE),
        ((ExitCode.FAILED_ENTRY, ExitCode.OK), ExitCode.FAILED_ENTRY),
    ],
)
def test_the_code_of_several_plans(
    fake: FakeRun, monkeypatch: pytest.MonkeyPatch, codes: tuple[ExitCode, ...], code: ExitCode
) -> None:
    """Protects `--ranks 2,4`: the gravest code is the command's, and what follows is measured too."""
    left = iter(codes)
    measure = fake.measure

    def coded(plan: Plan, observe: Any, bound: object = None) -> ExitCode:
        measure(plan, observe)
        return next(left)

    monkeypatch.setattr(sys.modules["wirespeed.frontend.session"], "measure", coded)
    assert main(["ring", "--ranks", "2,4", "--paths", "host", "--sizes", "8"]) == code
    assert len(fake.plans) == 2
