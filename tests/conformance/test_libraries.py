"""What each path over a library or memory of its own must do: one suite, with a case for each of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.builds import once
from support.command import Done, Measure, is_checked, wirespeed
from support.mpis import InstalledMpi, installed
from support.selection import slow_case
from support.shim import fake_gasnet, fake_nvshmem
from support.stand_ins import fake_driver, fake_nccl
from support.strikes import PATIENCE, SLOW, is_struck, struck
from support.tools import need_compiler

from wirespeed.host.libraries import lacking

SIZES = {"0": 0, "1": 1, "7": 7, "8": 8, "4097": 4097, "64K": 1 << 16, "1M": 1 << 20}
FAST = ("--max-time", "0.02")
HOST, EMULATED = ("--device", "cpu"), ("--device", "emulated")
HOST_RMA = ("rma-host", "rma-host-get")


@dataclass(frozen=True)
class Subject:
    """Paths that are tested, and what they need."""

    paths: tuple[str, ...]
    mpi: InstalledMpi
    device: tuple[str, ...] = HOST
    environment: dict[str, str] = field(default_factory=dict)
    test: tuple[str, ...] = ()
    """--test options."""
    larger: int = 64
    """MiB of the largest message, for which buffers have to grow."""
    details: dict[str, Any] = field(default_factory=dict)
    """Details of each figure, among others."""
    irregular: tuple[str, ...] = ()
    """Transport, memory, device and options of support/peer_patterns.py."""

    def run(self, out: Path, *words: str, paths: str = "", before: tuple[str, ...] = ()) -> Done:
        mpi = () if before else ("--mpi", str(self.mpi.mpiexec))
        tests = (word for option in self.test for word in ("--test", option))
        named = ("--paths", paths or ",".join(self.paths))
        done = wirespeed(
            *("pingpong", *named, *self.device, *mpi, *tests, *words),
            out=out,
            before=before,
            environment={**(self.mpi.variables if before else {}), **self.environment},
        )
        need_compiler(done.failures)
        return done


Make = Callable[[Path, Path], Subject]


def _ucx(builds: Path, session_builds: Path) -> Subject:
    """Beside an MPI that brings no UCX."""
    if why := lacking("ucx", "host"):
        pytest.skip(why)
    return Subject(("ucx-host", "ucx-host-put"), installed("impi"), larger=5)


def _shmem(builds: Path, session_builds: Path, mpi: str = "openmpi") -> Subject:
    found = {"PYTHONPATH": str(fake_nvshmem(builds)), "WIRESPEED_EMULATED": "count=3"}
    return Subject(
        *(("shmem",), installed(mpi), EMULATED, found),
        larger=64 if mpi == "openmpi" else 3,
        details={"ready_notice": False},
        irregular=("shmem", "device", "emulated", ""),
    )


def _oshmem(builds: Path, session_builds: Path) -> Subject:
    """By the only MPI here that brings OpenSHMEM along."""
    mpi = installed("debian")
    if not (mpi.library.parent / "liboshmem.so.40").exists():
        pytest.skip("Debian's Open MPI without liboshmem.so.40")
    return Subject(
        *(("oshmem",), mpi), details={"ready_notice": False}, irregular=("oshmem", "pageable", "host", "")
    )


def built_gasnet(folder: Path, prefix: Path | None) -> None:
    """Both builds of a session's tests: what `folder` holds afterwards is for XDG_DATA_HOME."""
    prefix = prefix or fake_gasnet(folder / "prefix", "-fPIC")
    done = wirespeed(
        "paths", "--build", "gasnet", "--with", prefix, environment={"XDG_DATA_HOME": str(folder)}
    )
    assert "Measure with: wirespeed pingpong --paths gasnet" in done.out, done.err


def _gasnet(builds: Path, session_builds: Path, conduit: str = "") -> Subject:
    """Over a stand-in, whose ranks meet as those of conduit udp do, or over a conduit of GASNET_PREFIX."""
    mpi, apart, name = "mpich", {}, conduit or "udp"
    if not conduit:
        folder = once(session_builds / "gasnet-stand-in", partial(built_gasnet, prefix=None))
    elif prefix := os.environ.get("GASNET_PREFIX"):
        folder = once(session_builds / "gasnet", partial(built_gasnet, prefix=Path(prefix)))
        library = folder / "wirespeed" / "gasnet" / f"libwirespeed-gasnet-{conduit}.so"
        if not library.exists():
            pytest.skip(f"the GASNet in {prefix} has no conduit {conduit} that can be built")
        mpi = "openmpi" if b"ompi_mpi_comm_world" in library.read_bytes() else "mpich"
        # Ranks of one host would share memory, whatever the conduit.
        apart = {"GASNET_SUPERNODE_MAXSIZE": "1"} if conduit == "udp" else {}
    else:
        pytest.skip("no GASNet (GASNET_PREFIX=FOLDER names an installation, compiled with -fPIC)")
    return Subject(
        *(("gasnet",), installed(mpi)),
        environment={"XDG_DATA_HOME": str(folder), **apart},
        test=(f"conduit={name}",),
        details={"ready_notice": False},
        irregular=("gasnet", "pageable", "host", f"conduit={name}"),
    )


def _nccl(builds: Path, session_builds: Path, device: str = "emulated", mpi: str = "openmpi") -> Subject:
    """On memory that faults when the CPU touches it, and in streams that do nothing by themselves.

    The stand-in refuses messages of no bytes, and ends the process where a receive is not its send's length.
    """
    found = fake_nccl(builds, "nccl") | fake_nccl(builds, "rccl")
    found |= fake_driver(builds, "cuda") | fake_driver(builds, "hip")
    paths = ("nccl", "nccl-stream")
    large = 64 if (device, mpi) == ("emulated", "mpich") else 2
    return Subject(paths, installed(mpi), ("--device", device), found, larger=large)


def _rma(
    builds: Path, session_builds: Path, mpi: str = "openmpi", paths: tuple[str, ...] = HOST_RMA
) -> Subject:
    calls = ("call=put", "call=get")
    return Subject(paths, installed(mpi), irregular=("rma", "pageable", "host", *calls))


def _pipelined(builds: Path, session_builds: Path, mpi: str = "openmpi") -> Subject:
    return Subject(
        *(("staged-pipelined",), installed(mpi), EMULATED),
        larger=64 if mpi in ("openmpi", "mpich") else 9,
        details={"slots": 4},
    )


SUBJECTS: dict[str, Make] = {
    "ucx": _ucx,
    "shmem": _shmem,
    "oshmem": _oshmem,
    "gasnet": _gasnet,
    "pipelined": _pipelined,
    "nccl": _nccl,
    "nccl-cuda": partial(_nccl, device="cuda"),
    "nccl-mpich": partial(_nccl, mpi="mpich"),
    "nccl-hip": partial(_nccl, device="hip", mpi="mpich"),
    **{f"gasnet-{conduit}": partial(_gasnet, conduit=conduit) for conduit in ("smp", "udp")},
    **{f"shmem-{mpi}": partial(_shmem, mpi=mpi) for mpi in ("mpich", "impi", "debian")},
    **{f"pipelined-{mpi}": partial(_pipelined, mpi=mpi) for mpi in ("mpich", "impi", "debian")},
}
WINDOWS: dict[str, Make] = {"rma": _rma, "rma-mpich": partial(_rma, mpi="mpich")}
"""Every byte of theirs is in test_onesided.py."""
STRUCK: dict[str, Make] = {
    "rma-debian": partial(_rma, mpi="debian"),
    **{f"rma-get-{mpi}": partial(_rma, mpi=mpi, paths=HOST_RMA[::-1]) for mpi in ("openmpi", "impi")},
}
"""In the middle of puts and gets, under the other MPIs."""
OWN_MEMORY = ("shmem", "oshmem", "gasnet", "gasnet-smp", "gasnet-udp")
"""Of symmetric heaps and segments."""


@pytest.fixture
def subject(request: pytest.FixtureRequest, builds: Path, session_builds: Path) -> Subject:
    return (SUBJECTS | WINDOWS | STRUCK)[request.param](builds, session_builds)


def of(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("subject", names, indirect=True)


@of(*(name if "-" not in name or name == "nccl-cuda" else slow_case(name) for name in SUBJECTS))
def test_every_byte_arrives(subject: Subject, tmp_path: Path) -> None:
    """Protects messages of every size, what announces their end, and buffers that grow between sizes."""
    sizes = SIZES | {f"{subject.larger}M": subject.larger << 20}
    done = subject.run(tmp_path / "r.jsonl", "--sizes", ",".join(sizes), *FAST).ok()
    expected = [(path, size) for path in subject.paths for size in sizes.values()]
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == expected
    for entry in done.entries:
        assert is_checked(entry)
        assert subject.details.items() <= entry["details"].items()


@pytest.mark.slow
@of(*OWN_MEMORY, "nccl", "rma-mpich")
def test_unaligned_buffers(subject: Subject, tmp_path: Path) -> None:
    """Protects odd places in a buffer, a heap or a segment."""
    words = ("--sizes", "1,8,4097,1M", "--loops", "50", "--test", "offset=3")
    done = subject.run(tmp_path / "r.jsonl", *words).ok()
    assert len(done.entries) == 4 * len(subject.paths)
    assert all(subject.details.items() <= entry["details"].items() for entry in done.entries)


@pytest.mark.slow
@of(*OWN_MEMORY, *WINDOWS)
def test_irregular_patterns(subject: Subject) -> None:
    """Protects places at the peer, several transfers a step, and in place what must not come early."""
    subject.mpi.told(3, "peer_patterns.py", *subject.irregular, **subject.environment)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["drop-byte", "drop-iteration", "repeat-iteration"])
@of("ucx", "pipelined", "nccl", "nccl-cuda", "rma", *OWN_MEMORY)
def test_a_lie_is_found_out(subject: Subject, fault: str, tmp_path: Path) -> None:
    """Protects the check on each library's memory: nothing wrong is measured, and it counts as failed."""
    done = subject.run(tmp_path / "r.jsonl", *FAST, "--sizes", "1,7,4097,64K", "--test", f"fault={fault}")
    assert done.code == 1 and not done.entries
    assert {failure["path"] for failure in done.failures} == {*subject.paths}
    assert all(failure["what"] == "mismatch" for failure in done.failures)
    assert "wrong data" in done.failures[0]["text"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "number"),
    [
        *((name, signal.SIGKILL) for name in ("ucx", *OWN_MEMORY, "rma-mpich", "rma-get-impi")),
        *((name, signal.SIGSTOP) for name in OWN_MEMORY if name != "gasnet"),
        *((name, signal.SIGSTOP) for name in ("rma-get-openmpi", "rma-debian")),
    ],
    indirect=["subject"],
)
def test_a_rank_that_is_struck(subject: Subject, number: int, measure: Measure) -> None:
    """Protects the name of the rank that died or hangs, and the paths that follow.

    One side asks UCX again and again, or its stream waits for NVSHMEM's signal; OpenSHMEM takes over signals,
    and GASNet would end the job by itself.
    """
    first = subject.paths[0]
    tests = (word for option in subject.test for word in ("--test", option))
    words = (f"pingpong --paths {first},host", *subject.device, *tests, *PATIENCE, *SLOW)
    done = struck(measure, *words, mpi=subject.mpi, number=number, environment=subject.environment)
    failure = next(failure for failure in done.failures if failure["path"] == first)
    is_struck(failure, number)
    assert {entry["path"] for entry in done.entries} == {first, "host"}
    assert not list(Path("/dev/shm").glob("ucx_shm*"))


@pytest.mark.slow
@of("oshmem", "gasnet", "gasnet-smp", "gasnet-udp")
def test_mpi_afterwards_in_the_same_process(subject: Subject, tmp_path: Path) -> None:
    """Protects other paths, and the process's end, from a library that ends MPI with itself."""
    before = tuple(subject.mpi.command(2))
    paths = ",".join((*subject.paths, "host"))
    done = subject.run(tmp_path / "r.jsonl", "--sizes", "8,64K", *FAST, paths=paths, before=before).ok()
    assert {entry["path"] for entry in done.entries} == {*subject.paths, "host"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "why"),
    [("openmpi", "this Open MPI was built without OpenSHMEM"), ("mpich", "the ranks run under another MPI")],
)
def test_where_there_is_no_openshmem(name: str, why: str, measure: Measure) -> None:
    """Protects the one line that says why, without loading another MPI's library into the process."""
    done = measure("pingpong --paths oshmem --sizes 8", *FAST, "--mpi", installed(name).mpiexec)
    (failure,) = done.failures
    assert failure["what"] == "unavailable" and why in failure["text"], failure
