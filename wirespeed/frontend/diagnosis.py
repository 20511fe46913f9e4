"""What happened to a job step, in one line: who crashed, died or hung, where, and how we know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wirespeed.job.messages import Message
from wirespeed.job.outcome import Outcome, stack
from wirespeed.job.status_page import RankState
from wirespeed.units import format_size

_LAUNCHER_SAYS = (
    re.compile(
        r"rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited on signal (?P<signal>\d+)"
    ),
    re.compile(
        r"RANK (?P<rank>\d+) PID (?P<pid>\d+) RUNNING AT (?P<host>\S+).*?KILLED BY SIGNAL: (?P<signal>\d+)"
    ),
    re.compile(r"PID (?P<pid>\d+) RUNNING AT (?P<host>\S+).*?EXIT CODE: (?P<signal>\d+)"),
    re.compile(r"(?P<host>\S+): task (?P<rank>\d+): Killed"),
    re.compile(r"peer process has unexpectedly disconnected.*?Peer host: +(?P<host>\S+)"),
)

# One rank could not be started: the launcher then ends those that could.
_NOT_LAUNCHED = re.compile(r"task \d+ launch failed")

# Two launchers of one user that start and end at the same moment take each other's folder away.
_PASSING = re.compile(r"PMIx server's listener thread failed to start")


@dataclass(frozen=True)
class Member:
    """A rank as it introduced itself: this is all that is known here of one on another host."""

    rank: int
    host: str
    pid: int

    def __str__(self) -> str:
        return f"rank {self.rank} on {self.host} (pid {self.pid})"


Roster = Mapping[int, Member]


def crashed(crashes: Sequence[Message]) -> Outcome:
    """A rank reported the signal that kills it."""
    first = crashes[0]
    outcome = Outcome("crash", fault=first["fault"], stacks=[stack(message) for message in crashes])
    outcome.blame(first)
    where = f" in {first['fault']}" if first["fault"] else ""
    called = f", called from {first['call']}" if first["call"] else ""
    outcome.text = f"rank {first['rank']} on {first['host']} was {first['state']}{where}{called}"
    return outcome


def refused(errors: Sequence[Message], states: dict[int, RankState]) -> Outcome:
    """A rank ended with an error of its own."""
    first = errors[0]
    outcome = Outcome("error", first["text"], first["rank"], code=first.get("code", 1))
    outcome.stacks = [{"rank": first["rank"], "python": first.get("python", [])}]
    state = states.get(first["rank"])
    if state and state.path not in ("start", "end"):
        outcome.bytes = state.bytes
    return outcome


def died(
    states: dict[int, RankState],
    first_dead: RankState | None,
    roster: Roster,
    started: bool,
    code: int | None,
    log: Sequence[str],
) -> Outcome:
    """The launcher ended, or a rank did, before the work was done.

    `first_dead`: the one of this host that was seen to die before the others. It may have been ended because
    of a rank on another host, so what the launcher says of such a rank comes first.
    """
    outcome = Outcome("death")
    failed = next((line.strip() for line in log if _NOT_LAUNCHED.search(line)), None)
    if failed and not roster:
        outcome.what = "error"
        outcome.text = f"the launcher could not start all ranks (exit code {code}): {failed[:200]}"
        return outcome
    said = _launcher_said(log) or {}
    named = _named(said, states, roster)
    remote = named is not None and named.rank not in states
    dead = named if remote or first_dead is None else states.get(first_dead.rank, first_dead)
    number = (said.get("signal") or "") if named and dead and named.rank == dead.rank else ""
    how = f"was killed by signal {number}" if number.isdigit() and 0 < int(number) < 65 else "died"
    peer = None if named else _lost_peer(dead, roster)
    if peer and isinstance(dead, RankState):
        outcome.rank, outcome.host = peer.rank, peer.host
        outcome.bytes, outcome.iteration = dead.bytes, dead.round
        outcome.text = (
            f"{peer} died or cannot be reached: its MPI ended rank {dead.rank} on {dead.host} {dead.where()}"
        )
    elif isinstance(dead, RankState):
        outcome.blame(dead)
        outcome.text = f"rank {dead.rank} on {dead.host} (pid {dead.pid}) {how} {dead.where()}"
    elif dead is not None:
        outcome.rank, outcome.host = dead.rank, dead.host
        witness = next((state for state in states.values() if state.call), None)
        if witness:
            outcome.bytes, outcome.iteration = witness.bytes, witness.round
        seen = f"; rank {witness.rank} was {witness.where()}" if witness else ""
        outcome.text = f"{dead} {how}{seen}"
    elif started:
        outcome.text = f"the launcher ended (exit code {code}) before the ranks were done"
    else:
        lines = (line.strip() for line in log)
        hint = next((line for line in lines if line and not line.startswith("---")), "it said nothing")
        outcome.what = "error"
        outcome.passing = any(_PASSING.search(line) for line in log)
        outcome.text = f"the launcher could not start the ranks (exit code {code}): {hint[:200]}"
    return outcome


def _lost_peer(dead: RankState | Member | None, roster: Roster) -> Member | None:
    """The rank on another host that a dead one waited for in an MPI call.

    An MPI that loses the connection to a peer ends its own process: that one is first seen to die. A launcher
    names whoever a signal has ended.
    """
    if not isinstance(dead, RankState) or not (dead.call or "").startswith("MPI_"):
        return None
    peer = roster.get(dead.peer)
    return peer if peer and peer.host != dead.host else None


def _launcher_said(log: Sequence[str]) -> dict[str, str | None] | None:
    text = " ".join(log)  # launchers wrap their sentences
    for pattern in _LAUNCHER_SAYS:
        if match := pattern.search(text):
            return match.groupdict()
    return None


def _named(
    said: Mapping[str, str | None], states: Mapping[int, RankState], roster: Roster
) -> RankState | Member | None:
    """The rank that the launcher means. A process number alone means one on its own host only."""
    rank, pid, host = said.get("rank"), said.get("pid"), said.get("host") or ""
    everyone: list[RankState | Member] = [*states.values(), *roster.values()]
    for one in everyone:
        if str(one.rank) == rank or (rank is None and str(one.pid) == pid and _same_host(one.host, host)):
            return one
    there = [member for member in roster.values() if _same_host(member.host, host)]
    if rank is None and pid is None and len(there) == 1:
        return states.get(there[0].rank, there[0])
    if rank is not None and pid is not None:
        return Member(int(rank), host, int(pid))
    return None


def _same_host(one: str, other: str) -> bool:
    """Launchers and kernels differ in whether a host's name has its domain behind it."""
    return one.split(".")[0] == other.split(".")[0]


def hung(
    states: Sequence[RankState], reports: dict[int, Message], roster: Roster, ranks: int, silent: float
) -> Outcome:
    """Nothing moves: names the rank that the others wait for. `states` as they were before any was woken."""
    outcome = Outcome("hang", stacks=[stack(reports[rank]) for rank in sorted(reports)])
    heard = sorted(reports.values(), key=lambda report: (report["round"], report["rank"]))
    halted = [state for state in states if state.stopped] + [state for state in states if state.gone]
    here = {state.rank for state in states}
    missing = [rank for rank in range(ranks) if rank not in reports and rank not in here]
    if halted:
        state = halted[0]
        others = [other for other in states if other.rank != state.rank and other.call]
        waiting = f"; rank {others[0].rank} waits {others[0].where()}" if others else ""
        word = "is stopped (SIGSTOP)" if state.stopped else "is gone"
        outcome.blame(state)
        outcome.text = f"rank {state.rank} on {state.host} (pid {state.pid}) {word} {state.where()}{waiting}"
    elif heard and missing:
        outcome.blame(heard[0])
        culprit = roster.get(missing[0])
        outcome.rank, outcome.host = missing[0], culprit.host if culprit else None
        outcome.text = (
            f"{culprit or f'rank {missing[0]}'} is silent (stopped, or its host is cut off); "
            f"rank {heard[0]['rank']} on {heard[0]['host']} waits {_where(heard[0])}"
        )
    elif heard:
        first = heard[0]
        outcome.blame(first)
        fault = f" ({first['fault']})" if first["fault"] else ""
        outcome.text = (
            f"no progress for {silent:.0f} s: rank {first['rank']} on {first['host']} (pid {first['pid']}) "
            f"sits {_where(first)}{fault}"
        )
    elif states:
        slowest = min(states, key=lambda state: (state.round, state.rank))
        outcome.blame(slowest)
        outcome.text = (
            f"no progress for {silent:.0f} s: rank {slowest.rank} on {slowest.host} (pid {slowest.pid}) "
            f"sits {slowest.where()}"
        )
    elif roster:
        outcome.text = f"no sign of any rank for {silent:.0f} s: they are stopped, or their hosts are cut off"
    else:
        outcome.text = f"the ranks did not start within {silent:.0f} s"
    return outcome


def _where(report: Message) -> str:
    call = f"in {report['call']}" if report["call"] else "between calls"
    peer = f" with rank {report['peer']}" if report["peer"] >= 0 else ""
    return f"{call}{peer}, {format_size(report['bytes'])}, round {report['round']}"
