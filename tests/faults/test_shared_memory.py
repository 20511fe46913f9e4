"""A /dev/shm without room: the crash that follows is told with its cause."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.command import Measure, disturbed
from support.mpis import InstalledMpi
from support.strikes import after, strike
from support.tools import why_no_mount


def with_room(mib: int) -> tuple[str, ...]:
    """What starts a command with so small a /dev/shm."""
    mount = f'mount -t tmpfs -o size={mib}m none /dev/shm && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", mount, "sh")


@pytest.mark.parametrize("launcher", ["own", "foreign"])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_crash_for_want_of_room(mpi: InstalledMpi, launcher: str, measure: Measure) -> None:
    """Protects from a bare SIGBUS in PMPI_Init_thread: MPICH touches pages that there is no room for."""
    if why := why_no_mount():
        pytest.skip(why)
    words = ("pingpong", "--paths", "host", "--sizes", "8", "--loops", "20")
    inside = tuple(mpi.command(2)) if launcher == "foreign" else ()
    chosen = () if inside else ("--mpi", mpi.prefix)
    done = measure(*words, *chosen, before=(*with_room(2), *inside))
    assert done.code != 0
    said = " ".join((done.out + done.err).split())
    assert "SIGBUS" in said
    assert "(/dev/shm is full, " in said and "of 2 MiB are free: enlarge it" in said


def test_a_crash_where_there_is_little_room(tmp_path: Path) -> None:
    """Protects from a bare SIGSEGV in UCX, which uses memory that it did not get."""
    if why := why_no_mount():
        pytest.skip(why)
    out = tmp_path / "r.jsonl"
    words = ("pingpong", "--paths", "host-shared", "--sizes", "8,4M", "--loops", "20000", "--device", "cpu")
    crash = strike(out, 1, signal.SIGSEGV)
    done = disturbed(*words, out=out, when=after(1), act=crash, before=with_room(40))
    assert "killed by SIGSEGV (/dev/shm is small: " in done.failures[0]["text"]
    assert "of 40 MiB are free)" in done.failures[0]["text"]
