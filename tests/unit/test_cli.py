"""The command line: what it makes of its words, what it prints where, and with which code it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wirespeed
import wirespeed.cli
from wirespeed.cli.main import PIPE_CLOSED, main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.plan import Plan

Observer = Callable[[dict[str, Any]], None]


def entry(path: str, size: int, seconds: float) -> dict[str, Any]:
    return {
        "kind": "entry",
        "run": "r",
        "step": 0,
        "pattern": "pingpong",
        "path": path,
        "memory": "pageable",
        "bytes": size,
        "definition": "one way: half of a round trip",
        "seconds": dict.fromkeys(("median", "low", "high", "min", "max", "p99", "mean"), seconds),
        "bytes_per_second": dict.fromkeys(("median", "low", "high"), size / seconds),
        "confidence": 0.95,
        "precision": 0.004,
        "samples": 120,
        "batches": 12,
        "rounds_per_sample": 1,
        "rounds": 120,
        "stopped": "precision",
        "histogram": {"base": 1.0442737824274138, "unit_s": 1e-9, "first": 0, "counts": [120]},
        "checked": {"rounds": 1, "bytes": size},
        "elapsed_s": 0.1,
        "at": "2026-01-01T12:00:00+00:00",
    }


class FakeRun:
    """wirespeed.run without a machine: notes the plan, replays what it was told to."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.code = ExitCode.OK
        self.error: BaseException | None = None
        self.silent = False
        self.failures: list[dict[str, Any]] = []

    @property
    def plan(self) -> Plan:
        return self.plans[-1]

    def measure(self, plan: Plan, observe: Observer) -> ExitCode:
        self.plans.append(plan)
        if not self.silent:
            observe({"kind": "run", "run": "r", "plan": plan.to_dict(), "environment": {"host": "n1"}})
            observe({"kind": "step-start", "path": "host", "steps_done": 0, "steps_total": 1})
            for index, size in enumerate(plan.sizes[:4]):
                observe({"kind": "progress", "path": "host", "bytes": size, "index": index, "of": 4})
                observe(entry("host", size, 1e-6))
            for failure in self.failures:
                observe({"kind": "failure", "run": "r", **failure})
        if self.error:
            raise self.error
        if not self.silent:
            observe({"kind": "end", "run": "r", "status": "complete"})
        return self.code

    def discover(self, plan: Plan) -> Any:
        return SimpleNamespace(
            kind="host",
            devices=[],
            mpis=[SimpleNamespace(title="Open MPI 5.0.11", source="wheel", prefix="/mpi")],
            why_no_gpu={"cuda": "libcuda.so.1 not found"},
            availability=lambda path: "no GPU" if path.needs_device else None,
        )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRun:
    made = FakeRun()
    module = ModuleType("wirespeed.run")
    module.measure, module.discover = made.measure, made.discover  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wirespeed.run", module)
    monkeypatch.setattr(wirespeed, "run", module, raising=False)
    monkeypatch.chdir(tmp_path)
    return made


def one_line(text: str) -> str:
    """The only line of a text."""
    assert text.endswith("\n") and text.count("\n") == 1, text
    return text[:-1]


class TestPlan:
    def test_defaults(self, fake: FakeRun) -> None:
        assert main(["pingpong", "--out", "f"]) == 0
        assert fake.plan == Plan(out="f")

    def test_every_option(self, fake: FakeRun) -> None:
        words = (
            "pingpong --paths host,staged --sizes 0,8,1K:4K --precision 0.5% --max-time 2s --loops 50"
            " --warmup 5 --between 1,0 --device emulated --mpi /opt/mpi --launcher mpiexec --hosts n1,n2"
            " --out f --resume --timeout 3 --test lie=drop-byte --test offset=3 --debug"
        )
        assert main(words.split()) == 0
        plan = fake.plan
        assert plan.paths == ("host", "staged")
        assert plan.sizes == (0, 8, 1024, 2048, 4096)
        assert plan.stopping.precision == 0.005
        assert plan.stopping.max_time == 2
        assert (plan.stopping.loops, plan.stopping.warmup) == (50, 5)
        assert plan.between == (1, 0)
        assert (plan.device, plan.mpi, plan.launcher) == ("emulated", "/opt/mpi", "mpiexec")
        assert plan.hosts == ("n1", "n2")
        assert (plan.out, plan.resume, plan.timeout, plan.debug) == ("f", True, 3, True)
        assert plan.test == (("lie", "drop-byte"), ("offset", "3"))

    def test_without_out_the_file_is_named_and_told(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["pingpong", "--sizes", "8"]) == 0
        assert fake.plan.out is not None
        assert capsys.readouterr().err.endswith(f"results: {fake.plan.out}\n")


BAD = [
    "--paths nowhere",
    "--paths host,,aware",
    "--paths ''",
    "--sizes 8:4",
    "--sizes 8X",
    "--sizes ''",
    "--sizes 0:8",
    "--sizes 99T",
    f"--sizes {'9' * 5000}",
    "--precision 0",
    "--precision 120%",
    "--precision nan",
    "--precision much",
    "--max-time 0",
    "--max-time -1",
    "--max-time inf",
    "--max-time soon",
    "--loops 0",
    "--loops 1.5",
    "--loops many",
    "--warmup -1",
    "--between 0",
    "--between 0,1,2",
    "--between a,b",
    "--device abacus",
    "--launcher catapult",
    "--hosts n1,,n2",
    "--hosts -rf",
    "--mpi ''",
    "--out ''",
    "--resume",
    "--timeout 0",
    "--format pdf",
    "--against nowhere",
    "--against summit --format json",
    "--test novalue",
    "--unknown",
    "--sizes",
    "surplus",
]


class TestBadInput:
    @pytest.mark.parametrize("command", ["pingpong", "survey"])
    @pytest.mark.parametrize("words", BAD, ids=lambda words: words[:30])
    def test_one_line_and_code_2(
        self, words: str, command: str, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([command, *("" if word == "''" else word for word in words.split())]) == ExitCode.USAGE
        printed = capsys.readouterr()
        assert printed.out == ""
        line = one_line(printed.err)
        assert line.startswith("wirespeed: ")
        assert len(line) < 250
        assert not fake.plans

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("--device abacus", "there are: auto, cpu, cuda, hip, emulated"),
            ("--format pdf", "there are: table, json, csv, tutorial"),
            ("--paths nowhere", "there are: host"),
            ("--against nowhere", "there are: summit"),
            ("--between 0", "as in 0,1"),
            ("--loops many", "a whole number from 1 to 10000000"),
            ("--resume", "--out FILE"),
            ("--sizes 8X", "--sizes: '8X' is not a size"),
            ("--unknown", "'wirespeed pingpong --help' lists what is allowed"),
        ],
    )
    def test_it_says_what_is_allowed(
        self, words: str, says: str, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["pingpong", *words.split()])
        assert says in one_line(capsys.readouterr().err)

    @pytest.mark.parametrize("words", [["nonsense"], ["--nonsense"], ["show"], ["paths", "--format", "csv"]])
    def test_other_commands(
        self, words: list[str], fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(words) == ExitCode.USAGE
        one_line(capsys.readouterr().err)

    @settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        name=st.sampled_from(
            (
                *("paths", "sizes", "precision", "max-time", "loops", "warmup", "between", "device", "mpi"),
                *("launcher", "hosts", "out", "timeout", "format", "against", "test"),
            )
        ),
        value=st.one_of(
            st.text(max_size=30),
            st.text("0123456789.,:-+%eEkKMGTisnaf\x00\n\t\udc80", max_size=12),
            st.integers().map(str),
            st.floats().map(str),
        ),
        glued=st.booleans(),
    )
    def test_no_value_gives_a_stack_trace(
        self, name: str, value: str, glued: bool, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        capsys.readouterr()
        words = [f"--{name}={value}"] if glued else [f"--{name}", value]
        code = main(["pingpong", "--sizes", "8", *words])
        printed = capsys.readouterr()
        assert code in (ExitCode.OK, ExitCode.USAGE)
        if code == ExitCode.USAGE:
            assert printed.out == ""
            assert one_line(printed.err).startswith("wirespeed: ")

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(words=st.lists(st.text(max_size=12), max_size=5))
    def test_no_words_give_a_stack_trace(
        self, words: list[str], fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        capsys.readouterr()
        assert main(words) in (ExitCode.OK, ExitCode.USAGE)
        assert "Traceback" not in capsys.readouterr().err


class TestEndings:
    @pytest.mark.parametrize("code", list(ExitCode))
    def test_the_runs_code_is_ours(self, code: ExitCode, fake: FakeRun) -> None:
        fake.code = code
        assert main(["pingpong", "--out", "f"]) == code

    @pytest.mark.parametrize("code", list(ExitCode))
    def test_known_errors_are_one_line(
        self, code: ExitCode, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fake.silent, fake.error = True, WirespeedError("the disk is full;\nfree some", code)
        assert main(["pingpong"]) == code
        assert one_line(capsys.readouterr().err) == "wirespeed: the disk is full; free some"

    def test_unknown_errors_are_one_line_and_hint_at_debug(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fake.silent, fake.error = True, ZeroDivisionError("by zero")
        assert main(["pingpong"]) == ExitCode.FAILED_ENTRY
        line = one_line(capsys.readouterr().err)
        assert line == "wirespeed: unexpected ZeroDivisionError: by zero; --debug shows where"
        with pytest.raises(ZeroDivisionError):
            main(["pingpong", "--debug"])

    def test_ctrl_c_keeps_what_was_measured(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        fake.error = KeyboardInterrupt()
        assert main(["pingpong", "--sizes", "8", "--out", "f"]) == ExitCode.INTERRUPTED
        printed = capsys.readouterr()
        assert "1.00 us" in printed.out
        assert "before all was measured" in printed.out
        assert "Traceback" not in printed.err

    def test_a_closed_pipe_is_quiet(self, tmp_path: Path) -> None:
        file = tmp_path / "f.jsonl"
        file.write_text("".join(json.dumps(entry("host", size, 1e-6)) + "\n" for size in range(1, 9000)))
        command = [sys.executable, "-m", "wirespeed.cli", "show", str(file), "--format", "tutorial"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout and process.stderr
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == PIPE_CLOSED

    def test_letters_that_the_locale_lacks(self, tmp_path: Path) -> None:
        file = tmp_path / "f.jsonl"
        file.write_text(json.dumps(entry("host", 8, 1e-6)) + "\n")
        done = subprocess.run(
            [sys.executable, "-m", "wirespeed.cli", "show", str(file)],
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=True,
        )
        assert b"1.00 us" in done.stdout
        assert done.stderr == b""


class TestInsideALauncher:
    def test_a_rank_that_sees_nothing_says_nothing(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        fake.silent = True
        for command in ("pingpong", "survey"):
            assert main([command]) == 0
        printed = capsys.readouterr()
        assert printed.out == printed.err == ""
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("rank", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"])
    def test_only_rank_0_says_what_is_wrong(
        self, rank: str, fake: FakeRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(rank, "1")
        assert main(["pingpong", "--sizes", "8X"]) == ExitCode.USAGE
        assert capsys.readouterr().err == ""
        monkeypatch.setenv(rank, "0")
        assert main(["pingpong", "--sizes", "8X"]) == ExitCode.USAGE
        one_line(capsys.readouterr().err)


class TestFormats:
    def out(self, capsys: pytest.CaptureFixture[str], *words: str) -> str:
        capsys.readouterr()
        assert main(["pingpong", "--sizes", "8:64", "--out", "f", *words]) == 0
        return capsys.readouterr().out

    def test_json(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        records = json.loads(self.out(capsys, "--format", "json"))
        assert [record["kind"] for record in records] == ["run", *["entry"] * 4, "end"]

    def test_csv(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        rows = list(csv.DictReader(io.StringIO(self.out(capsys, "--format", "csv"))))
        assert [row["bytes"] for row in rows] == ["8", "16", "32", "64"]
        assert {row["path"] for row in rows} == {"host"}

    def test_tutorial(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        lines = self.out(capsys, "--format", "tutorial").splitlines()
        assert lines[0] == "# host"
        assert len(lines) == 5
        assert float(lines[1].split()[-1]) == pytest.approx(8 / 2**30 / 1e-6, abs=1e-9)

    def test_table_beside_summit(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        assert "Beside Summit, as published" in self.out(capsys, "--against", "summit")

    def test_progress_stays_out_of_the_result(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["pingpong", "--sizes", "8:64", "--out", "f", "--format", "json"])
        printed = capsys.readouterr()
        assert len(printed.err.splitlines()) == 5
        assert "120 samples" in printed.err and "120 samples" not in printed.out


class TestSurvey:
    def test_machine_table_lacking_next(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["survey", "--out", "f.jsonl"]) == 0
        text = capsys.readouterr().out
        places = [
            text.index(part)
            for part in (
                "CPU",
                "GPU  none; cuda: libcuda.so.1 not found",
                "MPI  Open MPI 5.0.11 (wheel, /mpi)",
                "fastest" if "fastest" in text else "one way",
                "aware: not available: no GPU",
                "Results: f.jsonl",
                "Next:",
                "wirespeed pingpong --device emulated",
            )
        ]
        assert places == sorted(places)

    def test_sizes_fit_the_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from wirespeed.cli.survey import fitting, free_memory

        sizes = (8, 1 << 20, 1 << 30)
        assert fitting(sizes, None) == sizes
        assert fitting(sizes, 1 << 40) == sizes
        assert fitting(sizes, 4 << 30) == sizes[:2]
        assert fitting(sizes, 0) == sizes[:1]
        assert (free_memory() or 1) > 0

    def test_sizes_given_are_kept(self, fake: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
        from wirespeed.cli import survey

        monkeypatch.setattr(survey, "free_memory", lambda: 1 << 20)
        assert main(["survey", "--sizes", "8,1G"]) == 0
        assert fake.plan.sizes == (8, 1 << 30)
        assert main(["survey"]) == 0
        assert fake.plan.sizes == (8, 64, 512, 4096, 32768)

    def test_json_leaves_stdout_to_the_result(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["survey", "--format", "json"]) == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out)
        assert "Next:" in printed.err


class TestPaths:
    def test_list(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["paths"]) == 0
        text = capsys.readouterr().out
        assert "host           available" in text
        assert "aware          not available" in text

    def test_json(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["paths", "--format", "json"]) == 0
        rows = {row["path"]: row for row in json.loads(capsys.readouterr().out)}
        assert rows["host"]["available"] is True and rows["host"]["lacks"] is None
        assert rows["aware"]["available"] is False and rows["aware"]["lacks"] == "no GPU"


class TestShow:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        lines = []
        for run, seconds in (("a", 1e-6), ("b", 2e-6)):
            plan = json.loads(json.dumps(Plan().to_dict()))
            lines.append({"kind": "run", "run": run, "schema": 1, "plan": plan, "environment": {}})
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

    def test_resume_shows_what_was_there_before(
        self, file: Path, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["pingpong", "--out", str(file), "--resume", "--sizes", "16"]) == 0
        rows = [line for line in capsys.readouterr().out.splitlines() if "us ±" in line]
        assert [row.split()[0] for row in rows] == ["8", "16"]


class TestApplication:
    def test_help_lists_the_commands_in_a_newcomers_order(self, capsys: pytest.CaptureFixture[str]) -> None:
        for words in ([], ["--help"]):
            assert main(words) == 0
            text = capsys.readouterr().out
            places = [text.index(f"\n  {name} ") for name in ("survey", "pingpong", "paths", "show")]
            assert places == sorted(places)
            assert "completion" not in text

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--version"]) == 0
        assert capsys.readouterr().out.startswith("wirespeed 0.")

    def test_help_loads_nothing_heavy(self) -> None:
        code = (
            "import sys; from wirespeed.cli.main import main; main(['--help']);"
            "heavy = 'rich', 'numpy', 'pydantic', 'mpi4py', 'cffi', 'wirespeed.run';"
            "print([name for name in heavy if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"

    @pytest.fixture
    def own_command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        (tmp_path / "greet.py").write_text(
            "from dataclasses import dataclass\n"
            "from wirespeed.cli.common.command import add_command\n"
            "from wirespeed.cli.common.options import Debugging\n"
            "from wirespeed.errors import ExitCode\n"
            "def run(options):\n"
            '    """Say hello."""\n'
            "    print('hello', options.debug)\n"
            "    return ExitCode.OK\n"
            "def register(app):\n"
            "    add_command(app, 'greet', Debugging, run)\n"
        )
        monkeypatch.setattr(wirespeed.cli, "__path__", [*wirespeed.cli.__path__, str(tmp_path)])
        yield
        sys.modules.pop("wirespeed.cli.greet", None)

    def test_a_command_is_found_by_being_there(
        self, own_command: None, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["greet", "--debug"]) == 0
        assert capsys.readouterr().out == "hello True\n"
