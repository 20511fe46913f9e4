"""Ranks of one host in namespaces of their own: recorded, and named where a path needs what they lack."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from ranks.test_without_mpi import ended, started
from support.command import PATIENCE, captured
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.tools import why_no_mount

OWN_SHM = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh")
OWN_PID = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
SHARED = "memory that all ranks share; rank 1 and the first one of its host: each has a /dev/shm of its own"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("before", "apart", "said"),
    [
        (OWN_PID, "pid", ""),
        (("unshare", "--ipc"), "ipc", ""),
        (("unshare", "--user", "--map-root-user"), "user", ""),
        (OWN_SHM, "shm", f"host-shared needs {SHARED}"),
    ],
    ids=["pid", "ipc", "user", "shm"],
)
def test_a_rank_in_a_namespace_of_its_own(
    before: tuple[str, ...], apart: str, said: str, tmp_path: Path
) -> None:
    """Protects users of containers, who were told that no MPI had joined their ranks."""
    if why := why_no_mount():
        pytest.skip(why)
    out = tmp_path / "r.jsonl"
    words = ("pingpong", "--paths", "host-tcp,host-shared", "--sizes", "8", "--loops", "50")
    ranks = started(2, *words, "--device", "cpu", out=out, before=before, MASTER_ADDR="127.0.0.1")
    done, other = ended(ranks, out)
    assert done.entries, (done, other)
    step = done.of("step")[0]["ranks"]
    assert [rank["apart"] for rank in step] == [[], [apart]]
    # A user namespace below may not be looked into, nor may its processes look out.
    assert (step[1]["copies"] == "works") == (apart in ("ipc", "shm"))
    shared = [failure["text"] for failure in done.failures if failure["path"] == "host-shared"]
    assert [text[: len(said)] for text in shared] == ([said] if said else [])


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich"), slow_case("impi")], indirect=True)
@pytest.mark.parametrize(
    ("before", "said"),
    [
        (OWN_SHM, "each has a /dev/shm of its own"),
        slow_case(OWN_PID, "PID namespaces differ"),
        slow_case(("unshare", "--user", "--map-root-user"), "user namespaces differ"),
        (("unshare", "--uts"), ""),
    ],
    ids=["shm", "pid", "user", "none"],
)
def test_a_rank_apart_from_its_launcher(
    mpi: InstalledMpi, before: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    """Protects users whose MPI hangs or fails as it starts: the rank that is elsewhere says so before."""
    if why := why_no_mount():
        pytest.skip(why)
    words = ("pingpong", "--paths", "host", "--sizes", "8", "--loops", "50", "--device", "cpu")
    rank = (sys.executable, "-I", "-m", "wirespeed", *words, "--timeout", "5", "--out", tmp_path / "r.jsonl")
    # Hydra kills rank 0 as soon as rank 1 fails: what both leave goes with a /dev/shm of their own.
    done = captured(
        list(map(str, [*OWN_SHM, mpi.mpiexec, "-n", "1", *rank, ":", "-n", "1", *before, *rank])),
        env={**os.environ, **mpi.environment()},
        errors="replace",
        timeout=PATIENCE,
    )
    told = " ".join(done.stderr.split())
    assert "rank 0 and its launcher" not in told
    assert (f"wirespeed: rank 1 and its launcher: {said}" in told) == bool(said), told
