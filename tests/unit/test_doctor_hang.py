"""After a hang: the remedies that fit the call, tried in turn and compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.fake_facts import MPI
from support.golden import Golden
from support.records import as_read, figure

from wirespeed.cli.main import main
from wirespeed.doctor import hang, job
from wirespeed.doctor.finding import Conditions, Cost
from wirespeed.doctor.job import Attempt, Base
from wirespeed.doctor.shell import split
from wirespeed.doctor.tables import table
from wirespeed.errors import ExitCode
from wirespeed.host import mpi
from wirespeed.job.plan import Plan
from wirespeed.report.doctor.terminal import shell_lines
from wirespeed.results.runs import Failure, Run, collect

PLAN = Plan(sizes=(8, 64), device="emulated", mpi="/mpi/bin/mpiexec", timeout=3.0)


def file(path: str, call: str, vendor: str = "openmpi", plan: Plan = PLAN, **more: Any) -> list[Run]:
    failure = {"kind": "failure", "run": "r", "path": path, "bytes": 64, "what": "hang", "text": "stuck"}
    step = {"kind": "step", "run": "r", "step": 0, "path": path, "mpi": {"vendor": vendor, "version": "5"}}
    head = {"kind": "run", "run": "r", "plan": plan.to_dict()}
    return collect(as_read([head, step, {**failure, "call": call, **more}]))


TWICE = (
    "no progress for 60 s; 172.17.0.1 is on n1 and n2 (docker0): a rank may call itself instead of its peer"
)
OWN = "; eth0 has an address of its own on each"
STOPPED = "rank 1 on n7 (pid 4172) is stopped (SIGSTOP) in MPI_Recv with rank 0, 8 B, iteration 3171"
HANGS: dict[str, dict[str, Any]] = {
    **{
        f"{path} in {call or 'no call'}, {vendor}{', with adapters' if nics else ''}": {"path": path}
        | {"call": call, "vendor": vendor, "nics": nics}
        for path, call, vendor, nics in (
            *(("aware", "MPI_Send", "openmpi", nics) for nics in (False, True)),
            # The hang of 2011: pinned memory, MPI and InfiniBand.
            ("host-pinned", "MPI_Recv", "openmpi", True),
            ("nccl", "ncclGroupEnd", "openmpi", False),
            *(("host", "MPI_Recv", vendor, False) for vendor in ("mpich", "intel", "openmpi")),
            ("host", "", "openmpi", False),
        )
    },
    "at the start, where nothing was sent": {"call": "MPI_Comm_dup", "bytes": None},
    # docker0 has one address on every host that Docker is installed on.
    **{
        f"an address on both hosts, and one of their own, {vendor}": {"call": "MPI_Comm_dup"}
        | {"vendor": vendor, "text": TWICE + OWN}
        for vendor in ("openmpi", "mpich", "intel")
    },
    "an address on both hosts, and no other": {"call": "MPI_Comm_dup", "text": TWICE},
    "a rank that was stopped, for which no setting is to blame": {"text": STOPPED, "nics": True},
    "a first device pointer": {"path": "aware", "call": "MPI_Send", "what": "unavailable", "bytes": None}
    | {"text": "MPICH 5.0.2 hung on a device pointer (stuck)"},
}


def told(
    path: str = "host", call: str = "MPI_Recv", vendor: str = "openmpi", nics: bool = False, **more: Any
) -> str:
    """The size that is tried again, and the finding with its options."""
    (one,) = hang.hangs(file(path, call, vendor, **more))
    found = hang.finding(one, nics, vendor)
    options = [f"option: {option.title}: {option.setting.words()}" for option in found.options]
    assert found.key != "hang-stopped" or all(split(line)[0] for line in found.remedy), "commands"
    lines = [f"{found.key} at {one.bytes} B: {found.title}", *found.remedy, *options]
    return "\n".join([*lines, *(f"shell: {line}" for line in shell_lines((found,)))])


def test_what_fits(golden: Golden) -> None:
    """Protects each remedy: where it is tried, with which settings, and that others are not."""
    golden("doctor/hangs", {title: told(**how) for title, how in HANGS.items()})


def test_no_hang_no_finding() -> None:
    assert hang.hangs(file("host", "MPI_Recv", what="crash")) == []


def test_every_remedy_has_its_source() -> None:
    for one in table("hang_remedies"):
        assert one["source"] and one["title"]
        assert one.get("variables") or one.get("instead")


class TestTried:
    def test_each_in_turn_and_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same transfer, the file's MPI and device; what works comes first, fastest first."""
        calls: list[tuple[str, tuple[int, ...], Base, Conditions, list[str]]] = []

        def measure(
            path: str, sizes: Sequence[int], base: Base, setting: Conditions | None = None, pattern: Any = ()
        ) -> Attempt:
            chosen = setting or Conditions()
            calls.append((path, tuple(sizes), base, chosen, list(pattern)))
            seconds = {"self,tcp": 9e-6}.get(chosen.variables.get("OMPI_MCA_btl", ""), 4e-6)
            if "OMPI_MCA_pml" not in chosen.variables:
                return Attempt(failures=[Failure(run="r", path="host", bytes=64, what="hang", text="stuck")])
            return Attempt({64: figure("host", 64, seconds)})

        monkeypatch.setattr(job, "measure", measure)
        monkeypatch.setattr(mpi, "all_mpis", lambda: [MPI])
        (one,) = hang.hangs(file("host", "MPI_Recv"))
        said: list[str] = []
        found = hang.tried(hang.finding(one, False, "openmpi"), one, Base(), said.append)
        assert found.cost is Cost.BREAKS
        assert found.evidence == ("stuck", "once more as it was: hung: stuck")
        assert [(option.outcome, option.seconds) for option in found.options] == [
            ("works", 4e-6),
            ("works", 9e-6),
            ("hung: stuck", None),
        ]
        assert calls[0][3] == Conditions()
        assert {(path, sizes, base.device, base.mpi, base.timeout) for path, sizes, base, _, _ in calls} == {
            ("host", (64,), "emulated", "/mpi/bin/mpiexec", 3.0)
        }
        assert len(said) == len(calls) == 4

    def test_the_pattern_and_its_options(self) -> None:
        plan = Plan(
            pattern="groups", ranks=4, options=(("group", 2),), between=(0, 1, 2, 3), hosts=("n1", "n2")
        )
        words = hang.pattern_words(plan)
        assert words == [
            *("groups", "--ranks", "4", "--group", "2", "--between", "0,1,2,3", "--hosts", "n1,n2")
        ]
        assert hang.pattern_words(Plan()) == ["pingpong"]

    def test_an_option_s_value_is_no_option(self) -> None:
        """Protects from a file whose 'both-ways' is '--mpi=/tmp/evil': a flag has no value."""
        words = hang.pattern_words(Plan(pattern="stream", options=(("both_ways", "--mpi=/tmp/evil"),)))
        assert words == ["stream"]
        words = hang.pattern_words(Plan(pattern="stream", options=(("both_ways", True), ("window", 2))))
        assert words == ["stream", "--window", "2", "--both-ways"]


class TestAFileOfSomebodyElse:
    """A result file may come from anybody: it makes this machine run nothing that is not its own."""

    @pytest.fixture
    def theirs(self, tmp_path: Path) -> Path:
        """A hang with an MPI in a folder of whoever wrote the file."""
        launcher = tmp_path / "evil" / "bin" / "mpiexec"
        launcher.parent.mkdir(parents=True)
        launcher.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho 'mpiexec (Open MPI) 5.0.11'\n")
        launcher.chmod(0o755)
        lines = [
            {"kind": "run", "run": "r", "plan": replace(PLAN, mpi=str(tmp_path / "evil")).to_dict()},
            {"kind": "failure", "run": "r", "path": "host", "bytes": 8, "what": "hang", "call": "MPI_Recv"},
        ]
        file = tmp_path / "hung.jsonl"
        file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        return file

    @pytest.mark.parametrize("tries", [[], ["--try"]])
    def test_its_mpi_is_not_started(
        self, tries: list[str], theirs: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code = main(["doctor", "--device", "cpu", "--after-hang", str(theirs), *tries])
        assert not (theirs.parent / "ran").exists()
        assert code == (ExitCode.USAGE if tries else ExitCode.OK)
        assert not tries or capsys.readouterr().err.splitlines()[-1] == (
            f"wirespeed: --after-hang: the file names --mpi {theirs.parent}/evil, which is none of this "
            "machine's own: give --mpi yourself, this one only if you trust it"
        )

    def test_what_it_makes_run_is_said_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects from ranks on hosts that only the file names, unseen."""
        started: list[Sequence[str]] = []
        said: list[str] = []

        def start(words: Sequence[str], *_: Any) -> tuple[str, str]:
            started.append((*words, *said))
            return "", "nothing"

        monkeypatch.setattr(job, "run_process", start)
        plan = replace(PLAN, pattern="stream", mpi=None, hosts=("n1", "n2 $(x)"), options=(("window", 2),))
        (one,) = hang.hangs(file("host", "MPI_Recv", plan=plan))
        hang.tried(hang.finding(one, False, "openmpi"), one, Base(mpi="/mine"), said.append)
        assert said[0] == (
            "once more as it was: wirespeed stream --window 2 --hosts 'n1,n2 $(x)' --paths host --sizes 64 "
            "--max-time 0.1 --device emulated --launcher auto --mpi /mine --timeout 3"
        )
        assert said[0] in started[0] and list(started[0][2:5]) == ["stream", "--window", "2"]
