"""Watches one job step: forwards its ranks' messages, and collects what diagnosis.py needs."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from wirespeed import interrupts
from wirespeed.evidence.nics.ucx_log import UcxLog
from wirespeed.frontend.bound import Bound
from wirespeed.frontend.diagnosis import Events, diagnose
from wirespeed.frontend.rank_messages import MessageReader, Received
from wirespeed.host.die_with_parent import dies_with_parent
from wirespeed.host.mpi import title_of
from wirespeed.host.process import (
    command_name,
    host_name,
    longest_file,
    parent,
    process_state,
    waited_for_cpu,
)
from wirespeed.host.removal import try_to_remove_folder
from wirespeed.job import shm_cleanup
from wirespeed.job.messages import Done, Hello, RankAddresses, RankError, RankReport
from wirespeed.job.outcome import Outcome, with_call
from wirespeed.job.status_page import (
    EXITING,
    GONE,
    STOPPED,
    RankIdentity,
    RankState,
    alive_file,
    ask_for_stack,
    read_pages,
)
from wirespeed.job.stop_request import ask_to_stop

GRACE, LONG_GRACE, MAX_GRACE = 2.0, 8.0, 20.0
"""Seconds for one more rank to report after the latest, where those of one host are missing, and of several;
and for all others after the first."""
SLOW_LAUNCHER = 8.0
"""Seconds that a launcher may take to end a job one of whose ranks has died."""
LATE = "late"
"""Outcome of a step that the bound of its command has ended."""
HUNG_S = 3.0
"""Seconds without progress that count as a hang when the bound is over: short for a busy machine."""
LONGEST_LINE = 1 << 20
"""Bytes."""
SHORT_QUIET = 1.0
"""Seconds without progress that mean nothing."""
MAX_STARVED = 0.95
"""A hang is found after at most 20 times the time that it takes on an idle machine."""


@dataclass(frozen=True)
class _Alive:
    """What the front end waits for on the pipe that a rank holds open."""

    state: RankState


class JobStep:
    """A launcher's process and the ranks under it."""

    def __init__(
        self,
        command: list[str],
        environment: Mapping[str, str],
        pages: Path,
        ranks: int,
        startup: float,
        ending: float = SLOW_LAUNCHER,
    ) -> None:
        """`ending`: seconds that the processes may take once the ranks have finished."""
        self._pages, self._startup, self._ending = pages, startup, ending
        self._seen = Events(ranks, host_name(), longest_file=longest_file())
        self.outcome = Outcome()
        self.ucx_log = UcxLog()
        self._partial = {"out": b"", "err": b""}
        self._reader = MessageReader()
        self._death = False
        self._handles: set[int] = set()
        self._last_sign = time.monotonic()
        self._waits: dict[int, tuple[float, float]] = {}
        """A moment without progress for each process here, and the seconds waited for CPUs by then."""
        self._segments: set[Path] = set()
        """Shared memory of this host's ranks, as the first one died: its launcher kills the others."""
        self._closed: list[RankState] = []
        """Ranks that have closed their pipe, in that order."""
        self._progress: dict[int, tuple[int, int]] = {}
        """Iterations and stages that each rank of this host has begun."""
        self._selector = selectors.DefaultSelector()
        self.bound: Bound | None = None
        """Ends messages() with the time of its plan: then `outcome` is LATE, or a hang if nothing moves."""
        since = time.time()
        self._process = subprocess.Popen(
            dies_with_parent(command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        # Without it a run that is killed now leaves the launcher's folder, and nothing else is lost.
        with suppress(OSError):
            temporary = Path(environment.get("TMPDIR") or "/tmp")
            shm_cleanup.list_launcher(pages, self._process.pid, temporary, ranks, since)
        self._seen.launcher = f"{Path(command[0]).name} (pid {self._process.pid})"
        self._launchers = {self._process.pid}
        """The launcher, and what it has started the ranks of this host with."""
        for name, pipe in (("out", self._process.stdout), ("err", self._process.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def messages(self) -> Generator[Received, None, None]:
        """Every message of rank 0 until the job step has ended; then `outcome` says how.

        Raises KeyboardInterrupt where a signal ends it.
        """
        self._last_sign = time.monotonic()
        try:
            yield from self._watch()
        finally:
            self._end()

    @property
    def ended(self) -> bool:
        """Has the launcher come to its end?"""
        return self._process.poll() is not None

    def ask_to_stop(self) -> None:
        """Lets the ranks tell the figures that are under way, and no others."""
        ask_to_stop(self._pages)

    def _watch(self) -> Iterator[Received]:
        first_report = latest_report = first_death = 0.0
        reported = 0
        while True:
            ended = self.ended
            yield from self._messages(0.0 if ended else interrupts.POLL_S)
            interrupts.check()
            now = time.monotonic()
            if first_death and now - first_death > self._patience():
                ended = True
            states = read_pages(self._pages)
            if ended:
                # A launcher may have come to its end before the rank for which it ended the job.
                if not self._death and (first := self._first_closed()):
                    self._died([first])
                return self._diagnose(states)
            self._follow(states)
            for state in states:
                self._note_progress(state, now)
            # A rank that only waits for others of which it cannot see all says nothing about them.
            telling = sum(not report.waits for report in self._seen.reports.values())
            first_report = (first_report or now) if telling else 0.0
            if telling != reported:
                reported, latest_report = telling, now
            waited = first_report and (
                now - latest_report > self._grace(states) or now - first_report > MAX_GRACE
            )
            first_death = first_death or (now if self._death or self._seen.errors else 0.0)
            quiet = now - self._last_sign
            starved = self._starved(states, quiet, now)
            halted = any(state.stopped or state.gone for state in states)
            if self.bound and self.bound.left < 0 and not self._seen.finished:
                if self._seen.roster and quiet * (1 - starved) > (SHORT_QUIET if halted else HUNG_S):
                    self._wake(states)
                    self._diagnose(states, quiet)
                    self.outcome.text += f"; {self.bound} was over"
                    return
                elif now > self.bound.end:
                    moving = "" if quiet < SHORT_QUIET else f"no progress for {quiet:.0f} s"
                    self.outcome = Outcome(
                        LATE, moving if self._seen.roster else "its ranks had not all started"
                    )
                    return
            if waited or quiet > self._limit(states):
                silent = bool(first_report) and now - latest_report > LONG_GRACE and self._silent(states)
                if quiet * (1 - starved) < self._least_limit(states) and not silent:
                    continue
                self._wake(states)
                return self._diagnose(states, quiet)

    def _starved(self, states: list[RankState], quiet: float, now: float) -> float:
        """The share of the quiet time in which a rank of this host could run, but got no CPU: the worst."""
        if quiet < SHORT_QUIET:
            self._waits = {}
        # Those will not go on, whatever the others wait for.
        if quiet < SHORT_QUIET or any(state.stopped or state.gone for state in states):
            return 0.0
        share = 0.0
        for state in states:
            waited = waited_for_cpu(state.pid)
            since, before = self._waits.setdefault(state.pid, (now, waited))
            if now - since >= SHORT_QUIET:
                share = max(share, (waited - before) / (now - since))
        return min(share, MAX_STARVED)

    def _silent(self, states: list[RankState]) -> bool:
        """Does a rank of another host say nothing where others report? That takes hardly any CPU time."""
        heard = {*self._seen.reports, *(state.rank for state in states)}
        return len(heard) < self._seen.ranks

    @staticmethod
    def _least_limit(states: list[RankState]) -> float:
        """Seconds in which the ranks of this host must get somewhere, if they get a CPU."""
        return min((state.timeout for state in states if state.timeout > 0), default=0.0)

    def _grace(self, states: list[RankState]) -> float:
        """Ranks that wait for a CPU report late; one that is stopped, or a lost host, is at one place."""
        heard = {*self._seen.reports, *(state.rank for state in states)}
        hosts = {rank_identity.host for rank, rank_identity in self._seen.roster.items() if rank not in heard}
        return GRACE if len(hosts) <= 1 else LONG_GRACE

    def _note_progress(self, state: RankState, now: float) -> None:
        """A rank that goes on was slow, and does not hang: what it reported of itself counts no more."""
        at = (state.iteration, state.stages)
        if self._progress.setdefault(state.rank, at) != at:
            self._progress[state.rank], self._last_sign = at, now
            self._seen.reports.pop(state.rank, None)

    def _messages(self, wait: float) -> Iterator[Received]:
        """Takes in what ranks report of themselves; yields what the recorder needs."""
        for message in self._receive(wait):
            if isinstance(message, RankReport) and message.kind == "stuck":
                self._seen.reports[message.rank] = with_call(message)
                continue
            self._last_sign = time.monotonic()
            match message:
                case RankReport():
                    self._note_crash(message)
                    continue
                case RankError():
                    self._seen.errors.append(message)
                    continue
                case Hello():
                    self._seen.mpi = title_of(message.mpi.get("vendor", ""), message.mpi.get("version", ""))
                    for rank in message.ranks:
                        self._seen.roster[rank["rank"]] = RankIdentity(
                            rank["rank"], rank["host"], rank["pid"]
                        )
                case RankAddresses():
                    self._seen.addresses[message.host] = message.addresses
                    continue
                case Done():
                    self._seen.finished = True
                    # Each rank has gone on since.
                    self._seen.reports.clear()
            yield message
            # While the message was recorded, on a slow disk for long, nobody listened to the ranks.
            self._last_sign = time.monotonic()

    def _note_crash(self, report: RankReport) -> None:
        self._note_segments()
        self._seen.crashes.append(report)
        if self._closed or self._death:
            self._seen.crashed_after_a_death.add(report.rank)

    def _note_segments(self) -> None:
        pids = (state.pid for state in read_pages(self._pages) if not state.gone)
        self._segments |= shm_cleanup.segments_of(*pids)

    def _limit(self, states: list[RankState]) -> float:
        """Seconds of silence after which the step is taken to hang, though no rank reported."""
        if not self._seen.roster:
            return self._startup + 5.0
        if not states and self._stopped_launchers():
            return SLOW_LAUNCHER
        limit = max([state.timeout for state in states], default=self._startup) + 5.0
        if len(states) < self._seen.ranks:
            limit += min((state.waits for state in states), default=0.0)
        return max(limit, self._patience())

    def _patience(self) -> float:
        """Seconds that the launcher may take to end a job one of whose ranks has ended."""
        return self._ending if self._seen.finished else SLOW_LAUNCHER

    def _receive(self, wait: float) -> Iterator[Received]:
        ready = [key for key, _ in self._selector.select(wait)]
        # A message and the end of a rank that are seen at once: the pipe is the quicker way.
        self._closed += [key.data.state for key in ready if isinstance(key.data, _Alive)]
        for key in ready:
            if isinstance(key.data, str):
                yield from self._read(key.fileobj, key.data)  # type: ignore[arg-type]
            else:
                self._selector.unregister(key.fileobj)
                os.close(key.fd)
        if ended := [key.data for key in ready if isinstance(key.data, RankState)]:
            self._died([self._first_closed() or ended[0]])

    def _read(self, pipe: BinaryIO, name: str) -> Iterator[Received]:
        while True:
            try:
                data = os.read(pipe.fileno(), 1 << 16)
            except BlockingIOError:
                return
            if not data:
                with suppress(KeyError):
                    self._selector.unregister(pipe)
                return
            *lines, rest = (self._partial[name] + data).split(b"\n")
            # No message has such a line; a library that prints without end must not fill the memory.
            self._partial[name] = rest[-LONGEST_LINE:]
            for raw in lines:
                printed, message = self._reader.read(raw.decode(errors="replace"))
                if printed.strip() and not self.ucx_log.take(printed):
                    self._seen.log.append(printed.rstrip()[:2000])
                if message is not None:
                    yield message

    def _follow(self, states: list[RankState]) -> None:
        """Waits on each local rank's process too, so that the first to die is known."""
        missed = []
        for state in states:
            if state.pid in self._handles or state.rank in self._seen.reports:
                continue
            self._handles.add(state.pid)
            with suppress(OSError):
                alive = os.open(alive_file(self._pages, state.rank), os.O_RDONLY | os.O_NONBLOCK)
                self._selector.register(alive, selectors.EVENT_READ, _Alive(state))
            with suppress(OSError):
                handle = os.pidfd_open(state.pid)
                self._selector.register(handle, selectors.EVENT_READ, state)
            if process_state(state.pid) in GONE:
                missed.append(state)
            else:
                self._seen.watched.add(state.rank)
                self._launchers.add(parent(state.pid))
        self._died(missed)

    def _first_closed(self) -> RankState | None:
        """The rank that was first to close its pipe, if its process has come to its end, too.

        epoll lists events in the order in which they came, however late it is asked. The end of a process
        is too late a sign: MPICH's launcher kills the others as soon as a socket of the first one closes.
        """
        first = next(iter(self._closed), None)
        deadline = time.monotonic() + EXITING
        while first and process_state(first.pid) not in GONE:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.01)
        return first

    def _died(self, ended: list[RankState]) -> None:
        """The first to end is known where one has ended before all others."""
        if ended and not self._death:
            self._note_segments()
            self._death, self._seen.seen_to_die = True, ended[0] if len(ended) == 1 else None

    def _diagnose(self, states: list[RankState], quiet: float | None = None) -> None:
        """`quiet`: seconds without progress, of a hang; None: the launcher has ended, or a rank has."""
        crashed = {report.rank for report in self._seen.crashes}
        # The kernel closes what a killed rank held before it is gone: its peer's last words may come earlier.
        if self._closed and self._closed[0].rank not in crashed:
            self._seen.crashed_after_a_death |= crashed
        self._seen.states = {state.rank: state for state in states}
        self._seen.code, self._seen.quiet = self._process.poll(), quiet
        stopped = self._stopped_launchers()
        self._seen.stopped_launchers = [f"{command_name(pid)} (pid {pid})" for pid in stopped]
        self.outcome = diagnose(self._seen)

    def _wake(self, states: list[RankState]) -> None:
        """Wakes stopped ranks just long enough to name their frames."""
        for state in states:
            if state.rank not in self._seen.reports and not state.gone:
                ask_for_stack(self._pages / f"{state.rank}.page")
                self._signal(state.pid, signal.SIGRTMIN + 7)
                if state.stopped:
                    self._signal(state.pid, signal.SIGCONT)
        deadline = time.monotonic() + 1.2
        while time.monotonic() < deadline and any(state.rank not in self._seen.reports for state in states):
            for _ in self._messages(0.1):
                pass

    def _stopped_launchers(self) -> list[int]:
        return [pid for pid in sorted(self._launchers) if process_state(pid) in STOPPED]

    @staticmethod
    def _signal(pid: int, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)

    def _end(self) -> None:
        """Leaves no process of this step behind."""
        ranks = [state.pid for state in read_pages(self._pages) if not state.gone]
        self._note_segments()
        if self._process.poll() is None:
            self._signal(self._process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
        for pid in (*ranks, *self._stopped_launchers()):
            self._signal(pid, signal.SIGKILL)
        if self._process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(2.0)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        deadline = time.monotonic() + 2.0
        while any(process_state(pid) not in GONE for pid in ranks) and time.monotonic() < deadline:
            time.sleep(0.01)
        for handle in list(self._selector.get_map().values()):
            if isinstance(handle.data, (RankState, _Alive)):
                os.close(handle.fd)
        self._selector.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()
        # The last rank may take the folder away while it is being listed.
        with suppress(OSError):
            shm_cleanup.remove_listed(self._pages)
        try_to_remove_folder(self._pages)
        # A rank may have come to use more since it wrote its list.
        shm_cleanup.remove_unused(self._segments)
