"""Limits, and a /dev/shm without room: the death of a rank that follows is told with its cause."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from support.command import Measure, disturbed, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import after, strike
from support.tools import why_no_mount

SMALL = """
mount -t tmpfs -o size=1m shm /dev/shm
for turn in 1 2 3; do
    "$@" --out "$FOLDER/$turn.jsonl"
    eval "$AFTER"
    ls /dev/shm > "$FOLDER/left-$turn"
done
"""
SWEEP = f"{sys.executable} -c 'from wirespeed.job.shm_cleanup import sweep; sweep(0)'"


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich", slow_case("openmpi"), slow_case("impi")], indirect=True)
@pytest.mark.parametrize("launched", [False, slow_case(True)])
def test_no_shared_memory_stays_of_ranks_that_died_as_they_started(
    mpi: InstalledMpi, launched: bool, tmp_path: Path
) -> None:
    """Protects /dev/shm, which one such run after the other would fill for good.

    Under the user's own launcher a later run takes away what is left.
    """
    if why := why_no_mount():
        pytest.skip(why)
    words = ["pingpong", "--paths", "host", "--sizes", "8", "--max-time", "0.02", "--device", "cpu"]
    before, environment = ["unshare", "--mount", "sh", "-c", SMALL, "sh"], {"FOLDER": str(tmp_path)}
    if launched:
        before, environment = [*before, *mpi.command(2)], environment | mpi.environment() | {"AFTER": SWEEP}
    else:
        words += ["--mpi", str(mpi.mpiexec)]
    done = wirespeed(*words, before=tuple(before), environment=environment)
    # The others make do with so little.
    assert "SIGBUS" in done.out + done.err or mpi.name != "mpich", done.err
    for turn in (1, 2, 3):
        left = (tmp_path / f"left-{turn}").read_text().split()
        assert all(name.startswith("wirespeed-") for name in left), left


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
@pytest.mark.parametrize("blocks", [8, slow_case(64)])
def test_a_limit_of_files_is_named(mpi: InstalledMpi, blocks: int, measure: Measure) -> None:
    """Protects from an exit code -25, and from ranks that die for no reason."""
    words = ["pingpong", "--paths", "host", "--sizes", "8", "--device", "cpu", "--mpi", str(mpi.mpiexec)]
    before = ("sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh")
    done = measure(*words, before=before)
    (failure,) = done.failures
    assert done.code == 1 and "ulimit -f limits files and shared memory to" in failure["text"], failure


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_usual_sizes_fit_into_the_address_space(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects a run under `ulimit -v` from an error at its last sizes."""
    words = [
        "pingpong",
        "--paths",
        "host",
        "--max-time",
        "0.001",
        "--device",
        "cpu",
        "--mpi",
        str(mpi.prefix),
    ]
    done = measure(*words, before=("sh", "-c", 'ulimit -v 900000 && exec "$@"', "sh"))
    assert done.code == 0 and not done.failures, done.err
    assert (
        "only sizes up to 128 MiB" in done.err and max(entry["bytes"] for entry in done.entries) == 128 << 20
    )


def with_room(mib: int) -> tuple[str, ...]:
    """What starts a command with so small a /dev/shm."""
    mount = f'mount -t tmpfs -o size={mib}m none /dev/shm && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", mount, "sh")


@pytest.mark.slow(after=1)
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


@pytest.mark.slow
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
