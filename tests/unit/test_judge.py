"""Who is to blame, from what is left: pages of this host, introductions, and the launcher's own words."""

from __future__ import annotations

import pytest

from wirespeed import judge
from wirespeed.judge import Member
from wirespeed.page import RankState

ROSTER = {0: Member(0, "n1", 21), 1: Member(1, "n2", 36)}

OPEN_MPI_5 = [
    "prterun noticed that process rank 1 with PID 36 on node n2 exited on",
    "signal 9 (Killed).",
]
OPEN_MPI_5_PEER = [
    "An MPI communication peer process has unexpectedly disconnected.  This",
    "usually indicates a failure in the peer process",
    "  Local host: n1",
    "  Local PID:  21",
    "  Peer host:  n2",
]
OPEN_MPI_4 = [
    "mpiexec.openmpi noticed that process rank 1 with PID 36 on node n2 exited on signal 9 (Killed)."
]
HYDRA = ["=   PID 36 RUNNING AT n2", "=   EXIT CODE: 9"]
INTEL = ["=   RANK 1 PID 36 RUNNING AT n2.example.org", "=   KILLED BY SIGNAL: 9 (Killed)"]
SLURM = ["srun: error: n2: task 1: Killed"]


def page(rank: int, host: str, pid: int) -> RankState:
    return RankState(rank, pid, host, "host", 65536, 7, 1, 10.0, "MPI_Recv", 1 - rank, 0, "", "")


@pytest.mark.parametrize("log", [OPEN_MPI_5, OPEN_MPI_5_PEER, OPEN_MPI_4, HYDRA, INTEL, SLURM])
def test_a_rank_on_another_host(log: list[str]) -> None:
    """Protects this host's rank, which the launcher ended because of the other, from the blame."""
    here = page(0, "n1", 21)
    outcome = judge.died({0: here}, here, ROSTER, True, 1, log)
    assert (outcome.what, outcome.rank, outcome.host, outcome.bytes) == ("death", 1, "n2", 65536)
    assert outcome.text.startswith("rank 1 on n2 (pid 36) ")


def test_the_same_process_number_on_two_hosts() -> None:
    """Protects from taking a process number for one of this host."""
    here, roster = page(0, "n1", 36), {0: Member(0, "n1", 36), 1: Member(1, "n2", 36)}
    assert judge.died({0: here}, None, roster, True, 1, HYDRA).rank == 1


def test_on_one_host_the_first_to_die_counts() -> None:
    """Protects what was seen here from a launcher that names whom it has ended itself."""
    states = {rank: page(rank, "n1", 20 + rank) for rank in (0, 1)}
    roster = {rank: Member(rank, "n1", 20 + rank) for rank in (0, 1)}
    said = ["prterun noticed that process rank 1 with PID 21 on node n1 exited on signal 9 (Killed)."]
    assert judge.died(states, states[0], roster, True, 1, said).rank == 0


def test_a_launcher_that_could_not_start_all() -> None:
    """Protects the rank that did start from the blame."""
    here = page(0, "n1", 21)
    outcome = judge.died(
        {0: here}, here, {}, True, 1, ["srun: error: task 1 launch failed: Unspecified error"]
    )
    assert outcome.what == "error" and "task 1 launch failed" in outcome.text


def test_nobody_speaks_any_more() -> None:
    """Protects from 'did not start' when the ranks had started, on hosts that are cut off."""
    assert "cut off" in judge.hung([], {}, ROSTER, 2, 60).text
    assert "did not start" in judge.hung([], {}, {}, 2, 60).text


def test_a_rank_that_its_mpi_ended_because_of_another_host() -> None:
    """Protects this host's rank where the launcher names nobody: it lost its peer, and no signal ended it."""
    here = page(0, "n1", 21)
    silent = ["prterun detected that one or more processes exited with non-zero status", "Exit code: 14"]
    outcome = judge.died({0: here}, here, ROSTER, True, 14, silent)
    assert (outcome.rank, outcome.host) == (1, "n2")
    assert outcome.text.startswith(
        "rank 1 on n2 (pid 36) died or cannot be reached: its MPI ended rank 0 on n1 in"
    )
    struck = ["prterun noticed that process rank 0 with PID 21 on node n1 exited on", "signal 9 (Killed)."]
    assert judge.died({0: here}, here, ROSTER, True, 137, struck).rank == 0
    assert judge.died({0: here}, here, ROSTER, True, 137, ["srun: error: n1: task 0: Killed"]).rank == 0
    # Between ranks of one host nobody loses a connection.
    near = {0: Member(0, "n1", 21), 1: Member(1, "n1", 22)}
    assert judge.died({0: here}, here, near, True, 14, silent).rank == 0
