"""Ranks of a user's own launcher are stopped and ended by signals; nobody watches them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import PATIENCE, SLOW, after, struck

from wirespeed.job import shm_cleanup

pytestmark = pytest.mark.slow

OTHER_USER_NAMESPACE = """#!/bin/sh
test "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 && exec unshare --user --map-root-user "$@"
exec "$@"
"""
"""Rank 1 may not read rank 0's memory, as in a container: MPICH's receive of a long message fails there."""
STOPPED_IN_INIT = """#!/bin/sh
test "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 || exec "$@"
"$@" & rank=$!
segments() { grep -o '/dev/shm/[msv][^ ]*$' /proc/$rank/maps; }
until segments > mapped; do sleep 0.002; done
kill -STOP $rank
segments > mapped
wait $rank
"""
"""Rank 1 is stopped as soon as it maps a segment of MPICH or Open MPI, and lists its segments."""
PATIENT = {"PRTE_MCA_odls_base_sigkill_timeout": "10"}
"""Open MPI 5 kills ranks a second after the signal, in which a busy machine may give them no CPU."""


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_a_hang_inside_a_foreign_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects a run that no front end watches: the ranks name the stopped one and end the job."""
    done = struck(measure, "pingpong", *PATIENCE, *SLOW, inside=mpi, number=signal.SIGSTOP)
    assert done.code != 0
    assert "rank 0" in done.err and "no progress for 2 s" in done.err
    assert "rank 1" in done.err and "is stopped (SIGSTOP)" in done.err
    assert done.entries and done.failures[0]["what"] == "hang"


@pytest.mark.parametrize("mpi", ["mpich", "openmpi", slow_case("debian")], indirect=True)
def test_a_hang_in_mpi_init_inside_a_foreign_launcher(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the reason in the file, which --after-hang reads, and /dev/shm from what nobody removes."""
    shim = tmp_path / "shim"
    shim.write_text(STOPPED_IN_INIT)
    shim.chmod(0o755)
    done = wirespeed(
        *("pingpong", "--paths", "host", "--sizes", "8"),
        out=tmp_path / "r.jsonl",
        before=tuple(mpi.command(2, shim)),
        environment=mpi.variables,
        cwd=tmp_path,
    )
    assert done.code != 0 and "rank 0" in done.err and "s while starting" in done.err
    (failure,) = done.failures
    assert failure["what"] == "hang" and failure["bytes"] is None
    # Whoever comes first says it: rank 0's watchdog, or who looks at rank 1.
    assert "no progress for 6" in failure["text"] or "is stopped (SIGSTOP) while" in failure["text"]
    mapped = (tmp_path / "mapped").read_text().split()
    assert mapped and not [segment for segment in mapped if Path(segment).exists()]


# MPICH's launcher kills all ranks at once.
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("debian")], indirect=True)
def test_a_rank_killed_inside_a_foreign_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects who died: the launcher ends rank 0 by a signal, as it does when a user ends the job."""
    done = struck(measure, "pingpong --paths host", *SLOW, inside=mpi, number=signal.SIGKILL)
    assert done.code != 0 and done.entries
    assert done.failures[0]["what"] == "death" and "rank 1 on" in done.failures[0]["text"]
    assert done.records[-1]["kind"] == "end" and done.records[-1]["status"] == "interrupted"
    shm_cleanup.sweep(older_than=0.0)


@pytest.mark.parametrize("mpi", ["mpich", slow_case("openmpi")], indirect=True)
def test_a_crash_inside_a_foreign_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the crash of another rank than 0: MPICH's launcher kills rank 0 as soon as it has ended."""
    done = struck(measure, "pingpong --paths host", *SLOW, inside=mpi, number=signal.SIGSEGV)
    assert done.code != 0 and done.entries
    (failure,) = done.failures
    assert (failure["what"], failure["rank"]) == ("crash", 1) and failure["stacks"]
    assert f"what was measured before: wirespeed show {measure.out}" in done.err
    shm_cleanup.sweep(older_than=0.0)


@pytest.mark.parametrize(
    ("number", "mpi"),
    [
        (signal.SIGINT, "openmpi"),
        slow_case(signal.SIGINT, "mpich"),
        slow_case(signal.SIGTERM, "openmpi"),
        (signal.SIGTERM, "mpich"),
        slow_case(signal.SIGTERM, "impi"),
        slow_case(signal.SIGTERM, "debian"),
    ],
    indirect=["mpi"],
)
def test_a_signal_to_a_foreign_launcher(number: int, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the last record, and the way to go on, from Ctrl-C and from the batch system."""
    # Open MPI 4 lets its ranks go on for a second after the signal.
    words = "pingpong --paths host --sizes 8,128M --precision 0.0001% --max-time 2"

    def end(process: subprocess.Popen[str]) -> None:
        process.send_signal(number)

    done = measure.disturbed(words, inside=mpi, when=after(1), act=end, environment=PATIENT)
    assert done.code != 0
    assert done.entries and not done.failures
    assert done.records[-1]["kind"] == "end" and done.records[-1]["status"] == "interrupted"
    assert f"interrupted; results: {measure.out}; go on with --resume" in done.err
    # Ranks that both end by the signal may leave their pages, which a later run sweeps.
    shm_cleanup.sweep(older_than=0.0)


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_an_mpi_error_on_another_rank(mpi: InstalledMpi, measure: Measure, tmp_path: Path) -> None:
    """Protects the reason: MPICH's launcher kills rank 0 as soon as rank 1 ends."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("makes a user namespace as root: needs root and util-linux's unshare")
    shim = tmp_path / "shim"
    shim.write_text(OTHER_USER_NAMESPACE)
    shim.chmod(0o755)
    done = measure(
        "pingpong --paths host --sizes 8,64K --loops 50",
        before=tuple(mpi.command(2, shim)),
        environment=mpi.variables,
    )
    assert done.code != 0, "the launcher may mix in the signal by which it ends the other rank"
    assert [entry["bytes"] for entry in done.entries] == [8]
    assert done.failures[0]["rank"] == 1 and "MPI_Recv" in done.failures[0]["text"]
    assert "user namespaces differ, so there are no copies" in done.failures[0]["text"]
    assert [rank["apart"] for rank in done.of("step")[0]["ranks"]] == [[], ["user"]]
    assert "rank 1: " in done.out + done.err and "MPI_Recv" in done.out + done.err
    assert done.records[-1]["kind"] == "end"


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_a_rank_without_a_part_in_a_long_batch(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects a healthy job, and its figure, where one rank has nothing to do for longer than --timeout."""
    done = measure(
        "pairs --paths ipc-write --device emulated --sizes 8M --loops 80 --timeout 1",
        before=tuple(mpi.command(3)),
        environment={**mpi.variables, "WIRESPEED_EMULATED": "count=3,peer=2.5e8"},
    )
    assert (done.code, done.failures) == (0, []), done.err
    assert "no progress" not in done.err and done.entries


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_the_target_of_one_sided_operations(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the same of puts that no message accompanies: their target waits in a barrier."""

    def puts(loops: int) -> Done:
        words = f"rma --paths rma-host --operation put --sizes 4M --loops {loops}"
        return Measure(tmp_path / f"{loops}.jsonl")(words, *PATIENCE, inside=mpi)

    # It would report after 2 s, and end itself 2 s later.
    done = puts(int(8 / puts(100).entries[0]["seconds"]["median"]))
    assert (done.code, done.failures) == (0, []), done.err
