"""What the commands print: formats, the survey's words, the list of paths, result files."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.fake_run import FakeRun, one_line
from support.records import entry, head

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan


class TestFormats:
    def out(self, capsys: pytest.CaptureFixture[str], *words: str) -> str:
        capsys.readouterr()
        assert main(["pingpong", "--sizes", "8:64", "--out", "f", *words]) == 0
        return capsys.readouterr().out

    def test_json(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        told = json.loads(self.out(capsys, "--format", "json"))
        assert [record["kind"] for record in told["records"]] == ["run", *["entry"] * 4, "end"]
        assert told["summary"]["runs"][0]["best"][0]["path"] == "host"
        assert json.loads(self.out(capsys, "--json")).keys() == told.keys()

    def test_csv(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        rows = list(csv.DictReader(io.StringIO(self.out(capsys, "--format", "csv"))))
        assert [row["bytes"] for row in rows] == ["8", "16", "32", "64"]
        assert {row["path"] for row in rows} == {"host"}

    def test_tutorial(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        lines = self.out(capsys, "--format", "tutorial").splitlines()
        assert len(lines) == 4
        assert float(lines[0].split()[-1]) == pytest.approx(8 / 2**30 / 1e-6, abs=1e-9)

    def test_table_beside_summit(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        assert "Compared with Summit, as published" in self.out(capsys, "--against", "summit")

    def test_progress_stays_out_of_the_result(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["pingpong", "--sizes", "8:64", "--out", "f", "--format", "json"])
        printed = capsys.readouterr()
        assert len(printed.err.splitlines()) == 5
        assert "120 samples" in printed.err and "120 samples" not in printed.out


class TestFullDisk:
    def test_a_table_that_has_no_room(self, tmp_path: Path) -> None:
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

    def test_memory_that_is_free(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Protects a machine from buffers that drive others out, and a container from its own limit."""
        from wirespeed.host import memory

        monkeypatch.setattr(memory, "Path", lambda name: tmp_path / str(name).lstrip("/"))
        assert memory.free_memory() is None
        group = tmp_path / "sys/fs/cgroup"
        for folder in (tmp_path / "proc", group):
            folder.mkdir(parents=True)
        (tmp_path / "proc/meminfo").write_text("MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable: 3000 kB\n")
        assert memory.free_memory() == 3000 << 10
        (group / "memory.current").write_text("1048576\n")
        for limit, free in (("max", 3000 << 10), ("2097152", 1 << 20), ("9000000", 3000 << 10), ("9", 0)):
            (group / "memory.max").write_text(f"{limit}\n")
            assert memory.free_memory() == free

    def test_json_leaves_stdout_to_the_result(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["survey", "--format", "json"]) == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out)
        assert "Next:" in printed.err


class TestShow:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        lines = []
        for run, seconds in (("a", 1e-6), ("b", 2e-6)):
            plan = json.loads(json.dumps(Plan().to_dict()))
            lines.append({"kind": "run", "run": run, "schema": 2, "plan": plan, "environment": {}})
            lines.append({**entry("host", 8, seconds), "run": run})
            lines.append({"kind": "end", "run": run, "status": "complete"})
        file = tmp_path / "two runs.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return file

    def test_several_runs(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["show", str(file)]) == 0
        printed = capsys.readouterr()
        assert printed.out.index("1.00 us") < printed.out.index("2.00 us")
        assert printed.err == ""

    def test_damaged_lines_are_left_out_with_a_warning(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        good = file.read_bytes()
        file.write_bytes(b"\xff\xfe\x00\n" + good + b'[1]\n{"kind":"entry","run":"b"}\n' + good[:50])
        assert main(["show", str(file)]) == 0
        printed = capsys.readouterr()
        assert "1.00 us" in printed.out and "2.00 us" in printed.out
        assert "1" in printed.err and "warning" in printed.err

    @pytest.mark.parametrize("format_", ["json", "csv", "tutorial"])
    def test_formats(self, format_: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["show", str(file), "--format", format_]) == 0
        assert capsys.readouterr().out

    @pytest.mark.parametrize("content", [None, b"", b"hello\n", b'{"kind": "other"}\n'])
    def test_a_file_without_a_run(
        self, content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "f"
        if content is not None:
            file.write_bytes(content)
        assert main(["show", str(file)]) == ExitCode.CANNOT_WRITE
        printed = capsys.readouterr()
        assert printed.out == ""
        assert str(file) in printed.err.splitlines()[-1]

    def test_a_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["show", str(tmp_path)]) == ExitCode.CANNOT_WRITE
        one_line(capsys.readouterr().err)

    def test_a_formula_stays_a_text(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Protects a spreadsheet from a file of somebody else."""
        forged = [head(), {**entry('=HYPERLINK("http://x")', 8, 1e-6), "definition": "@SUM(1)"}]
        (tmp_path / "r.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in forged))
        assert main(["show", str(tmp_path / "r.jsonl"), "--format", "csv"]) == ExitCode.OK
        (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
        assert (row["path"], row["definition"]) == ('\'=HYPERLINK("http://x")', "'@SUM(1)")

    def test_resume_does_not_wait_for_a_pipe(
        self, tmp_path: Path, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Protects from silence for ever: a pipe without a writer cannot be read to its end."""
        os.mkfifo(tmp_path / "pipe")
        assert main(["pingpong", "--out", str(tmp_path / "pipe"), "--resume", "--sizes", "8"]) in (0, 4)

    def test_resume_shows_what_was_there_before(
        self, file: Path, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["pingpong", "--out", str(file), "--resume", "--sizes", "16"]) == 0
        rows = [line for line in capsys.readouterr().out.splitlines() if "us ±" in line]
        assert [row.split()[0] for row in rows] == ["8", "16"]
