"""What commands print beside golden/cli/results.transcript: progress, the survey's words, full disks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.fake_run import FakeRun, one_line

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode


def test_progress_stays_out_of_the_result(fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pingpong", "--sizes", "8:64", "--out", "f", "--format", "json"])
    printed = capsys.readouterr()
    assert len(printed.err.splitlines()) == 5 and json.loads(printed.out)["records"]
    assert "120 samples" in printed.err and "120 samples" not in printed.out


def test_resume_does_not_wait_for_a_pipe(tmp_path: Path, fake: FakeRun) -> None:
    """Protects from silence for ever: a pipe without a writer cannot be read to its end."""
    os.mkfifo(tmp_path / "pipe")
    assert main(["pingpong", "--out", str(tmp_path / "pipe"), "--resume", "--sizes", "8"]) in (0, 4)


def test_a_table_that_has_no_room(tmp_path: Path) -> None:
    """Protects `wirespeed show FILE > /full/disk`: one line, and the code for what cannot be written."""
    file = Path(__file__).parents[2] / "results" / "h200-x2-exchange.jsonl"
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "wirespeed", "show", str(file)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert done.returncode == ExitCode.CANNOT_WRITE
    assert one_line(done.stderr) == "wirespeed: cannot write the result: No space left on device"


class TestSurvey:
    def test_machine_rows_answers_next(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["survey", "--out", "f.jsonl"]) == 0
        text = " ".join(capsys.readouterr().out.split())
        places = [
            text.index(part)
            for part in (
                "CPU",
                "GPU none; cuda: libcuda.so.1 not found",
                "MPI Open MPI 5.0.11 (wheel, /mpi)",
                "trust: ",
                "Results: f.jsonl",
                "Next:",
                "pingpong --device emulated",
                "/mpi/bin/mpiexec -n 2",
            )
        ]
        assert places == sorted(places)
        assert [(plan.pattern, plan.paths, plan.device) for plan in fake.plans] == [
            ("pingpong", ("host",), "cpu"),
            ("copy", ("h2h",), "cpu"),
        ]
        assert [plan.resume for plan in fake.plans] == [False, True]

    def test_copies_fit_the_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from wirespeed.cli.measure import survey

        for free, size in ((None, 512 << 20), (1 << 40, 512 << 20), (4 << 30, 128 << 20), (0, 8 << 20)):
            monkeypatch.setattr(survey, "free_memory", lambda found=free: found)
            assert survey.fitting(512 << 20, 2) == size

    def test_after_ctrl_c_it_says_how_to_go_on(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fake.code = ExitCode.INTERRUPTED
        assert main(["survey", "--out", "a b.jsonl"]) == ExitCode.INTERRUPTED
        assert len(fake.plans) == 1
        first = capsys.readouterr().out.partition("Next:")[2].split("\n")[1]
        assert first.split("  ")[1].endswith(" survey --out 'a b.jsonl' --resume")

    def test_memory_that_is_free(self, tmp_path: Path) -> None:
        """Protects a machine from buffers that drive others out, and a container from its own limit."""
        from wirespeed.host import memory

        assert memory.free_memory(tmp_path) is None
        group = tmp_path / "sys/fs/cgroup"
        for folder in (tmp_path / "proc/self", group):
            folder.mkdir(parents=True)
        (tmp_path / "proc/meminfo").write_text("MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable: 3000 kB\n")
        assert memory.free_memory(tmp_path) == 3000 << 10
        (tmp_path / "proc/self/cgroup").write_text("0::/\n")
        (group / "memory.current").write_text("1048576\n")
        (group / "memory.stat").write_text("anon 1048576\n")
        for limit, free in (("max", 3000 << 10), ("2097152", 1 << 20), ("9000000", 3000 << 10), ("9", 0)):
            (group / "memory.max").write_text(f"{limit}\n")
            assert memory.free_memory(tmp_path) == free

    def test_json_leaves_stdout_to_the_result(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["survey", "--format", "json"]) == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out)
        assert "Next:" in printed.err
