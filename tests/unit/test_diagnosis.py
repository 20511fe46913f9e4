"""Who is to blame, from what is left: pages of this host, introductions, and the launcher's own words."""

from __future__ import annotations

import signal
from collections import deque
from dataclasses import replace

import pytest

from wirespeed.frontend.diagnosis import Events, diagnose
from wirespeed.job.messages import RankReport
from wirespeed.job.outcome import Outcome
from wirespeed.job.status_page import RankIdentity, RankState

ROSTER = {0: RankIdentity(0, "n1", 21), 1: RankIdentity(1, "n2", 36)}

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


NOBODY = ["prterun detected that one or more processes exited with non-zero status", "Exit code: 14"]


def page(rank: int, host: str, pid: int, path: str = "host", call: str | None = "MPI_Recv") -> RankState:
    return RankState(rank, host, pid, path, 65536, 7, 1, 10.0, call, 1 - rank, 0, "", "")


def died(
    states: dict[int, RankState],
    first: RankState | None,
    roster: dict[int, RankIdentity],
    started: bool,
    code: int,
    log: list[str],
) -> Outcome:
    watched = {7} if started else set[int]()
    events = Events(states=states, seen_to_die=first, roster=roster, watched=watched, code=code)
    return diagnose(replace(events, log=deque(log)))


@pytest.mark.parametrize("log", [OPEN_MPI_5, OPEN_MPI_5_PEER, OPEN_MPI_4, HYDRA, INTEL, SLURM])
def test_a_rank_on_another_host(log: list[str]) -> None:
    """Protects this host's rank, which the launcher ended because of the other, from the blame."""
    here = page(0, "n1", 21)
    outcome = died({0: here}, here, ROSTER, True, 1, log)
    assert (outcome.what, outcome.rank, outcome.host, outcome.bytes) == ("death", 1, "n2", 65536)
    assert outcome.text.startswith("rank 1 on n2 (pid 36) ")


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_on_another_host(after: bool) -> None:
    """Protects the rank of another host that crashes because its peer has died, and this host's if not."""
    here = page(0, "n1", 21)
    said = ("killed by SIGSEGV", "libmpi.so", list[str](), list[str]())
    crash = RankReport("crash", 1, 36, "n2", "host", 8, 7, None, -1, *said)
    events = Events(
        states={0: here},
        seen_to_die=here,
        roster=ROSTER,
        watched={21},
        code=1,
        crashes=[crash],
        crashed_after_a_death={1} if after else set(),
        log=deque(["=   PID 36 RUNNING AT n2", "=   EXIT CODE: 11"]),
    )
    outcome = diagnose(events)
    assert (outcome.what, outcome.rank, outcome.host) == (("death", 0, "n1") if after else ("crash", 1, "n2"))


def test_the_same_process_number_on_two_hosts() -> None:
    """Protects from taking a process number for one of this host."""
    here, roster = page(0, "n1", 36), {0: RankIdentity(0, "n1", 36), 1: RankIdentity(1, "n2", 36)}
    assert died({0: here}, None, roster, True, 1, HYDRA).rank == 1
    home = ["=   PID 36 RUNNING AT n1", "=   EXIT CODE: 9"]
    assert died({0: here}, None, roster, True, 1, home).rank == 0


def test_on_one_host_the_first_to_die_counts() -> None:
    """Protects what was seen here from a launcher that names whom it has ended itself."""
    states = {rank: page(rank, "n1", 20 + rank) for rank in (0, 1)}
    roster = {rank: RankIdentity(rank, "n1", 20 + rank) for rank in (0, 1)}
    said = ["prterun noticed that process rank 1 with PID 21 on node n1 exited on signal 9 (Killed)."]
    assert died(states, states[0], roster, True, 1, said).rank == 0


def test_a_launcher_that_could_not_start_all() -> None:
    """Protects the rank that did start from the blame."""
    here = page(0, "n1", 21)
    outcome = died({0: here}, here, {}, True, 1, ["srun: error: task 1 launch failed: Unspecified error"])
    assert outcome.what == "error" and "task 1 launch failed" in outcome.text


def test_a_rank_that_its_mpi_ended_because_of_another_host() -> None:
    """Protects this host's rank where the launcher names nobody: it lost its peer, and no signal ended it."""
    here = page(0, "n1", 21)
    silent = ["prterun detected that one or more processes exited with non-zero status", "Exit code: 14"]
    outcome = died({0: here}, here, ROSTER, True, 14, silent)
    assert (outcome.rank, outcome.host) == (1, "n2")
    assert outcome.text.startswith(
        "rank 1 on n2 (pid 36) died or is unreachable: its MPI ended rank 0 on n1 in"
    )
    struck = ["prterun noticed that process rank 0 with PID 21 on node n1 exited on", "signal 9 (Killed)."]
    assert died({0: here}, here, ROSTER, True, 137, struck).rank == 0
    assert died({0: here}, here, ROSTER, True, 137, ["srun: error: n1: task 0: Killed"]).rank == 0
    # Between ranks of one host nobody loses a connection.
    near = {0: RankIdentity(0, "n1", 21), 1: RankIdentity(1, "n1", 22)}
    assert died({0: here}, here, near, True, 14, silent).rank == 0


@pytest.mark.parametrize(
    ("said", "how"),
    [("9", "was killed by signal 9"), ("64", "was killed by signal 64"), ("1", "was killed by signal 1")]
    + [(code, "died") for code in ("0", "65", "255")],
)
def test_an_exit_code_is_no_signal(said: str, how: str) -> None:
    """Protects from signal 255: Hydra calls both an exit code, and Linux has signals 1 to 64."""
    here = page(0, "n1", 21)
    outcome = died({0: here}, here, ROSTER, True, 1, ["=   PID 21 RUNNING AT n1", f"=   EXIT CODE: {said}"])
    assert outcome.text == f"rank 0 on n1 (pid 21) {how} in MPI_Recv with rank 1, 64 KiB, iteration 7"
    assert (outcome.rank, outcome.host, outcome.call) == (0, "n1", "MPI_Recv")
    assert (outcome.bytes, outcome.iteration, outcome.code, outcome.passing) == (65536, 7, 0, False)


def test_the_signal_of_one_rank_is_not_told_of_another() -> None:
    """Protects the rank that died first from the signal by which its launcher then ended the other."""
    states = {rank: page(rank, "n1", 20 + rank) for rank in (0, 1)}
    said = ["prterun noticed that process rank 1 with PID 21 on node n1 exited on signal 15 (Terminated)."]
    text = died(states, states[0], {}, True, 1, said).text
    assert text == "rank 0 on n1 (pid 20) died in MPI_Recv with rank 1, 64 KiB, iteration 7"


def test_the_last_state_of_the_first_to_die_is_told() -> None:
    """Protects the place of a death: its page may have gone on since it was seen, or be away."""
    early, late = page(0, "n1", 21, call=None), page(0, "n1", 21)
    assert died({0: late}, early, {}, True, 1, []).call == "MPI_Recv"
    assert died({1: page(1, "n1", 22)}, early, {}, True, 1, []).text == (
        "rank 0 on n1 (pid 21) died between calls with rank 1, 64 KiB, iteration 7"
    )


@pytest.mark.parametrize(("path", "where"), [("start", "while starting"), ("end", "at the end")])
def test_a_death_before_or_after_the_work(path: str, where: str) -> None:
    """Protects from blaming a message size that no rank was at."""
    here = page(0, "n1", 21, path=path)
    outcome = died({0: here}, here, {}, True, 1, [])
    assert outcome.text == f"rank 0 on n1 (pid 21) died {where}"
    assert (outcome.bytes, outcome.iteration) == (None, None)


def test_the_place_of_a_rank_on_another_host_is_seen_from_here() -> None:
    """Protects the only hint at where a rank on another host died: the call of a rank of this host."""
    idle, waiting = page(0, "n1", 21, call=None), page(2, "n1", 23)
    outcome = died({0: idle, 2: waiting}, None, ROSTER, True, 1, OPEN_MPI_4)
    assert outcome.text == (
        "rank 1 on n2 (pid 36) was killed by signal 9; rank 2 was in MPI_Recv, 64 KiB, iteration 7"
    )
    assert (outcome.bytes, outcome.iteration, outcome.call) == (65536, 7, None)
    unseen = died({0: idle}, None, ROSTER, True, 1, OPEN_MPI_4)
    assert unseen.text == "rank 1 on n2 (pid 36) was killed by signal 9"
    assert (unseen.rank, unseen.host, unseen.bytes, unseen.iteration) == (1, "n2", None, None)


def test_a_rank_that_nobody_has_heard_of_yet() -> None:
    """Protects the launcher's word about a rank that died before it introduced itself."""
    outcome = died({}, None, {}, True, 1, OPEN_MPI_4)
    assert outcome.text == "rank 1 on n2 (pid 36) was killed by signal 9"
    slurm = died({}, None, {}, True, 137, SLURM)
    assert slurm.rank is None
    assert slurm.text == "the launcher ended (exit code 137) before the ranks were done"


def test_a_host_with_several_ranks_names_none() -> None:
    """Protects one of two ranks of a lost host from being picked."""
    roster = {**ROSTER, 2: RankIdentity(2, "n2", 37)}
    assert died({}, None, roster, True, 1, OPEN_MPI_5_PEER).rank is None
    assert died({}, None, ROSTER, True, 1, OPEN_MPI_5_PEER).rank == 1


OPEN_MPI_5_ABORT = [
    "*** An error occurred in Socket closed",
    "*** reported by process [4104716289,6]",
    "prterun has exited due to process rank 6 with PID 171 on node n4 calling",
    '"abort". This may have caused other processes in the application to be',
]


@pytest.mark.parametrize(
    ("log", "host", "text"),
    [
        (
            [*OPEN_MPI_5_PEER, *OPEN_MPI_5_ABORT],
            "n2",
            "one of the 2 ranks on n2 died, or the host is unreachable: "
            "other ranks lost their connection to it",
        ),
        (
            OPEN_MPI_5_ABORT,
            None,
            "rank 6 on n4 lost its connection to a rank that died or is unreachable; "
            "Open MPI does not say to which",
        ),
    ],
)
def test_a_broken_connection_to_a_host_with_several_ranks(
    log: list[str], host: str | None, text: str
) -> None:
    """Protects the rank of this host that Open MPI ended: it died only because another rank had."""
    roster = {**ROSTER, 2: RankIdentity(2, "n2", 37)}
    here = page(0, "n1", 21, call=None)
    events = Events(4, "n1", states={0: here}, seen_to_die=here, roster=roster, watched={0}, code=14)
    outcome = diagnose(replace(events, log=deque(log)))
    assert (outcome.what, outcome.rank, outcome.host, outcome.text) == ("death", None, host, text)
    # A connection to this host tells nothing new: which of its ranks died first was seen.
    near = [line.replace("n2", "n1") for line in log] if host else [*log, *OPEN_MPI_5]
    assert diagnose(replace(events, log=deque(near))).rank == (0 if host else 1)


def test_hydra_names_any_rank_of_a_host() -> None:
    """Protects a rank from the blame that Hydra's proxy has killed because another one died there."""
    roster = {**ROSTER, 2: RankIdentity(2, "n2", 37)}
    here = page(0, "n1", 21)
    events = Events(3, "n1", states={0: here}, seen_to_die=here, roster=roster, watched={0}, code=9)
    outcome = diagnose(replace(events, log=deque(HYDRA)))
    assert (outcome.what, outcome.rank, outcome.host) == ("death", None, "n2")
    assert outcome.text == "one of the 2 ranks on n2 died first; the launcher does not say which"


def test_a_launcher_that_is_killed() -> None:
    """Protects its ranks from the blame: they end because it did."""
    here = page(0, "n1", 21)
    events = Events(2, "n1", "srun (pid 7)", states={0: here}, seen_to_die=here, roster=ROSTER, code=-9)
    outcome = diagnose(events)
    assert (outcome.what, outcome.rank) == ("death", None)
    assert outcome.text == "the launcher srun (pid 7) was killed (signal 9) before the ranks were done"


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (signal.SIGXFSZ, "signal 25, a file too long for ulimit -f"),
        (signal.SIGXCPU, "signal 24, ulimit -t is used up"),
        (signal.SIGSEGV, "signal 11"),
    ],
)
def test_a_signal_that_killed_the_launcher_is_named(number: int, why: str) -> None:
    """Protects from "exit code -25: it printed nothing", whether ranks had started or not."""
    here = page(0, "n1", 21)
    for states in ({}, {0: here}):
        seen = Events(2, "n1", "mpirun (pid 7)", states=states, watched=set(states), code=-number)
        outcome = diagnose(seen)
        assert outcome.what == "death"
        assert outcome.text == f"the launcher mpirun (pid 7) was killed ({why}) before the ranks were done"


@pytest.mark.parametrize("met", [False, True])
def test_a_limit_of_files_is_told_where_ranks_cannot_start(met: bool) -> None:
    """Protects from "rank 1 died while starting", of which libraries print a page and no remedy."""
    seen = Events(2, "n1", "mpirun (pid 7)", roster=ROSTER if met else {}, code=1, longest_file=65536)
    assert ("no longer than 64 KiB (ulimit -f): raise it" in diagnose(seen).text) == (not met)


def test_a_lost_peer_of_this_host_has_a_page() -> None:
    """Protects the page of a rank that the launcher names by its host alone."""
    here = page(0, "n1", 21)
    lost = [line.replace("n2", "n1") for line in OPEN_MPI_5_PEER]
    assert died({0: here}, None, ROSTER, True, 1, lost).text == (
        "rank 0 on n1 (pid 21) died in MPI_Recv with rank 1, 64 KiB, iteration 7"
    )


def test_a_rank_is_not_to_blame_because_it_is_the_only_one() -> None:
    """Protects a rank of which nobody said a word."""
    outcome = died({}, None, {1: ROSTER[1]}, True, 14, NOBODY)
    assert outcome.text == "the launcher ended (exit code 14) before the ranks were done"
    assert (outcome.what, outcome.rank) == ("death", None)


def test_only_an_mpi_call_loses_a_connection() -> None:
    """Protects a peer on another host from the blame for a rank that died in its own code, or in NCCL."""
    for call in (None, "ncclGroupEnd"):
        here = page(0, "n1", 21, call=call)
        assert died({0: here}, here, ROSTER, True, 14, NOBODY).rank == 0
    here = page(0, "n1", 21)
    outcome = died({0: here}, here, ROSTER, True, 14, NOBODY)
    assert (outcome.bytes, outcome.iteration) == (65536, 7)
    assert outcome.text == (
        "rank 1 on n2 (pid 36) died or is unreachable: "
        "its MPI ended rank 0 on n1 in MPI_Recv with rank 1, 64 KiB, iteration 7"
    )


def test_what_a_launcher_says_of_a_start_that_failed() -> None:
    """Protects the one line that says why nothing started: no rule, no blank, and not the whole log."""
    log = ["-----------", "   ", "  There are not enough slots available.  ", "Either request fewer"]
    outcome = died({}, None, {}, False, 1, log)
    assert (outcome.what, outcome.passing) == ("error", False)
    assert outcome.text == (
        "the launcher could not start the ranks (exit code 1): There are not enough slots available."
    )
    assert died({}, None, {}, False, 2, []).text == (
        "the launcher could not start the ranks (exit code 2): it printed nothing"
    )
    assert died({}, None, {}, False, 1, ["x" * 300]).text.count("x") == 201  # one is in "exit"


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (
            [
                "[n1:00112] plm:ssh: Warning: setpgid(117,117) failed in parent with errno=13",
                "A daemon failed to report back after being spawned. This could",
                "  Local host:    n1",
                "  Remote host:   n6",
            ],
            "no answer from n6, which is unreachable or lacks this MPI",
        ),
        (
            ['[proxy:1@n6] unable to connect from "n6" to "n1" (No route to host)'],
            '[proxy:1@n6] unable to connect from "n6" to "n1" (No route to host)',
        ),
    ],
)
def test_a_host_on_which_nothing_starts(log: list[str], why: str) -> None:
    """Protects the name of the host, and the rank that had started elsewhere, from the blame."""
    here = page(0, "n1", 21, path="start")
    assert died({0: here}, here, {}, True, 255, log).text == (
        f"the launcher could not start all ranks (exit code 255): {why}"
    )


def test_a_start_that_may_work_the_next_time() -> None:
    """Protects the second attempt: two launchers of one user took each other's folder away."""
    log = ["some warning", "PMIx server's listener thread failed to start properly."]
    assert died({}, None, {}, False, 1, log).passing
    assert not died({}, None, {}, False, 1, log[:1]).passing


def test_a_launcher_that_could_not_start_all_says_which() -> None:
    """Protects its own words, without what stands before them, and a rank that died once all had started."""
    line = "srun: error: task 1 launch failed: " + "x" * 300
    here = page(0, "n1", 21)
    outcome = died({0: here}, here, {}, True, 1, ["srun: job 7", f"  {line}"])
    assert outcome.text == f"the launcher could not start all ranks (exit code 1): {line[:200]}"
    assert outcome.rank is None
    assert died({0: here}, here, ROSTER, True, 1, [line, *OPEN_MPI_4]).rank == 1
