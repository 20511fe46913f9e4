"""After a hang: the remedies that fit the call, tried in turn and compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.fake_facts import MPI
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


def titles(path: str, call: str, vendor: str = "openmpi", nics: bool = False) -> list[str]:
    (one,) = hang.hangs(file(path, call, vendor))
    return [option.title for option in hang.finding(one, nics, one.vendor).options]


TWICE = (
    "no progress for 60 s; 172.17.0.1 is on n1 and n2 (docker0): a rank may call itself instead of its peer"
)
OWN = "; eth0 has an address of its own on each"


class TestSameAddress:
    """docker0 has one address on every host that Docker is installed on."""

    @pytest.mark.parametrize(
        ("vendor", "setting"),
        [
            (
                "openmpi",
                {
                    "OMPI_MCA_btl_tcp_if_include": "eth0",
                    "OMPI_MCA_oob_tcp_if_include": "eth0",
                    "PRTE_MCA_prte_if_include": "eth0",
                },
            ),
            ("mpich", {"UCX_NET_DEVICES": "eth0"}),
            ("intel", {"FI_TCP_IFACE": "eth0", "I_MPI_HYDRA_IFACE": "eth0"}),
        ],
    )
    def test_the_own_interface_is_the_first_remedy(self, vendor: str, setting: dict[str, str]) -> None:
        (one,) = hang.hangs(file("host", "MPI_Comm_dup", vendor, text=TWICE + OWN))
        found = hang.finding(one, False, vendor)
        assert found.key == "hang-same-address"
        assert found.title == "172.17.0.1 is on n1 and n2 (docker0): host hung in MPI_Comm_dup at 64 B"
        assert found.options[0].setting.variables == setting
        assert "over eth0 alone" in found.options[0].title

    def test_without_such_an_interface_others_remain(self) -> None:
        (one,) = hang.hangs(file("host", "MPI_Comm_dup", text=TWICE))
        found = hang.finding(one, False, "openmpi")
        assert found.key == "hang-same-address" and found.options
        assert not any("{own}" in str(option) or "alone" in option.title for option in found.options)


def test_a_hang_at_the_start_has_no_size() -> None:
    """Protects from 'hung at 8 B' where nothing was sent."""
    (one,) = hang.hangs(file("host", "MPI_Comm_dup", bytes=None))
    assert hang.finding(one, False, "openmpi").title == "host hung in MPI_Comm_dup while starting"


class TestWhatFits:
    def test_device_pointers(self) -> None:
        found = titles("aware", "MPI_Send")
        assert found[0].startswith("CUDA IPC off")
        assert found[-1].startswith("Staging through the host")
        assert not any("NCCL" in title or "MPICH" in title or "RDMA" in title for title in found)

    def test_rdma_only_where_there_are_adapters(self) -> None:
        assert titles("aware", "MPI_Send", nics=True)[0].startswith("GPUDirect RDMA off")

    def test_the_hang_of_2011(self) -> None:
        """Pinned memory, MPI and InfiniBand: pageable memory and RDMA off are among the remedies."""
        found = titles("host-pinned", "MPI_Recv", nics=True)
        assert "Pinned memory off: pageable host buffers" in found
        assert any("RDMA" in title for title in found)

    def test_nccl(self) -> None:
        found = titles("nccl", "ncclGroupEnd")
        assert found
        assert all(title.startswith("NCCL") for title in found)

    @pytest.mark.parametrize(("vendor", "word"), [("mpich", "MPICH"), ("intel", "Intel"), ("openmpi", "ob1")])
    def test_each_mpi_has_its_own(self, vendor: str, word: str) -> None:
        assert any(word in title for title in titles("host", "MPI_Recv", vendor))

    def test_an_unknown_call_has_none_of_a_library(self) -> None:
        assert titles("host", "") == []

    def test_no_hang_no_finding(self) -> None:
        assert hang.hangs(file("host", "MPI_Recv", what="crash")) == []

    def test_an_mpi_that_hung_on_its_first_device_pointer(self) -> None:
        text = "MPICH 5.0.2 hung on a device pointer (stuck)"
        (one,) = hang.hangs(file("aware", "MPI_Send", what="unavailable", text=text, bytes=None))
        assert one.bytes == 8

    def test_a_rank_that_was_stopped(self) -> None:
        """Protects from settings against a hang that none of them caused: the rank has to go on."""
        text = "rank 1 on n7 (pid 4172) is stopped (SIGSTOP) in MPI_Recv with rank 0, 8 B, iteration 3171"
        (one,) = hang.hangs(file("host", "MPI_Recv", text=text))
        found = hang.finding(one, True, "openmpi")
        assert found.title == "host hung because rank 1 was stopped (SIGSTOP or a debugger)"
        assert not found.options
        commands = [split(line)[0] for line in found.remedy]
        assert all(commands) and "kill -CONT PID" in commands
        assert "on n7, while it hangs" in found.remedy[0]
        assert all(line.startswith("# ") for line in shell_lines((found,)))

    def test_every_remedy_has_its_source(self) -> None:
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
