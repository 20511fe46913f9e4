"""Who is to blame, from what is left: pages of this host, introductions, reports, and launchers' words."""

from __future__ import annotations

import re
import signal
import socket
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.golden import Golden

from wirespeed.frontend import addresses
from wirespeed.frontend.diagnosis import Events, diagnose
from wirespeed.job.cause import kind_of
from wirespeed.job.messages import RankError, RankReport
from wirespeed.job.outcome import Outcome, with_call
from wirespeed.job.status_page import RankIdentity, RankState

SUPPORT = Path(__file__).parents[1] / "support"
ROSTER = {0: RankIdentity(0, "n1", 21), 1: RankIdentity(1, "n2", 36)}
THREE = {**ROSTER, 2: RankIdentity(2, "n2", 37)}
NEAR = {0: RankIdentity(0, "n1", 21), 1: RankIdentity(1, "n1", 22)}
SAME_PID = {0: RankIdentity(0, "n1", 36), 1: RankIdentity(1, "n2", 36)}
PARTS = re.split("^== (.*)\n", (SUPPORT / "launchers_words.txt").read_text(), flags=re.MULTILINE)[1:]
WORDS = {title: text.splitlines() for title, text in zip(PARTS[::2], PARTS[1::2], strict=True)}
"""What launchers and libraries print."""
LOGS = {name: WORDS[name] for name in [*WORDS][:6]}
OPEN_MPI_5_PEER, OPEN_MPI_5_ABORT = WORDS["Open MPI 5, a peer"], WORDS["abort"]
OPEN_MPI_4, HYDRA, NOBODY = WORDS["Open MPI 4"], WORDS["Hydra"], WORDS["nobody"]
LAUNCH_FAILED = "srun: error: task 1 launch failed: "


def page(
    rank: int = 0, host: str = "n1", pid: int = 21, path: str = "host", call: str | None = "MPI_Recv"
) -> RankState:
    return RankState(rank, host, pid, path, 65536, 7, 1, 10.0, call, 1 - rank, 0, "", "")


HERE, IDLE = page(), page(call=None)
PAIR = {rank: page(rank, "n1", 20 + rank) for rank in (0, 1)}


def died(
    log: Iterable[str] = (),
    first: RankState | None = HERE,
    states: dict[int, RankState] | None = None,
    roster: dict[int, RankIdentity] = ROSTER,
    code: int = 1,
    **more: Any,
) -> Outcome:
    """After a start, of which this host's rank 0 is seen; with `watched=set()` before."""
    events = Events(
        states={0: HERE} if states is None else states, seen_to_die=first, roster=roster, code=code
    )
    return diagnose(replace(events, log=deque(log), **{"watched": {7}, **more}))


def told(outcome: Outcome) -> str:
    where = f"rank {outcome.rank} on {outcome.host}, {outcome.call}, {outcome.bytes} B"
    where += f", iteration {outcome.iteration}"
    passing = "; may work the next time" if outcome.passing else ""
    stacks = "".join(f"\n  stack {stack}" for stack in outcome.stacks)
    cause = f", {outcome.cause.kind}" if outcome.cause.kind != kind_of(outcome.what) else ""
    return f"{outcome.what}{cause} [{where}; code {outcome.code}{passing}]\n  {outcome.text}{stacks}"


DEATHS = {
    **{f"a rank on another host, by {name}": died(log) for name, log in LOGS.items()},
    "one process number on two hosts: the other one's": died(HYDRA, None, {0: page(pid=36)}, SAME_PID),
    "one process number on two hosts: this one's": died(
        ["=   PID 36 RUNNING AT n1", "=   EXIT CODE: 9"], None, {0: page(pid=36)}, SAME_PID
    ),
    "on one host the first to die counts, whomever the launcher ended": died(
        ["prterun noticed that process rank 1 with PID 21 on node n1 exited on signal 9 (Killed)."],
        PAIR[0],
        PAIR,
        {rank: RankIdentity(rank, "n1", 20 + rank) for rank in (0, 1)},
    ),
    "the signal of one rank is not told of another": died(
        ["prterun noticed that process rank 1 with PID 21 on node n1 exited on signal 15 (Terminated)."],
        PAIR[0],
        PAIR,
        {},
    ),
    "its MPI ended this host's rank because of another host, and names nobody": died(NOBODY, code=14),
    "Open MPI says that it was struck": died(WORDS["rank 0 struck"], code=137),
    "Slurm says that it was struck": died(["srun: error: n1: task 0: Killed"], code=137),
    "between ranks of one host nobody loses a connection": died(NOBODY, roster=NEAR, code=14),
    **{
        f"Hydra's exit code {said}, which is a signal or none": died(
            ["=   PID 21 RUNNING AT n1", f"=   EXIT CODE: {said}"]
        )
        for said in (0, 1, 9, 64, 65, 255)
    },
    **{
        f"a rank that died in {call} lost no connection": died(
            NOBODY, page(call=call), {0: page(call=call)}, code=14
        )
        for call in (None, "ncclGroupEnd")
    },
    "the page of a rank that the launcher names by its host alone": died(
        [line.replace("n2", "n1") for line in OPEN_MPI_5_PEER], None
    ),
    "the only rank that is known is not to blame for that": died(NOBODY, None, {}, {1: ROSTER[1]}, 14),
    "the last state of the first to die is told": died([], IDLE, roster={}),
    "its page is away": died([], IDLE, {1: page(1, "n1", 22)}, {}),
    "while starting": died([], page(path="start"), {0: page(path="start")}, {}),
    "at the end": died([], page(path="end"), {0: page(path="end")}, {}),
    "the place of a rank on another host is seen from here": died(
        OPEN_MPI_4, None, {0: IDLE, 2: page(2, "n1", 23)}
    ),
    "nobody here was in a call": died(OPEN_MPI_4, None, {0: IDLE}),
    "a rank that nobody has heard of yet": died(OPEN_MPI_4, None, {}, {}),
    "a task of Slurm's that nobody has heard of yet": died(LOGS["Slurm"], None, {}, {}, 137),
    "one of two ranks of a lost host is not picked": died(OPEN_MPI_5_PEER, None, {}, THREE),
    "the only rank of a lost host is": died(OPEN_MPI_5_PEER, None, {}),
    "Hydra names any rank of a host with several": died(HYDRA, roster=THREE, code=9, ranks=3, here="n1"),
    **{
        f"a broken connection, of which {how}": died(
            log, IDLE, {0: IDLE}, THREE, 14, ranks=4, here="n1", watched={0}
        )
        for how, log in {
            "the other end is said": [*OPEN_MPI_5_PEER, *OPEN_MPI_5_ABORT],
            "the other end is not said": OPEN_MPI_5_ABORT,
            "both ends are here": [
                line.replace("n2", "n1") for line in (*OPEN_MPI_5_PEER, *OPEN_MPI_5_ABORT)
            ],
            "the launcher names another rank": [*OPEN_MPI_5_ABORT, *LOGS["Open MPI 5"]],
        }.items()
    },
    "a launcher that is killed": died(code=-9, ranks=2, here="n1", launcher="srun (pid 7)", watched=set()),
    **{
        f"a launcher killed by {signal.Signals(number).name}, {'later' if states else 'at the start'}": died(
            [], None, states, {}, -number, launcher="mpirun (pid 7)", watched=set(states)
        )
        for number in (signal.SIGXFSZ, signal.SIGXCPU, signal.SIGSEGV)
        for states in ({}, {0: HERE})
    },
    **{
        f"a limit of files, {'after' if roster else 'before'} the ranks met": died(
            [], None, {}, roster, launcher="mpirun (pid 7)", longest_file=65536, watched=set()
        )
        for roster in ({}, ROSTER)
    },
    "a launcher that could not start all; the rank that did start is not to blame": died(
        [f"{LAUNCH_FAILED}Unspecified error"], roster={}
    ),
    "a launcher's long line, without what stands before it": died(
        ["srun: job 7", f"  {LAUNCH_FAILED}{'x' * 300}"], roster={}
    ),
    "the same once all had started": died([f"{LAUNCH_FAILED}{'x' * 300}", *OPEN_MPI_4]),
    **{
        f"a start that failed: {how}": died(log, None, {}, {}, code, watched=set())
        for how, code, log in (
            ("its one line", 1, WORDS["no slots"]),
            ("nothing was printed", 2, []),
            ("no whole log", 1, ["x" * 300]),
            ("two launchers of one user", 1, WORDS["two launchers of one user"]),
            ("another warning", 1, ["a warning"]),
        )
    },
    **{
        f"a host on which nothing starts, by {mpi}": died(
            WORDS[f"nothing starts on n6, by {mpi}"], page(path="start"), {0: page(path="start")}, {}, 255
        )
        for mpi in ("Open MPI", "Hydra")
    },
}


def test_deaths(golden: Golden) -> None:
    """Protects ranks from the blame for others' deaths, and each line that says what died where."""
    golden("frontend/deaths", {title: told(outcome) for title, outcome in DEATHS.items()})


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_on_another_host(after: bool) -> None:
    """Protects the rank of another host that crashes because its peer has died, and this host's if not."""
    said = ("killed by SIGSEGV", "libmpi.so", list[str](), list[str]())
    crash = RankReport("crash", 1, 36, "n2", "host", 8, 7, None, -1, *said)
    log = ["=   PID 36 RUNNING AT n2", "=   EXIT CODE: 11"]
    outcome = died(log, watched={21}, crashes=[crash], crashed_after_a_death={1} if after else set())
    assert (outcome.what, outcome.rank, outcome.host) == (("death", 0, "n1") if after else ("crash", 1, "n2"))


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("[proxy:1@n2] HYDU_sock_connect (sock.c:110): unable to get host address for n1", "only IPv6"),
        ("[bstrap:0:1@n2] main (a.c:5): unable to connect to server n1 at port 42379", "only IPv6"),
        ("[n1:33] pmix_ifinit: unable to find network interfaces.", "not even 127.0.0.1"),
        ("[proxy:1@n2] unable to get host address for n3", ""),
    ],
)
def test_a_launcher_that_knows_ipv4_alone(log: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects users of hosts with IPv6 alone: launchers say that there is no address, and not why."""
    families = {"n1": [(socket.AF_INET6,)], "n3": [(socket.AF_INET,), (socket.AF_INET6,)]}
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: families[host])
    monkeypatch.setattr(addresses, "loopback", lambda: "::1")
    text = diagnose(Events(2, log=deque([log]), code=255)).text
    assert said in text and ("IPv4" in text) == bool(said)


RANKS = {rank: RankIdentity(rank, f"n{rank}", 20 + rank) for rank in range(3)}
EIGHT = {rank: RankIdentity(rank, f"n{rank // 2}", 20 + rank) for rank in range(8)}
RECV = RankState(0, "n0", 20, "host", 65536, 7, 1, 10.0, "MPI_Recv", 1, 0, "", "S")
SEND = replace(RECV, rank=1, pid=21, host="n1", iteration=8, call="MPI_Send", peer=0)
STOPPED = ["mpiexec (pid 8)", "hydra_pmi_proxy (pid 9)"]


def report(rank: int, iteration: int, **said: Any) -> RankReport:
    """What a rank says of itself once it is asked."""
    place = (rank, 20 + rank, f"n{rank}", "host", 8, iteration, "MPI_Recv", 1 - rank)
    return RankReport("stuck", *place, "spinning", "", [], [])._replace(**said)


def hung(
    states: list[RankState],
    reports: Iterable[RankReport] = (),
    ranks: int = 2,
    quiet: float = 60,
    roster: dict[int, RankIdentity] = RANKS,
    **more: Any,
) -> Outcome:
    known = {one.rank: one for one in reports}
    pages = {state.rank: state for state in states}
    return diagnose(Events(states=pages, reports=known, roster=roster, ranks=ranks, quiet=quiet, **more))


HALTED = replace(SEND, state="T")
N1, N2 = ("eth0", "10.0.0.1"), ("eth0", "10.0.0.2")
DOCKER = ("docker0", "172.17.0.1")
ADDRESSES: tuple[dict[str, tuple[tuple[str, str], ...]], ...] = (
    {"n1": (DOCKER, N1), "n2": (DOCKER, N2)},
    {"n1": (DOCKER,), "n2": (("virbr0", "172.17.0.1"), N2)},
    {"n1": (N1,), "n2": (N2,)},
    {"n1": (DOCKER, N1), "n2": (N2,)},
    {"n1": (DOCKER, N1)},
    {"n1": (N1,), "n2": (("eth0", "fd00::2"),)},
)
"""By host, (interface, address)."""
COMPLAINTS = {title[11:]: text for title, text in WORDS.items() if title.startswith("complaint: ")}
LOADED = {
    "opal_pack in libopen-pal.so.80": "/mpi/libopen-pal.so.80.0.5",
    "PMPI_Send in libmpi.so.40": "/mpi/libmpi.so.40.40.7",
    "ucp_wait in libucp.so.0": "UCX 1.22.0, /opt/libucp.so.0.0.0",
    "f in libcuda.so.1": "/usr/lib/libcuda.so.580.95",
    "f in a library that nobody loaded": "",
}
"""The library in which it crashed, by the function."""
ALL = (report(2, 4, peer=0), report(0, 5), report(1, 4, peer=0, fault="ib_poll"))
SEGV = report(1, 3, state="killed by SIGSEGV", fault="opal_progress in libopen-pal.so", python=["a"])
LOST = RankError(1, "peer lost")
BOTH = {0: RECV, 1: SEND}


def errors(*found: RankError, states: dict[int, RankState] | None = None, **more: Any) -> Outcome:
    return diagnose(Events(errors=[*found], states=BOTH if states is None else states, **more))


HANGS = {
    "a launcher that is stopped": hung([], stopped_launchers=STOPPED, seen_to_die=HALTED),
    **{
        f"a rank in state {state}; another waits for it": hung(
            [replace(RECV, rank=2, call=None), RECV, replace(SEND, state=state)], [report(0, 3)], 3
        )
        for state in "TtZ"
    },
    "nobody waits for a rank that is halted": hung([HALTED], ranks=1),
    "a stopped rank comes before one that is gone": hung([replace(RECV, state=""), HALTED]),
    "a host that does not answer, and a rank": hung(
        [],
        [report(rank, 5 + rank, host=f"n{rank // 2}", call="") for rank in (0, 1, 2, 6, 7)],
        8,
        roster=EIGHT,
    ),
    "a rank on another host that does not answer; a page counts as an answer": hung(
        [RECV], [report(2, 5, peer=1), report(3, 4, call="", peer=-1)], 5
    ),
    "a rank that nobody knows does not answer": hung(
        [RECV], [report(2, 5, peer=1), report(3, 4, call="", peer=-1)], 4, roster={}
    ),
    "all answer: the lowest iteration, and of two the one behind": hung([], ALL, 3),
    "all answer, no fault known": hung([], [*ALL[:2], report(1, 4, peer=0)], 3),
    "nobody answers, but pages are there": hung([SEND, RECV], quiet=45.4),
    "both pages in one iteration": hung([SEND, replace(RECV, iteration=8)]),
    "no sign of anybody": hung([]),
    "the ranks did not start": hung([], roster={}),
    "a crash: the function, and the call above it": diagnose(Events(crashes=[SEGV, report(0, 2)])),
    "a crash of which nothing but the signal is known": diagnose(
        Events(crashes=[report(1, 3, state="killed by SIGBUS", call="")])
    ),
    "the first error counts": errors(
        RankError(1, "out of memory", 3, python=("main",)), RankError(0, "peer lost")
    ),
    "what a rank lacks is no fault": errors(RankError(1, "--allocator openmp: no device", 3, lack=True)),
    **{
        f"an error {where}": errors(RankError(1, "no GPU"), states=states)
        for where, states in {
            "before any page": {},
            "while starting": {1: replace(SEND, path="start")},
            "at the end": {1: replace(SEND, path="end")},
        }.items()
    },
    "a death before an error is the cause": errors(LOST, seen_to_die=RECV, watched={0, 1}),
    "a death before a crash that it did not cause": diagnose(
        Events(states=BOTH, crashes=[SEGV], seen_to_die=RECV, watched={0, 1})
    ),
    "a death before a crash that it caused": diagnose(
        Events(states=BOTH, crashes=[SEGV], seen_to_die=RECV, watched={0, 1}, crashed_after_a_death={1})
    ),
    "the rank that reports it died": errors(LOST, seen_to_die=SEND, watched={0, 1}),
    "a rank that was never watched may have died first": errors(
        LOST, states={0: RECV}, seen_to_die=RECV, watched={0}, here="n1"
    ),
    "the rank that died is this host's": errors(
        LOST, states={0: RECV}, seen_to_die=RECV, watched={0}, here="n0", roster=RANKS
    ),
    "the rank that an error names": errors(LOST._replace(lost=(1, 0))),
    "what a rank refuses by itself, with a code of its own": errors(
        LOST._replace(code=3), seen_to_die=RECV, watched={0, 1}
    ),
    **{
        f"ranks that do not meet, and addresses {addresses}": hung(
            [], [report(0, 0, path="start", call=None)], roster={}, addresses=addresses
        )
        for addresses in ADDRESSES
    },
    **{
        f"a library's complaint before the ranks {when}, {who}": hung(
            [], [report(0, 0)], roster=roster, log=deque(log)
        )
        for who, log in COMPLAINTS.items()
        for when, roster in (("meet", {}), ("hang", RANKS))
    },
    **{
        f"a crash in {fault}": diagnose(
            Events(
                2,
                crashes=[report(1, 8, state="killed by SIGSEGV", fault=fault, loaded=loaded)],
                mpi="Open MPI 5.0.8",
            )
        )
        for fault, loaded in LOADED.items()
    },
    "complete figures are not spoilt": diagnose(Events(finished=True, code=1)),
    "a crash after the last figure": diagnose(Events(finished=True, crashes=[report(1, 3)])),
}


def test_hangs_crashes_and_errors(golden: Golden) -> None:
    """Protects those that wait from the blame, and the cause from what it brought about."""
    golden("frontend/hangs", {title: told(outcome) for title, outcome in HANGS.items()})


def test_the_call_is_that_of_the_stack() -> None:
    """Protects from 'between calls' of a rank that sits in MPI_Comm_dup, which wirespeed does not time."""
    frames = ["opal_progress in libopen-pal.so.80", "PMPI_Comm_dup in libmpi.so.40", "main in python"]
    assert with_call(report(0, 0, call=None, native=frames)).call == "MPI_Comm_dup"
    assert with_call(report(0, 0, native=frames)).call == "MPI_Recv"
    assert with_call(report(0, 0, call=None, native=["main in python"])).call is None
