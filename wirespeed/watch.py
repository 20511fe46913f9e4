"""Watches one job step: passes on what its ranks say, and names the rank that hung or died."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from wirespeed import leftovers
from wirespeed.messages import Message, parse
from wirespeed.page import RankState, ask_for_stack, process_state, read_pages
from wirespeed.process import die_with_parent

GRACE = 1.5
"""Seconds for the other ranks to report once one has."""
SLOW_LAUNCHER = 8.0
"""Seconds that a launcher may take to end a job one of whose ranks has died."""

_LAUNCHER_SAYS = (
    re.compile(r"rank (?P<rank>\d+) with PID (?P<pid>\d+) on node \S+ exited on signal (?P<signal>\d+)"),
    re.compile(r"PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)[\s\S]*?EXIT CODE: (?P<signal>\d+)"),
    re.compile(r"RANK (?P<rank>\d+) PID (?P<pid>\d+) RUNNING AT \S+[\s\S]*?KILLED BY SIGNAL: (?P<signal>\d+)"),
    re.compile(r"task (?P<rank>\d+): (?:Killed|Exited with exit code (?P<code>\d+))"),
)


@dataclass
class Outcome:
    """How a job step ended."""

    what: str = "ok"
    """ok, crash, hang, death, error or interrupted."""
    text: str = ""
    rank: int | None = None
    host: str | None = None
    call: str | None = None
    bytes: int | None = None
    round: int | None = None
    fault: str = ""
    code: int = 0
    """The exit code that the failing rank asked for."""
    stacks: list[dict[str, Any]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


class JobStep:
    """A launcher's process and the ranks under it."""

    def __init__(
        self, command: list[str], environment: Mapping[str, str], pages: Path, ranks: int, startup: float
    ) -> None:
        self._pages, self._ranks, self._startup = pages, ranks, startup
        self.outcome = Outcome()
        self._segments = leftovers.segments()
        self._log: deque[str] = deque(maxlen=400)
        self._partial = {"out": b"", "err": b""}
        self._finished = self._greeted = False
        self._reports: dict[int, Message] = {}
        self._errors: list[Message] = []
        self._crashes: list[Message] = []
        self._dead: list[RankState] = []
        self._first_alone = False
        self._handles: dict[int, RankState] = {}
        self._selector = selectors.DefaultSelector()
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        for name, pipe in (("out", self._process.stdout), ("err", self._process.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def messages(self) -> Iterator[Message]:
        """Every message of rank 0 until the job step has ended; then `outcome` says how."""
        try:
            yield from self._watch()
        finally:
            self._end()

    def _watch(self) -> Iterator[Message]:
        last_sign = time.monotonic()
        progress: object = None
        first_report = first_death = 0.0
        while True:
            for message in self._receive(0.1):
                last_sign = time.monotonic()
                if message["kind"] == "stuck":
                    self._reports[message["rank"]] = message
                elif message["kind"] == "crash":
                    self._crashes.append(message)
                elif message["kind"] == "error":
                    self._errors.append(message)
                elif message["kind"] == "done":
                    self._finished = True
                else:
                    self._greeted = self._greeted or message["kind"] == "hello"
                    yield message
            if self._process.poll() is not None:
                for message in self._receive(0.0):
                    if message["kind"] not in ("stuck", "crash", "error", "done"):
                        yield message
                    self._finished = self._finished or message["kind"] == "done"
                    if message["kind"] == "crash":
                        self._crashes.append(message)
                    if message["kind"] == "error":
                        self._errors.append(message)
                return self._judge_end()
            now = time.monotonic()
            states = read_pages(self._pages)
            self._follow(states)
            if (seen := [(state.rank, state.round, state.beat) for state in states]) != progress:
                progress, last_sign = seen, now
            if self._reports and not first_report:
                first_report = now
            if (self._dead or self._errors) and not first_death:
                first_death = now
            if first_death and now - first_death > SLOW_LAUNCHER:
                return self._judge_end()
            limit = self._limit(states)
            if (first_report and now - first_report > GRACE) or now - last_sign > limit:
                return self._judge_hang(states, now - last_sign)

    def _limit(self, states: list[RankState]) -> float:
        """Seconds of silence after which the step is taken to hang, though no rank reported."""
        if not self._greeted:
            return self._startup + 5.0
        return max([state.timeout for state in states], default=self._startup) + 5.0

    def _receive(self, wait: float) -> Iterator[Message]:
        ready = self._selector.select(wait)
        if not self._dead:
            # Several at once: the launcher has already killed the rest, and the order says nothing.
            self._first_alone = sum(isinstance(key.data, RankState) for key, _ in ready) == 1
        for key, _ in ready:
            if isinstance(key.data, RankState):
                self._selector.unregister(key.fileobj)
                os.close(key.fd)
                self._dead.append(key.data)
                continue
            yield from self._read(key.fileobj, key.data)  # type: ignore[arg-type]

    def _read(self, pipe: BinaryIO, name: str) -> Iterator[Message]:
        while True:
            try:
                data = os.read(pipe.fileno(), 1 << 16)
            except BlockingIOError:
                return
            if not data:
                with suppress(KeyError):
                    self._selector.unregister(pipe)
                return
            *lines, self._partial[name] = (self._partial[name] + data).split(b"\n")
            for raw in lines:
                printed, message = parse(raw.decode(errors="replace"))
                if printed.strip():
                    self._log.append(printed.rstrip()[:2000])
                if message is not None:
                    yield message

    def _follow(self, states: list[RankState]) -> None:
        """Waits on each local rank's process too, so that the first to die is known."""
        for state in states:
            if state.pid in self._handles or state.rank in self._reports:
                continue
            self._handles[state.pid] = state
            with suppress(OSError):
                handle = os.pidfd_open(state.pid)
                self._selector.register(handle, selectors.EVENT_READ, state)

    def _judge_end(self) -> None:
        """The launcher has ended, or a rank has: what happened?"""
        outcome = self.outcome
        outcome.log = list(self._log)[-40:]
        states = {state.rank: state for state in read_pages(self._pages)}
        if self._crashes:
            crash = self._crashes[0]
            self._blame(crash["rank"], crash["host"], crash["call"], crash["bytes"], crash["round"])
            outcome.what, outcome.fault = "crash", crash["fault"]
            where = f" in {crash['fault']}" if crash["fault"] else ""
            outcome.text = f"rank {crash['rank']} on {crash['host']} was {crash['state']}{where}" + (
                f", called from {crash['call']}" if crash["call"] else ""
            )
            outcome.stacks = [_stack(message) for message in self._crashes]
            return
        if self._errors:
            first = self._errors[0]
            outcome.what, outcome.text, outcome.rank = "error", first["text"], first["rank"]
            outcome.code = first.get("code", 1)
            outcome.stacks = [{"rank": first["rank"], "python": first.get("python", [])}]
            if first["rank"] in states:
                outcome.bytes = states[first["rank"]].bytes
            return
        if self._finished:
            return  # the figures are complete; a launcher that grumbles at the end does not spoil them
        self._judge_death(states, self._process.poll())

    def _judge_death(self, states: dict[int, RankState], code: int | None) -> None:
        outcome = self.outcome
        outcome.what = "death"
        said = self._launcher_said()
        dead = None
        if self._dead and self._first_alone:
            dead = states.get(self._dead[0].rank, self._dead[0])
        elif said:
            dead = next(
                (s for s in states.values() if str(s.pid) == said.get("pid") or str(s.rank) == said.get("rank")),
                None,
            )
        if dead is None and self._dead:
            dead = states.get(self._dead[0].rank, self._dead[0])
        number = int(said["signal"]) if said and (said.get("signal") or "").isdigit() else 0
        how = f"was killed by signal {number}" if 0 < number < 65 else "died"
        if dead is not None:
            self._blame(dead.rank, dead.host, dead.call, dead.bytes, dead.round)
            outcome.text = f"rank {dead.rank} on {dead.host} (pid {dead.pid}) {how} {dead.where()}"
        elif self._greeted or self._handles:
            outcome.text = f"the launcher ended (exit code {code}) before the ranks were done"
        else:
            hint = next((line for line in self._log if line.strip() and not line.startswith("---")), "it said nothing")
            outcome.what = "error"
            outcome.text = f"the launcher could not start the ranks (exit code {code}): {hint.strip()[:200]}"

    def _launcher_said(self) -> dict[str, str | None] | None:
        text = " ".join(self._log)  # launchers wrap their sentences
        for pattern in _LAUNCHER_SAYS:
            if match := pattern.search(text):
                return match.groupdict()
        return None

    def _judge_hang(self, states: list[RankState], silent: float) -> None:
        outcome = self.outcome
        outcome.what = "hang"
        if not states and not self._reports:
            outcome.text = f"the ranks did not start within {silent:.0f} s"
            outcome.log = list(self._log)[-40:]
            return
        stopped = [state for state in states if state.stopped]
        for state in states:
            if state.rank not in self._reports and not state.gone:
                ask_for_stack(self._pages / f"{state.rank}.page")
                self._signal(state.pid, signal.SIGRTMIN + 7)
                if state.stopped:
                    self._signal(state.pid, signal.SIGCONT)
        deadline = time.monotonic() + 1.2
        while time.monotonic() < deadline and any(state.rank not in self._reports for state in states):
            for message in self._receive(0.1):
                if message["kind"] == "stuck":
                    self._reports[message["rank"]] = message
        outcome.stacks = [_stack(self._reports[rank]) for rank in sorted(self._reports)]
        outcome.log = list(self._log)[-40:]
        self._name_hang(states, stopped, silent)

    def _name_hang(self, states: list[RankState], stopped: list[RankState], silent: float) -> None:
        gone = [state for state in states if state.gone]
        heard = sorted(self._reports.values(), key=lambda report: (report["round"], report["rank"]))
        for state, word in [(s, "is stopped (SIGSTOP)") for s in stopped] + [(s, "is gone") for s in gone]:
            others = [s for s in states if s.rank != state.rank and s.call]
            waiting = f"; rank {others[0].rank} waits {others[0].where()}" if others else ""
            self._blame(state.rank, state.host, state.call, state.bytes, state.round)
            self.outcome.text = f"rank {state.rank} on {state.host} (pid {state.pid}) {word} {state.where()}{waiting}"
            return
        missing = [rank for rank in range(self._ranks) if rank not in self._reports and self._reports]
        if missing and not any(state.rank in missing for state in states):
            rank = missing[0]
            self.outcome.rank = rank
            waiting = heard[0]
            self.outcome.call = waiting["call"]
            self.outcome.bytes, self.outcome.round = waiting["bytes"], waiting["round"]
            self.outcome.text = (
                f"rank {rank} is silent (stopped, or its host is cut off); rank {waiting['rank']} on "
                f"{waiting['host']} waits in {waiting['call'] or 'set-up'}, {waiting['bytes']} B, round {waiting['round']}"
            )
            return
        if heard:
            first = heard[0]
            self._blame(first["rank"], first["host"], first["call"], first["bytes"], first["round"])
            sits = f"in {first['call']}" if first["call"] else "between calls"
            if first["peer"] >= 0:
                sits += f" with rank {first['peer']}"
            fault = f" ({first['fault']})" if first["fault"] else ""
            self.outcome.text = (
                f"no progress for {silent:.0f} s: rank {first['rank']} on {first['host']} (pid {first['pid']}) "
                f"sits {sits}{fault}, {first['bytes']} B, round {first['round']}"
            )
        elif states:
            slowest = min(states, key=lambda state: (state.round, state.rank))
            self._blame(slowest.rank, slowest.host, slowest.call, slowest.bytes, slowest.round)
            self.outcome.text = (
                f"no progress for {silent:.0f} s: rank {slowest.rank} on {slowest.host} (pid {slowest.pid}) "
                f"sits {slowest.where()}"
            )

    def _blame(self, rank: int, host: str, call: str | None, size: int, rounds: int) -> None:
        outcome = self.outcome
        outcome.rank, outcome.host, outcome.call = rank, host, call
        outcome.bytes, outcome.round = size, rounds

    @staticmethod
    def _signal(pid: int, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)

    def _end(self) -> None:
        """Leaves no process of this step behind."""
        ranks = [state.pid for state in read_pages(self._pages) if not state.gone]
        if self._process.poll() is None:
            self._signal(self._process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
        for pid in ranks:
            self._signal(pid, signal.SIGKILL)
        if self._process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(2.0)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        deadline = time.monotonic() + 2.0
        while any(process_state(pid) not in ("", "Z") for pid in ranks) and time.monotonic() < deadline:
            time.sleep(0.01)
        for handle in list(self._selector.get_map().values()):
            if isinstance(handle.data, RankState):
                os.close(handle.fd)
        self._selector.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()
        for file in self._pages.glob("*"):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            self._pages.rmdir()
        leftovers.remove_new(self._segments)


def _stack(message: Message) -> dict[str, Any]:
    names = ("rank", "host", "pid", "state", "call", "peer", "native", "python")
    return {name: message.get(name) for name in names}
