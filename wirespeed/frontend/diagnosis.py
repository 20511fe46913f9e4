"""Diagnosis of a job step in one line: who crashed, died or hung, where, and how that is known.

`diagnose` asks an ordered list of rules; the first one that has an answer decides.
"""

from __future__ import annotations

import itertools
import re
import signal
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from wirespeed.frontend.addresses import Addresses, obstacle, shared, without_ipv4
from wirespeed.host.mpi import first_words
from wirespeed.host.process import span
from wirespeed.job.cause import Cause, CauseKind
from wirespeed.job.messages import RankError, RankReport
from wirespeed.job.outcome import Outcome, place_of, stack
from wirespeed.job.status_page import RankIdentity, RankState, where
from wirespeed.rank.join.peers import by_interface
from wirespeed.units import format_size

_LAUNCHER_SAYS = (
    r"rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited on signal (?P<signal>\d+)",
    r"RANK (?P<rank>\d+) PID (?P<pid>\d+) RUNNING AT (?P<host>\S+).*?KILLED BY SIGNAL: (?P<signal>\d+)",
    r"PID (?P<pid>\d+) RUNNING AT (?P<host>\S+).*?EXIT CODE: (?P<signal>\d+)",
    r"(?P<host>\S+): task (?P<rank>\d+): Killed",
    r"peer process has unexpectedly disconnected.*?Peer host: +(?P<host>\S+)",
)

# Open MPI 5, of a rank that lost its connection to one that it does not always name.
_LOST = re.compile(
    r"occurred in Socket closed.*process rank (\d+) with PID \d+ on node (\S+) calling \"abort"
)

# Open MPI's own helper on another host, by which ranks are started there.
_NO_DAEMON = re.compile(r"daemon failed to report back after being spawned.*?Remote host: +(\S+)")

# One rank could not be started: the launcher then ends those that could.
_NOT_LAUNCHED = re.compile(r"task \d+ launch failed|unable to connect from \"\S+ to")

# Two launchers of one user that start and end at the same moment remove each other's folder.
_PASSING = re.compile(r"PMIx server's listener thread failed to start")


_OF_MPI = re.compile(r" lib(p?mpi|mpich|open-|ompi)\S*$")
"""A library of an MPI itself, at the end of a fault."""

_LIMITS: dict[int, str] = {
    signal.SIGXFSZ: "a file too long for ulimit -f",
    signal.SIGXCPU: "ulimit -t is used up",
}
"""By the signal that the kernel sends whoever exceeds a limit."""


@dataclass
class Events:
    """Everything that the front end has seen of a job step, collected until it ends."""

    ranks: int = 0
    here: str = ""
    """Name of this host."""
    launcher: str = "the launcher"
    """Its name and process number, for people."""
    roster: dict[int, RankIdentity] = field(default_factory=dict)
    """Ranks that have introduced themselves."""
    reports: dict[int, RankReport] = field(default_factory=dict)
    """Reports that ranks without progress gave of themselves."""
    crashes: list[RankReport] = field(default_factory=list)
    crashed_after_a_death: set[int] = field(default_factory=set)
    """Ranks that reported their crash when a rank of this host had already closed its pipe."""
    errors: list[RankError] = field(default_factory=list)
    watched: set[int] = field(default_factory=set)
    """Ranks of this host whose processes were watched."""
    seen_to_die: RankState | None = None
    """Rank of this host whose process ended before the others'."""
    stopped_launchers: list[str] = field(default_factory=list)
    """Processes of the launcher on this host that somebody has stopped: 'prterun (pid 12)'."""
    finished: bool = False
    """All figures have arrived."""
    log: deque[str] = field(default_factory=lambda: deque(maxlen=400))
    """Lines that the launcher and libraries printed."""
    states: dict[int, RankState] = field(default_factory=dict)
    """Status pages of this host's ranks, by rank; of a hang as they were before any rank was woken."""
    code: int | None = None
    """Exit code of the launcher; of a signal that killed it, the negative number."""
    longest_file: int | None = None
    """Bytes that a file may have here; None: as many as there is room for."""
    mpi: str = ""
    """The MPI that joined the ranks: 'Open MPI 5.0.8'; empty: none has yet."""
    addresses: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Interfaces and addresses of hosts, as their ranks told them before they joined."""
    quiet: float | None = None
    """Seconds without a sign of progress, for a hang; None: the job step has ended."""

    @cached_property
    def first_dead(self) -> RankState | None:
        """The rank of this host that died before the others; None where that is not certain.

        The launcher may have ended it because of a rank on another host.
        """
        spoke = self._spoke
        lost = (self.states.get(rank) for message in self.errors for rank in message.lost)
        # A rank that spoke and was gone before its process was watched may have been the first.
        seen = None if any(map(self._gone_unwatched, spoke)) else self.seen_to_die
        return next((state for state in lost if state and state.rank not in spoke), seen)

    @cached_property
    def victim(self) -> bool:
        """True where the first rank to die reported nothing: what others reported then follows from its
        death.

        Some libraries crash or return errors when their peer has died. A rank that ends with a code of its
        own (for a device that does not exist) does so for its own reasons.
        """
        own_reasons = any(message.code != 1 for message in self.errors)
        crashed_first = any(message.rank not in self.crashed_after_a_death for message in self.crashes)
        silent = self.first_dead and self.first_dead.rank not in self._spoke
        return bool(silent and not own_reasons and not crashed_first)

    @cached_property
    def text(self) -> str:
        """The lines that were printed as one: launchers wrap their sentences."""
        return " ".join(self.log)

    @cached_property
    def launcher_said(self) -> Mapping[str, str | None]:
        matches = (re.search(pattern, self.text) for pattern in _LAUNCHER_SAYS)
        return next((match.groupdict() for match in matches if match), {})

    @cached_property
    def named(self) -> RankIdentity | None:
        """The rank that the launcher means. A process number alone means one on its own host only."""
        said = self.launcher_said
        rank, pid, host = said.get("rank"), said.get("pid"), said.get("host") or ""
        on_host = self.on_host(host)
        if rank is None and pid and len(on_host) > 1 and not _same_host(host, self.here):
            return None  # Hydra's proxy has killed the others there, too, and names any of them
        everyone: list[RankIdentity] = [*self.states.values(), *self.roster.values()]
        for rank_identity in everyone:
            by_pid = rank is None and str(rank_identity.pid) == pid and _same_host(rank_identity.host, host)
            if str(rank_identity.rank) == rank or by_pid:
                return rank_identity
        if rank is None and pid is None and len(on_host) == 1:
            return self.states.get(on_host[0].rank, on_host[0])
        return RankIdentity(int(rank), host, int(pid)) if rank is not None and pid is not None else None

    def on_host(self, name: str) -> list[RankIdentity]:
        """The ranks there that have introduced themselves."""
        return [
            rank_identity for rank_identity in self.roster.values() if _same_host(rank_identity.host, name)
        ]

    @cached_property
    def dead(self) -> RankIdentity | None:
        """The rank whose death ended the step; if the launcher names one on another host, it is that one.

        Not where it names one that crashed when a rank of this host was already dead.
        """
        named, first = self.named, self.first_dead
        seen = self.crashed_after_a_death | self.states.keys()
        remote = named is not None and named.rank not in seen
        return named if remote or first is None else self.states.get(first.rank, first)

    @property
    def how(self) -> str:
        number = self.launcher_said.get("signal") or ""
        meant = self.named and self.dead and self.named.rank == self.dead.rank
        signal = meant and number.isdigit() and 0 < int(number) < 65
        return f"was killed by signal {number}" if signal else "died"

    @cached_property
    def _spoke(self) -> set[int]:
        return {report.rank for report in self.crashes} | {error.rank for error in self.errors}

    def _gone_unwatched(self, rank: int) -> bool:
        """Whether this rank of this host was gone before its process was watched."""
        identity = self.roster.get(rank)
        return (identity is None or identity.host == self.here) and rank not in self.watched


NOT_STARTED, STOPPED = Cause(CauseKind.NOT_STARTED.value), Cause(CauseKind.STOPPED.value)
MAX_COMPLAINT = 480
"""Letters of a library's warning or error that stand in a failure's line."""
_COMPLAINT = re.compile(r"WARNING|UCX +(?:WARN|ERROR)|Fatal error in|was not found|unable to|MPI_INIT failed")
_UCX_PLACE = re.compile(r"^\[[\d.]+\] \[[^\]]+\] \S+ (?=UCX )")
_LAUNCHER_S_LAST = re.compile(r"P(?:MIX|RTE) ERROR|pmix_|HYDU_|\[(?:proxy|bstrap)")
Rule = Callable[[Events], "Outcome | None"]


def diagnose(events: Events) -> Outcome:
    """End of the job step, by the first rule that applies."""
    rules = AFTER_THE_END if events.quiet is None else WITHOUT_PROGRESS
    outcome = next(outcome for rule in rules if (outcome := rule(events)) is not None)
    if outcome.what != "ok" and not events.roster and events.longest_file is not None:
        longest = format_size(events.longest_file)
        outcome.text += f"; ulimit -f limits files and shared memory to {longest}: raise it"
    if outcome.what in ("hang", "death", "error") and not events.roster:
        hosts = _addresses(events)
        addresses, own = shared(hosts)
        outcome.text += _complained(events.log) + obstacle(hosts, addresses, own)
        outcome.cause = replace(outcome.cause, addresses=addresses, own=own)
    return replace(outcome, log=list(events.log)[-40:])


def _addresses(seen: Events) -> Addresses:
    """Those of the hosts of ranks, this one too if any is here and another elsewhere."""
    return {**seen.addresses, **({seen.here: by_interface()} if seen.addresses and seen.states else {})}


def _complained(log: Iterable[str]) -> str:
    """'; before: WARNING: Open MPI accepted a TCP connection ...', the first complaint of a library."""
    for lines, block in itertools.groupby(
        log, lambda line: bool(line.strip()) and not line.startswith("---")
    ):
        told = [_UCX_PLACE.sub("", " ".join(line.split())) for line in block]
        told = [*itertools.dropwhile(lambda line: not _COMPLAINT.search(line), told)]
        if lines and told and not _LAUNCHER_S_LAST.search(told[0]):
            ends = itertools.accumulate(len(line) + 1 for line in told)
            whole = " ".join(line for line, end in zip(told, ends, strict=True) if end <= MAX_COMPLAINT)
            return f"; before: {whole or told[0][:MAX_COMPLAINT]}"
    return ""


def _crashed(seen: Events) -> Outcome | None:
    """A rank reported the signal that kills it."""
    if not seen.crashes or seen.victim:
        return None
    first = seen.crashes[0]
    where = f" in {first.fault}" if first.fault else ""
    called = f", called from {first.call}" if first.call else ""
    text = f"rank {first.rank} on {first.host} was {first.state}{where}{called}{_loaded(first, seen.mpi)}"
    stacks = [stack(message) for message in seen.crashes]
    return Outcome("crash", text, fault=first.fault, stacks=stacks, **place_of(first))


def _loaded(report: RankReport, mpi: str) -> str:
    """'; loaded: UCX 1.20.0, /opt/lib/libucp.so.0.0.0', of the library in which it crashed."""
    of_mpi = mpi and _OF_MPI.search(f" {report.fault}")
    return f"; loaded: {f'{mpi}, ' if of_mpi else ''}{report.loaded}" if report.loaded else ""


def _refused(seen: Events) -> Outcome | None:
    """A rank ended with an error of its own."""
    if not seen.errors or seen.victim:
        return None
    first = seen.errors[0]
    state = seen.states.get(first.rank)
    size = state.bytes if state and state.path not in ("start", "end") else None
    if first.lack:
        return Outcome("unavailable", first.text, code=first.code)
    stacks = [{"rank": first.rank, "python": list(first.python)}]
    return Outcome("error", first.text, first.rank, bytes=size, code=first.code, stacks=stacks)


def _finished(seen: Events) -> Outcome | None:
    """Once the figures are complete, complaints of the launcher do not spoil them."""
    return Outcome() if seen.finished else None


def _launcher_stopped(seen: Events) -> Outcome | None:
    """Its ranks may go on, but nothing that they say arrives, and it does not see them end."""
    if not seen.stopped_launchers:
        return None
    stopped = f"the launcher {' and '.join(seen.stopped_launchers)}"
    stopped += " is" if len(seen.stopped_launchers) == 1 else " are"
    return Outcome("hang", f"{stopped} stopped (SIGSTOP): no message of its ranks arrives")


def _not_all_started(seen: Events) -> Outcome | None:
    lost = _NO_DAEMON.search(seen.text)
    why = f"no answer from {lost[1]}, which is unreachable or lacks this MPI" if lost else None
    why = why or next((line.strip()[:200] for line in seen.log if _NOT_LAUNCHED.search(line)), None)
    if not why or seen.roster:
        return None
    text = f"the launcher could not start all ranks (exit code {seen.code}): {why}"
    return Outcome("error", text, cause=NOT_STARTED)


def _launcher_killed(seen: Events) -> Outcome | None:
    """A launcher that ends its job itself ends with a code, or names the rank that a signal has killed."""
    if seen.code is None or seen.code >= 0 or (seen.named and seen.code != -signal.SIGKILL):
        return None
    number = -seen.code
    why = f"signal {number}" + (f", {_LIMITS[number]}" if number in _LIMITS else "")
    return Outcome("death", f"the launcher {seen.launcher} was killed ({why}) before the ranks were done")


def _lost_connection(seen: Events) -> Outcome | None:
    """Open MPI ended the job step because a connection broke, and nobody says which rank died."""
    if seen.named:
        return None
    said, lost = seen.launcher_said, _LOST.search(seen.text)
    host = "" if said.get("rank") else said.get("host") or ""
    if (there := seen.on_host(host)) and not _same_host(host, seen.here):
        if said.get("pid"):
            text = f"one of the {len(there)} ranks on {host} died first; the launcher does not say which"
            return Outcome("death", text, host=host)
        who = f"one of the {len(there)} ranks on {host} died, or the host is unreachable"
        return Outcome("death", f"{who}: other ranks lost their connection to it", host=host)
    if host or not lost:
        return None
    text = f"rank {lost[1]} on {lost[2]} lost its connection to a rank that died or is unreachable"
    return Outcome("death", f"{text}; Open MPI does not say which one")


def _lost_its_peer(seen: Events) -> Outcome | None:
    """A rank that waited in an MPI call for a rank on another host.

    An MPI that loses the connection to a peer ends its own process, which is then the first seen to die. A
    launcher names every rank that a signal has ended.
    """
    dead = seen.dead
    if seen.named or not isinstance(dead, RankState) or not (dead.call or "").startswith("MPI_"):
        return None
    peer = seen.roster.get(dead.peer)
    if peer is None or peer.host == dead.host:
        return None
    ended = f"its MPI ended rank {dead.rank} on {dead.host} {dead.where()}"
    text = f"{peer} died or is unreachable: {ended}"
    return Outcome("death", text, peer.rank, peer.host, bytes=dead.bytes, iteration=dead.iteration)


def _died_here(seen: Events) -> Outcome | None:
    dead = seen.dead
    if not isinstance(dead, RankState):
        return None
    return Outcome("death", f"{dead} {seen.how} {dead.where()}", **place_of(dead))


def _died_elsewhere(seen: Events) -> Outcome | None:
    """A rank of this host in a call shows how far the work was."""
    if seen.dead is None:
        return None
    other = next((state for state in seen.states.values() if state.call), None)
    outcome = Outcome("death", f"{seen.dead} {seen.how}", seen.dead.rank, seen.dead.host)
    if other:
        outcome.text += f"; rank {other.rank} was {other.where()}"
        outcome.bytes, outcome.iteration = other.bytes, other.iteration
    return outcome


def _launcher_ended(seen: Events) -> Outcome | None:
    text = f"the launcher ended (exit code {seen.code}) before the ranks were done"
    return Outcome("death", text) if seen.roster or seen.watched else None


def _not_started(seen: Events) -> Outcome:
    text = f"the launcher could not start the ranks (exit code {seen.code}): {first_words(seen.log)}"
    text += without_ipv4(seen.text)
    passing = any(_PASSING.search(line) for line in seen.log)
    return Outcome("error", text, passing=passing, cause=NOT_STARTED)


def _halted(seen: Events) -> Outcome | None:
    states = list(seen.states.values())
    state = next(
        (
            rank_state
            for rank_state in sorted(states, key=lambda rank_state: not rank_state.stopped)
            if rank_state.halted()
        ),
        None,
    )
    if state is None:
        return None
    other = next((other for other in states if other.rank != state.rank and other.call), None)
    waits = f"; rank {other.rank} waits {other.where()}" if other else ""
    outcome = _hang(seen, f"{state.halted()}{waits}", state)
    return replace(outcome, cause=STOPPED) if state.stopped else outcome


def _unanswering(seen: Events) -> Outcome | None:
    """A rank of another host that does not report, and that the others wait for; or all ranks of a host."""
    missing = [rank for rank in range(seen.ranks) if rank not in seen.reports and rank not in seen.states]
    first = _lowest_report(seen)
    if not missing or first is None:
        return None
    rank = next((rank for rank in missing if len(_silent_with(rank, missing, seen)) > 1), missing[0])
    identity, silent = seen.roster.get(rank), _silent_with(rank, missing, seen)
    waits = f"rank {first.rank} on {first.host} waits {_where(first)}"
    text = f"{identity or f'rank {rank}'} does not answer (it is stopped, or its host is unreachable)"
    if identity and len(silent) > 1:
        why = "they are stopped, or the host is unreachable"
        text = f"none of the {len(silent)} ranks on {identity.host} answers ({why})"
    others = sorted(set(missing) - {rank, *(rank_identity.rank for rank_identity in silent)})
    more = f", nor {'do ranks' if len(others) > 1 else 'does rank'} {span(others)}" if others else ""
    outcome = _hang(seen, f"{text}{more}; {waits}", first)
    outcome.rank, outcome.host = rank, identity.host if identity else None
    return outcome


def _silent_with(rank: int, missing: Sequence[int], seen: Events) -> list[RankIdentity]:
    """The ranks of this rank's host, if none of them reports."""
    there = seen.on_host(seen.roster[rank].host) if rank in seen.roster else []
    return there if all(rank_identity.rank in missing for rank_identity in there) else []


def _all_report(seen: Events) -> Outcome | None:
    first = _lowest_report(seen)
    if first is None:
        return None
    fault = f" ({first.fault})" if first.fault else ""
    who = RankIdentity(first.rank, first.host, first.pid)
    return _hang(seen, f"no progress for {seen.quiet:.0f} s: {who} waits {_where(first)}{fault}", first)


def _pages_alone(seen: Events) -> Outcome | None:
    if not seen.states:
        return None
    last = min(seen.states.values(), key=lambda state: (state.iteration, state.rank))
    return _hang(seen, f"no progress for {seen.quiet:.0f} s: {last} waits {last.where()}", last)


def _no_sign(seen: Events) -> Outcome:
    if not seen.roster:
        outcome = _hang(seen, f"the ranks did not start within {seen.quiet:.0f} s")
        return replace(outcome, cause=NOT_STARTED)
    why = "they are stopped, or their hosts are unreachable"
    return _hang(seen, f"no rank has answered for {seen.quiet:.0f} s: {why}")


AFTER_THE_END: tuple[Rule, ...] = (
    _crashed,
    _refused,
    _finished,
    _launcher_stopped,
    _not_all_started,
    _launcher_killed,
    _lost_connection,
    _lost_its_peer,
    _died_here,
    _died_elsewhere,
    _launcher_ended,
    _not_started,
)
WITHOUT_PROGRESS: tuple[Rule, ...] = (
    _launcher_stopped,
    _halted,
    _unanswering,
    _all_report,
    _pages_alone,
    _no_sign,
)


def _hang(seen: Events, text: str, report: RankReport | RankState | None = None) -> Outcome:
    stacks = [stack(seen.reports[rank]) for rank in sorted(seen.reports)]
    return Outcome("hang", text, stacks=stacks, **(place_of(report) if report else {}))


def _lowest_report(seen: Events) -> RankReport | None:
    """The report from the earliest iteration: the others wait for that rank."""
    return min(seen.reports.values(), key=lambda report: (report.iteration, report.rank), default=None)


def _same_host(name: str, other: str) -> bool:
    """Launchers and kernels differ in whether a host's name includes its domain."""
    return name.split(".")[0] == other.split(".")[0]


def _where(report: RankReport) -> str:
    return where(report.call, report.peer, report.bytes, report.iteration)
