"""What the doctor prints: on any width, without surprises for a shell."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from msgspec import structs
from rich.console import Console
from support import fake_machine
from support.command import captured
from support.fake_facts import facts_of
from support.fake_machine import GPUS, FakeGpu, FakeNvml
from support.fake_run import one_line
from support.golden import Golden

from wirespeed.cli.main import main
from wirespeed.doctor import examine
from wirespeed.doctor.facts.model import GpuPair, MachineFacts, MpiFact
from wirespeed.doctor.finding import Conditions, Cost, Finding, Improvement, RemedyPoint, Trial
from wirespeed.doctor.findings import all_rules, find_all
from wirespeed.doctor.measured import Stretch
from wirespeed.doctor.result import Result
from wirespeed.errors import ExitCode
from wirespeed.host.variables import table
from wirespeed.report.doctor.terminal import print_result, shell_lines
from wirespeed.results.findings import RemedyOption
from wirespeed.results.reading import read

POINT = RemedyPoint(65536, 30e-6, 10e-6, 3.0, 2.9, 3.1)
FINDINGS = (
    Finding("a", "Something fails", Cost.BREAKS, ("seen here",), ("sudo reboot now  # as root",)),
    Finding("b", "A is set", Cost.SOME, ("A=1",), ("unset A",), worth=Improvement("host", (POINT,), "now")),
    Finding(
        "c",
        "It hung",
        Cost.BREAKS,
        options=(
            RemedyOption("X off", Conditions({"X": "0"}), ("export X=0",), outcome="works", seconds=4e-6),
            RemedyOption("Y off", Conditions({"Y": "0"}), ("export Y=0",), outcome="hung: again"),
        ),
    ),
    Finding("d", "Not tried", Cost.SMALL, remedy=("export Z=1",), trial=Trial("host", (8,), Conditions())),
)


@pytest.fixture
def facts(tmp_path: Path) -> MachineFacts:
    root = fake_machine.tree(tmp_path)
    return facts_of(root, FakeNvml(FakeGpu(GPUS[0]), FakeGpu(GPUS[1], links=[1] * 12 + [0] * 6)))


def printed(result: Result, width: int, encoding: str = "utf-8") -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    print_result(Console(file=stream, width=width, highlight=False, markup=False, emoji=False), result)
    stream.seek(0)
    return stream.read().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_line_is_wider_than_the_terminal(facts: MachineFacts, width: int) -> None:
    lines = printed(Result(facts, (*FINDINGS, *find_all(facts))), width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for word in ("NUMA node 0", "NUMA node 1", "GPU 0", "GPU 1", "mlx5_0", "mlx5_1"):
        assert word in text


BEST = (
    Stretch("GPU", False, 8, 65536, ("gpu",), "aware", 1.5, 19.2),
    Stretch("GPU", False, 1 << 20, 1 << 30, ("ipc-read", "ipc-write"), "aware", 1.01, 1.04),
    Stretch("GPU", True, 8, 1 << 20, ("rma",), "aware", 1.02, 2.3),
    Stretch("GPU", True, 1 << 21, 1 << 30, ("aware",)),
    Stretch("CPU", False, 8, 8, ("host",), "rma-host", 0.9, 0.9),
    Stretch("CPU", False, 64, 64, ("host",), "rma-host", 0.9, 1.3),
)
PAIRS = (GpuPair(0, 1, 18, "SYS", "ok"), GpuPair(0, 2, 0, "PHB", "not supported"), GpuPair(1, 2, 0, "SYS"))


def test_whole_pages(facts: MachineFacts, golden: Golden) -> None:
    """Protects the drawing, findings with what they are worth, and the fastest path of each size."""
    worse = Improvement("host", (RemedyPoint(8, 1e-6, 2e-6, 0.5, 0.4, 0.6),), "now")
    none = Improvement("host", (RemedyPoint(8, 1e-6, 1e-6, 1.0, 0.9, 1.1),), "now")
    refuted = structs.replace(FINDINGS[1], worth=none, remedy=("unset A  # why",))
    breaks = structs.replace(refuted, cost=Cost.BREAKS)
    guess = structs.replace(FINDINGS[1], options=(), remedy=("export A=1",), suggestion=True, worth=None)
    third = structs.replace(facts.gpus[1], index=2, number=2)
    mpi = structs.replace(facts, mpis=(MpiFact("Open MPI 5.0.11", "openmpi"),))
    pages = {
        "findings, those with a trial, and remedies after a hang": (Result(facts, FINDINGS), 100),
        "what a trial refuted, or made worse, is no finding; what breaks stays one": (
            Result(facts, (refuted, structs.replace(refuted, worth=worse), breaks)),
            100,
        ),
        "boxes below each other, and no findings": (Result(facts, ()), 60),
        "links that differ are a matrix": (
            Result(structs.replace(facts, gpus=(*facts.gpus, third), pairs=PAIRS), ()),
            80,
        ),
        "an MPI that nobody has tried": (Result(mpi, ()), 100),
        "without a GPU it says why MPI was not tried": (Result(structs.replace(mpi, gpus=()), ()), 100),
        "the fastest path by size": (Result(structs.replace(facts, file="f.jsonl"), (), BEST), 100),
    }
    texts = {title: "\n".join(printed(result, width)) for title, (result, width) in pages.items()}
    texts["a terminal that knows ASCII alone"] = "\n".join(printed(Result(facts, FINDINGS), 80, "ascii"))
    texts["--fix: what changes this shell; the rest is a comment"] = "\n".join(shell_lines(FINDINGS))
    fixes = {
        "what made it worse is left out": structs.replace(FINDINGS[1], worth=worse),
        "a suggestion that nobody measured, from another machine's figures perhaps, is a comment": guess,
        "one that was measured is none": structs.replace(guess, worth=FINDINGS[1].worth),
    }
    texts |= {f"--fix: {title}": "\n".join(shell_lines((one,))) for title, one in fixes.items()}
    golden("doctor/pages", texts)
    assert Result(facts, (refuted, breaks)).standing == (breaks,)


def test_a_shell_reads_the_fixes(tmp_path: Path) -> None:
    root = fake_machine.tree(tmp_path)
    variables = {"NCCL_P2P_DISABLE": "1", "UCX_TLS": "tcp", "MV2_USE_CUDA": "0"}
    lines = shell_lines(tuple(find_all(facts_of(root, FakeNvml(p2p=4), variables=variables))))
    script = "\n".join([*lines, 'echo "${UCX_TLS-none} ${MV2_USE_CUDA}"'])
    done = captured(["bash", "-eu", "-c", script], env=variables, ok=True)
    assert done.stdout == "none 1\n"


class TestCommand:
    @pytest.fixture
    def asked(
        self, facts: MachineFacts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> list[examine.Request]:
        """The command without a machine: notes what it was asked, finds FINDINGS."""
        requests: list[examine.Request] = []

        def fake(request: examine.Request, say: object) -> Result:
            requests.append(request)
            return Result(facts, FINDINGS)

        monkeypatch.setattr(examine, "examine", fake)
        monkeypatch.chdir(tmp_path)
        return requests

    def test_findings_are_no_error(
        self, asked: list[examine.Request], facts: MachineFacts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor is with --strict what a trial refuted."""
        assert main(["doctor"]) == ExitCode.OK
        assert main(["doctor", "--strict"]) == ExitCode.FAILED_ENTRY
        none = Improvement("host", (RemedyPoint(8, 1e-6, 1e-6, 1.0, 0.9, 1.1),), "now")
        refuted = Result(facts, (structs.replace(FINDINGS[1], worth=none),))
        monkeypatch.setattr(examine, "examine", lambda request, say: refuted)
        assert main(["doctor", "--strict"]) == ExitCode.OK

    def test_what_is_asked(self, asked: list[examine.Request]) -> None:
        words = "doctor --device emulated --mpi /opt/mpi --launcher srun --try"
        assert main(words.split()) == 0
        (request,) = asked
        assert (request.device, request.mpi, request.launcher) == ("emulated", "/opt/mpi", "srun")
        assert request.try_remedies and request.start_ranks

    def test_json_and_the_record(
        self, asked: list[examine.Request], capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        out = tmp_path / "d.jsonl"
        assert main(["doctor", "--json", "--out", str(out)]) == 0
        record = json.loads(capsys.readouterr().out)
        assert record["kind"] == "doctor"
        assert record["facts"]["gpus"][0]["pci"] == GPUS[0]
        assert [one["cost"] for one in record["findings"]] == ["breaks", "high", "breaks", "small"]
        assert set(record["findings"][0]) >= {"title", "cost", "evidence", "remedy", "worth"}
        assert main(["doctor", "--out", str(out)]) == 0
        assert [json.loads(line)["kind"] for line in out.read_text().splitlines()] == ["doctor"] * 2

    @pytest.mark.parametrize("found", [FINDINGS, ()])
    def test_its_file_is_read_by_show_and_report(
        self,
        found: tuple[Finding, ...],
        facts: MachineFacts,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        tmp_path: Path,
    ) -> None:
        """Protects what was found from being written into a file that nothing reads."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(examine, "examine", lambda request, say: Result(facts, found))
        assert main(["doctor", "--out", "d.jsonl"]) == 0
        now = capsys.readouterr().out
        assert main(["show", "d.jsonl"]) == 0
        then = capsys.readouterr().out
        added = [line for line in then.splitlines() if line not in now.splitlines()]
        assert len(added) <= 2 and added[0].startswith("wirespeed doctor found this at 2")
        assert main(["report", "d.jsonl"]) == 0
        assert ("Something fails" in (tmp_path / "report.html").read_text()) == bool(found)
        assert main(["show", "d.jsonl", "--format", "csv"]) == ExitCode.CANNOT_WRITE
        assert "'wirespeed show' and 'wirespeed report' read it" in one_line(capsys.readouterr().err)

    def test_readers_of_result_files_pass_over_it(self, asked: list[examine.Request], tmp_path: Path) -> None:
        source = Path(__file__).parents[2] / "results" / "h200-x2-mpich.jsonl"
        out = tmp_path / "r.jsonl"
        out.write_text(source.read_text().rstrip("\n"))
        assert main(["doctor", "--out", str(out)]) == 0
        before, after = read(source), read(out)
        assert after.records[:-1] == before.records and len(after.doctors) == 1
        assert not after.warnings

    def test_a_file_that_is_none_of_ours(
        self, asked: list[examine.Request], capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        (tmp_path / "notes.txt").write_text("dear diary\n")
        assert main(["doctor", "--out", "notes.txt"]) == ExitCode.CANNOT_WRITE
        assert "notes.txt is not a result file" in capsys.readouterr().err
        assert (tmp_path / "notes.txt").read_text() == "dear diary\n"

    def test_not_inside_a_launcher(
        self,
        asked: list[examine.Request],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        for name, value in (("RANK", "0"), ("SIZE", "2"), ("LOCAL_RANK", "0")):
            monkeypatch.setenv(f"OMPI_COMM_WORLD_{name}", value)
        assert main(["doctor"]) == ExitCode.USAGE
        assert "without a launcher" in one_line(capsys.readouterr().err)


class TestDocuments:
    PAGE = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()

    def test_every_finding(self) -> None:
        """Protects the answer to 'what does it look for?': a new finding comes with its row."""
        modules = [rule.__module__.rpartition(".")[2] for rule in all_rules()]
        assert [name for name in modules if f"| `{name}` |" not in self.PAGE] == []
        folder = Path(examine.__file__).parent
        text = "".join(file.read_text() for file in (*folder.glob("findings/*.py"), folder / "hang.py"))
        keys = set(re.findall(r'Finding\(\s*"([\w-]+)"', text)) - {"variable-UCX_TLS"}
        assert len(keys) > 25
        assert sorted(key for key in keys if f"`{key}`" not in self.PAGE) == []

    def test_every_switch(self) -> None:
        page = (Path(__file__).parents[2] / "docs" / "gpu-aware-mpi.md").read_text()
        for mpi in table("mpi"):
            assert f"| {mpi['name']} |" in page
            assert mpi["source"]
            for name, value in {**mpi["on"], **mpi["direct_off"]}.items():
                assert f"{name}={value}" in page
