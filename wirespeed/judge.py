"""What happened to a job step, in one line: who crashed, died or hung, where, and how we know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from wirespeed.messages import Message
from wirespeed.page import RankState
from wirespeed.units import format_size

_LAUNCHER_SAYS = (
    re.compile(r"rank (?P<rank>\d+) with PID (?P<pid>\d+) on node \S+ exited on signal (?P<signal>\d+)"),
    re.compile(r"RANK (?P<rank>\d+) PID (?P<pid>\d+) RUNNING AT \S+.*?KILLED BY SIGNAL: (?P<signal>\d+)"),
    re.compile(r"PID (?P<pid>\d+) RUNNING AT \S+.*?EXIT CODE: (?P<signal>\d+)"),
    re.compile(r"task (?P<rank>\d+): Killed"),
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

    def blame(self, one: Message | RankState) -> None:
        """Takes the place from a rank's own report, or from its page."""
        if isinstance(one, RankState):
            self.rank, self.host, self.call = one.rank, one.host, one.call
            self.bytes, self.round = one.bytes, one.round
            if one.path in ("start", "end"):
                self.bytes = self.round = None
        else:
            self.rank, self.host, self.call = one["rank"], one["host"], one["call"]
            self.bytes, self.round = one["bytes"], one["round"]


def stack(message: Message) -> dict[str, Any]:
    """The part of a rank's report that the record keeps."""
    names = ("rank", "host", "pid", "state", "call", "peer", "native", "python")
    return {name: message.get(name) for name in names}


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
    if first["rank"] in states:
        outcome.bytes = states[first["rank"]].bytes
    return outcome


def died(
    states: dict[int, RankState],
    first_dead: RankState | None,
    started: bool,
    code: int | None,
    log: Sequence[str],
) -> Outcome:
    """The launcher ended, or a rank did, before the work was done.

    `first_dead`: the one that was seen to die before the others; without it the launcher's own words count.
    """
    outcome = Outcome("death")
    said = _launcher_said(log)
    dead = states.get(first_dead.rank, first_dead) if first_dead else None
    if dead is None and said:
        pid, rank = said.get("pid"), said.get("rank")
        dead = next((s for s in states.values() if str(s.pid) == pid or str(s.rank) == rank), None)
    number = (said or {}).get("signal") or ""
    how = f"was killed by signal {number}" if number.isdigit() and 0 < int(number) < 65 else "died"
    if dead is not None:
        outcome.blame(dead)
        outcome.text = f"rank {dead.rank} on {dead.host} (pid {dead.pid}) {how} {dead.where()}"
    elif started:
        outcome.text = f"the launcher ended (exit code {code}) before the ranks were done"
    else:
        lines = (line.strip() for line in log)
        hint = next((line for line in lines if line and not line.startswith("---")), "it said nothing")
        outcome.what = "error"
        outcome.text = f"the launcher could not start the ranks (exit code {code}): {hint[:200]}"
    return outcome


def _launcher_said(log: Sequence[str]) -> dict[str, str | None] | None:
    text = " ".join(log)  # launchers wrap their sentences
    for pattern in _LAUNCHER_SAYS:
        if match := pattern.search(text):
            return match.groupdict()
    return None


def hung(states: Sequence[RankState], reports: dict[int, Message], ranks: int, silent: float) -> Outcome:
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
        outcome.rank, outcome.host = missing[0], None
        outcome.text = (
            f"rank {missing[0]} is silent (stopped, or its host is cut off); rank {heard[0]['rank']} on "
            f"{heard[0]['host']} waits {_where(heard[0])}"
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
    else:
        outcome.text = f"the ranks did not start within {silent:.0f} s"
    return outcome


def _where(report: Message) -> str:
    call = f"in {report['call']}" if report["call"] else "between calls"
    peer = f" with rank {report['peer']}" if report["peer"] >= 0 else ""
    return f"{call}{peer}, {format_size(report['bytes'])}, round {report['round']}"
