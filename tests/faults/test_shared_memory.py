"""A /dev/shm without room: the crash that follows is told with its cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import wirespeed
from support.mpis import InstalledMpi
from support.tools import why_no_mount


@pytest.mark.parametrize("launcher", ["own", "foreign"])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_crash_for_want_of_room(mpi: InstalledMpi, launcher: str, tmp_path: Path) -> None:
    """Protects from a bare SIGBUS in PMPI_Init_thread: MPICH touches pages that there is no room for."""
    if why := why_no_mount():
        pytest.skip(why)
    small = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=2m none /dev/shm && exec "$@"', "sh")
    words = ("pingpong", "--paths", "host", "--sizes", "8", "--loops", "20")
    inside = tuple(mpi.command(2)) if launcher == "foreign" else ()
    chosen = () if inside else ("--mpi", mpi.prefix)
    done = wirespeed(*words, *chosen, out=tmp_path / "r.jsonl", before=(*small, *inside))
    assert done.code != 0
    said = " ".join((done.out + done.err).split())
    assert "SIGBUS" in said
    assert "(/dev/shm is full, " in said and "of 2 MiB are free: enlarge it" in said
