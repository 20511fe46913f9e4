"""--dry-run: the order that a command would measure, with nothing started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.fake_facts import MPI

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.frontend import machine
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.run import PlannedRun
from wirespeed.job.plan import Plan


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without GPUs, on which nothing may start."""

    def look(plan: Plan) -> Machine:
        return Machine("host", [], [MPI], {"cuda": "libcuda.so.1 not found"})

    monkeypatch.setattr(machine, "look", look)
    monkeypatch.setattr("wirespeed.frontend.order.Order.launcher", "mpiexec")
    monkeypatch.setattr(PlannedRun, "__init__", lambda *_: pytest.fail("something starts"))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words, "--dry-run"]) == ExitCode.OK
    return capsys.readouterr().out


def test_what_will_be_and_what_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects whoever waits for a path that cannot be measured here: it is named, and why."""
    said = printed(capsys, "pingpong", "--paths", "host,nccl", "--sizes", "8:1M", "--within", "30s")
    assert said.splitlines() == [
        "pingpong: 2 ranks with host memory, Open MPI 5.0.11 by mpiexec",
        "  measured: host: 18 sizes, 8 B to 1 MiB",
        "  not measured: nccl: no GPU (cuda: libcuda.so.1 not found); on a machine with one, its driver is "
        "all that is needed",
        "  each figure: until within ±1 %, or 0.05 s and up to three times that",
        "  time: the whole command within 30s",
        "nothing was started (--dry-run)",
    ]


def test_the_parts_of_a_survey(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, "survey", "--within", "10s")
    parts = [line.partition(":")[0] for line in said.splitlines() if not line.startswith(" ")]
    assert parts == ["pingpong", "copy", "nothing was started (--dry-run)"]
    assert said.count("  time: the whole command within 10s") == 2


def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["groups", "--ranks", "2,4", "--group", "1", "--sizes", "8,64", "--paths", "host"]
    orders = json.loads(printed(capsys, *words, "--format", "json"))
    assert [(order["ranks"], order["paths"]) for order in orders] == [
        (2, {"host": [8, 64]}),
        (4, {"host": [8, 64]}),
    ]
    assert orders[0]["options"]["group"] == 1 and orders[0]["within_s"] == 0


def test_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pingpong", "--paths", "nccl", "--dry-run"]) == ExitCode.UNAVAILABLE
    assert "nccl: no GPU" in capsys.readouterr().err


def test_it_refuses_what_the_command_would(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Protects whoever tries a long command first: it would have ended at once."""
    (tmp_path / "there.jsonl").write_text("{}\n")
    words = ["pingpong", "--sizes", "8", "--dry-run", "--out", str(tmp_path / "there.jsonl")]
    assert main(words) == ExitCode.CANNOT_WRITE
    assert "there.jsonl exists: name another file" in capsys.readouterr().err
    assert main([*words, "--resume"]) == ExitCode.OK
    assert "there.jsonl has is not measured again" in capsys.readouterr().out
    assert main(["pingpong", "--within", "1s", "--dry-run"]) == ExitCode.USAGE
    assert "--within 1s: starting ranks" in capsys.readouterr().err


def test_a_soak_times_no_figure(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, "pingpong", "--soak", "5", "--sizes", "8")
    assert "  each size: every message is checked, for 5s" in said.splitlines()
    assert "each figure" not in said


def test_each_value_of_a_list_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects whoever names several: none of them goes without a word."""
    assert main(["groups", "--ranks", "4", "--group", "1,2,4", "--dry-run"]) == ExitCode.OK
    said = capsys.readouterr()
    heads = [line.partition(":")[0] for line in said.out.splitlines() if line.startswith("groups")]
    assert heads == ["groups", "groups, group 2"]
    assert said.err.strip() == "left out: 4 ranks in groups of 4 are one group: it takes two or more"
