"""GASNet's path: over a stand-in for GASNet everywhere, over its conduits where GASNET_PREFIX names one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from conformance.test_onesided import IRREGULAR, everything_right, installed
from ranks.test_without_mpi import ended, started
from support.builds import once
from support.command import disturbed, wirespeed
from support.mpis import InstalledMpi
from support.shim import fake_gasnet
from support.strikes import PATIENCE, SLOW, after, strike

pytestmark = pytest.mark.slow

FAST = ("--device", "cpu", "--max-time", "0.02")
SIZES = {"0": 0, "1": 1, "7": 7, "8": 8, "4097": 4097, "64K": 1 << 16, "1M": 1 << 20, "64M": 1 << 26}


@dataclass(frozen=True)
class Conduit:
    """One conduit, built by `wirespeed paths --build gasnet`, and an MPI whose ranks it can join."""

    name: str
    mpi: InstalledMpi
    environment: dict[str, str]

    @property
    def words(self) -> tuple[str, ...]:
        return ("--paths", "gasnet", "--mpi", str(self.mpi.mpiexec), "--test", f"conduit={self.name}")


def _built(folder: Path, prefix: Path | None) -> None:
    """Both builds of a session's tests: what `folder` holds afterwards is for XDG_DATA_HOME."""
    prefix = prefix or fake_gasnet(folder / "prefix", "-fPIC")
    done = wirespeed(
        "paths", "--build", "gasnet", "--with", prefix, environment={"XDG_DATA_HOME": str(folder)}
    )
    assert "Measure with: wirespeed pingpong --paths gasnet" in done.out, done.err


@pytest.fixture
def stand_in(session_builds: Path) -> Conduit:
    """The stand-in, whose ranks meet as those of GASNet's conduit udp do."""
    folder = once(session_builds / "gasnet-stand-in", partial(_built, prefix=None))
    return Conduit("udp", installed("mpich"), {"XDG_DATA_HOME": str(folder)})


@pytest.fixture(params=["stand-in", "smp", "udp"])
def conduit(request: pytest.FixtureRequest, session_builds: Path, stand_in: Conduit) -> Conduit:
    if request.param == "stand-in":
        return stand_in
    if not (prefix := os.environ.get("GASNET_PREFIX")):
        pytest.skip("no GASNet (GASNET_PREFIX=FOLDER names an installation, compiled with -fPIC)")
    folder = once(session_builds / "gasnet", partial(_built, prefix=Path(prefix)))
    library = folder / "wirespeed" / "gasnet" / f"libwirespeed-gasnet-{request.param}.so"
    if not library.exists():
        pytest.skip(f"the GASNet in {prefix} has no conduit {request.param} that can be built")
    mpi = "openmpi" if b"ompi_mpi_comm_world" in library.read_bytes() else "mpich"
    # Ranks of one host would share memory, whatever the conduit.
    apart = {"GASNET_SUPERNODE_MAXSIZE": "1"} if request.param == "udp" else {}
    return Conduit(request.param, installed(mpi), {"XDG_DATA_HOME": str(folder), **apart})


@pytest.mark.slow(after=1)
def test_every_byte_arrives(conduit: Conduit, tmp_path: Path) -> None:
    """Protects puts of every size, and the word behind them, which must not come before the last byte."""
    done = wirespeed(
        *("pingpong", *conduit.words, "--sizes", ",".join(SIZES), *FAST),
        out=tmp_path / "r.jsonl",
        environment=conduit.environment,
    )
    assert done.code == 0, done.err
    assert [entry["bytes"] for entry in done.entries] == list(SIZES.values())
    for entry in done.entries:
        checked = entry["checked"]
        assert checked["iterations"] >= 1 and checked["batches"] >= 1
        assert checked["bytes"] == (checked["iterations"] + checked["batches"]) * entry["bytes"]
        assert entry["details"] == {"ready_notice": False}
    (step,) = done.of("step")
    assert step["details"]["library"].startswith("GASNet-EX 20")
    assert step["details"]["conduit"] == conduit.name


def test_unaligned_buffers(conduit: Conduit, tmp_path: Path) -> None:
    """Protects odd places in the segment."""
    done = wirespeed(
        *("pingpong", "--sizes", "1,8,4097,1M", "--loops", "50", *conduit.words, "--test", "offset=3"),
        out=tmp_path / "r.jsonl",
        environment=conduit.environment,
    )
    assert done.code == 0, done.err
    assert [entry["details"] for entry in done.entries] == [{"ready_notice": False}] * 4


def test_irregular_patterns(conduit: Conduit) -> None:
    """Protects places at the peer, several transfers a step, and in place what must not come early."""
    words = (IRREGULAR, "gasnet", f"conduit={conduit.name}", "pageable", "host")
    done = subprocess.run(
        conduit.mpi.command(3, sys.executable, *words),
        env=conduit.mpi.environment() | conduit.environment,
        capture_output=True,
        text=True,
    )
    everything_right(done)


@pytest.mark.parametrize("fault", ["drop-byte", "repeat-iteration"])
def test_wrong_bytes_are_found(conduit: Conduit, fault: str, tmp_path: Path) -> None:
    """Protects the check on GASNet's segments, too: nothing wrong is measured."""
    done = wirespeed(
        *("pingpong", "--sizes", "1,7,4097,64K", *FAST, *conduit.words, "--test", f"fault={fault}"),
        out=tmp_path / "r.jsonl",
        environment=conduit.environment,
    )
    assert done.code != 0 and not done.entries
    assert "wrong data" in done.failures[0]["text"]


@pytest.mark.parametrize(
    ("conduit", "number", "what"),
    [
        *((name, signal.SIGKILL, "death") for name in ("stand-in", "smp", "udp")),
        *((name, signal.SIGSTOP, "hang") for name in ("smp", "udp")),
    ],
    indirect=["conduit"],
)
def test_a_rank_that_is_struck(conduit: Conduit, number: int, what: str, tmp_path: Path) -> None:
    """Protects the name of the rank that died or hangs, though GASNet would end the job by itself."""
    out = tmp_path / "r.jsonl"
    done = disturbed(
        *("pingpong", *conduit.words, *PATIENCE, *SLOW),
        out=out,
        environment=conduit.environment,
        when=after(1),
        act=strike(out, 1, number),
    )
    done.no_stack_trace()
    (failure,) = done.failures
    assert (failure["what"], failure["rank"]) == (what, 1), failure["text"]


def test_mpi_afterwards_in_the_same_process(conduit: Conduit, tmp_path: Path) -> None:
    """Protects other paths, and the process's end, from a GASNet that ends the process or MPI with itself."""
    done = wirespeed(
        *(
            "pingpong",
            "--paths",
            "gasnet,host",
            "--sizes",
            "8,64K",
            *FAST,
            "--test",
            f"conduit={conduit.name}",
        ),
        out=tmp_path / "r.jsonl",
        before=tuple(conduit.mpi.command(2)),
        environment={**conduit.mpi.variables, **conduit.environment},
    )
    assert done.code == 0, done.err
    assert {entry["path"] for entry in done.entries} == {"gasnet", "host"}


def test_without_mpi(stand_in: Conduit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects ranks that torchrun started: a conduit with a master process needs no MPI.

    That process is this Python, which must find its modules from a folder where another one's lie below lib.
    """
    out = tmp_path / "r.jsonl"
    words = ("pingpong", "--paths", "gasnet", "--sizes", "8,64K", *FAST)
    monkeypatch.chdir("/")
    first, second = ended(started(2, *words, out=out, **stand_in.environment), out)
    assert first.code == second.code == 0, first.err
    assert [entry["bytes"] for entry in first.entries] == [8, 1 << 16]


@pytest.mark.parametrize(
    ("environment", "words", "why"),
    [
        ({}, (), "no conduit of GASNet was built; 'wirespeed paths --build gasnet --with PREFIX' builds"),
        ({}, ("--test", "conduit=ibv"), "GASNet's conduit ibv was not built"),
        ({"FAKE_GASNET_FAILS": "1"}, (), "gex_Client_Init(udp): Problem with requested resource"),
    ],
    ids=["nothing-built", "not-this-one", "no-start"],
)
def test_where_there_is_none(
    stand_in: Conduit, environment: dict[str, str], words: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    """Protects the one line that says why."""
    data = stand_in.environment if environment else {"XDG_DATA_HOME": str(tmp_path)}
    done = wirespeed(
        *("pingpong", "--paths", "gasnet", "--sizes", "8", *FAST, *words),
        out=tmp_path / "r.jsonl",
        environment={**data, **environment},
    )
    done.no_stack_trace()
    (failure,) = done.failures
    assert why in failure["text"] and "\n" not in failure["text"], failure
