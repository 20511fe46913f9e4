"""Measures a fleet part by part, each in one launch, and repeats what died without the silent nodes.

Nothing here starts a process: the caller says what measures a plan.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirespeed.errors import ExitCode, WirespeedError, gravest
from wirespeed.fleet.again import Suspected, parts_again
from wirespeed.fleet.parts import FleetPart, FleetPlan, parts
from wirespeed.fleet.state import FleetState, SilentNode
from wirespeed.host.temporary import temporary_folder
from wirespeed.job.plan import Plan
from wirespeed.results.model import End, Entry, Event, Failure, Head, StepRecord
from wirespeed.results.reading import read
from wirespeed.results.recorder import Observer, now
from wirespeed.units import duration

MAX_ATTEMPTS = 6
"""Launches of one part."""
MAX_UNEXPLAINED = 3
"""Launches of one part that may die without a silent node."""
Measure = Callable[[Plan, Observer], ExitCode]


@dataclass
class Campaign:
    """A run in a folder, which may have begun before."""

    plan: FleetPlan
    state: FleetState
    measure: Measure
    say: Callable[[str], None]
    """Takes a line for the user."""
    suspects: Callable[[], Suspected] | None = None
    """Judges what was measured, so that what is suspicious is measured again; None: nothing is."""
    doing: Callable[[str, float | None], None] = lambda _text, _left: None
    """Takes what is under way, and the seconds that it will take, if that is known."""
    has_time: Callable[[], bool] = lambda: True
    """Is there time for another launch?"""
    clock: Callable[[], float] = time.monotonic
    failed: list[str] = field(default_factory=list)
    """Titles of the parts that lack figures."""
    late: list[str] = field(default_factory=list)
    """Titles of those for which there was no time."""
    coming: int = 1
    """Launches that share the time that is left, with the one under way."""
    fastest: float = 0.0
    """Bytes per second of the fastest pair of nodes."""
    _order: list[str] = field(default_factory=list)
    """Hosts by their ranks."""
    _lacking: set[tuple[bool, str]] = field(default_factory=set)
    """(between nodes?, path) of each path that was said to be unavailable there."""

    @property
    def answering(self) -> list[str]:
        """The hosts that are not silent, by their ranks."""
        return [host for host in self._order or self.plan.hosts if host not in self.state.names]

    def run(self) -> ExitCode:
        """Measures every part that has no complete file yet, then suspects again. Raises WirespeedError."""
        code = self._measure(list(parts(self.plan)))
        if code != ExitCode.INTERRUPTED and self.suspects:
            what = self.suspects()
            again = list(parts_again(self.plan, what, self.answering))
            if again:
                several = what.count > 1
                self.say(
                    f"{what.count} suspect{'s' if several else ''}, slow in too few launches to be named: "
                    f"measured again with others, in {len(again)} more launch{'es' if len(again) > 1 else ''}"
                )
                code = gravest(code, self._measure(again))
        if code == ExitCode.INTERRUPTED:
            return code
        return gravest(code, ExitCode.FAILED_ENTRY) if self.failed else ExitCode.OK

    def _measure(self, every: Sequence[FleetPart]) -> ExitCode:
        """Those parts that have no complete file yet."""
        missing = [part for part in every if not self._complete(part)]
        if missing and len(missing) < len(every):
            self.say(f"{len(every) - len(missing)} of {len(every)} launches are there already")
        begun, code = self.clock(), ExitCode.OK
        for done, part in enumerate(missing):
            self.coming = left = len(missing) - done
            if not self.has_time():
                self.late += [part.title for part in missing[done:]]
                break
            spent = self.clock() - begun
            nodes = len(part.of(self.answering))
            self.doing(f"{part.title} on {nodes} nodes", spent / done * left if done else None)
            code = gravest(code, self._measured(part))
            if code == ExitCode.INTERRUPTED:
                return code
            spent = self.clock() - begun
            self.say(
                f"{part.title}: {'figures are missing' if part.title in self.failed else 'measured'}  "
                f"[{done + 1} of {len(missing)}, {duration(spent)} so far, "
                f"about {duration(spent / (done + 1) * (left - 1))} left]"
            )
        return code

    def _measured(self, part: FleetPart) -> ExitCode:
        """Measures a part; again without the nodes that turn out to be silent."""
        named_before: set[str] = set()
        unexplained = 0
        for _ in range(MAX_ATTEMPTS):
            hosts = part.of(self.answering)
            plan = self.plan.plan(part, hosts) if len(hosts) > 1 else None
            if plan is None:
                # Each of its pairs has a silent node.
                return ExitCode.OK
            records: list[Event] = []
            code = self._launch(replace(plan, out=str(self._next_file(part))), records)
            self._take(records, hosts, part)
            self._say_unavailable(records, part)
            dead = deaths(records)
            if code == ExitCode.INTERRUPTED:
                return code
            if not dead:
                late = code == ExitCode.UNAVAILABLE and not self.has_time()
                if code != ExitCode.OK:
                    (self.late if late else self.failed).append(part.title)
                return ExitCode.OK if late else code
            self.say(f"{part.title}: {dead[0].text}")
            silent = self._silent(dead[0], hosts, part, named_before)
            answering = len(self.answering) - len(silent)
            if 2 * answering < len(self.plan.hosts):
                text = f"{len(self.plan.hosts) - answering} of {len(self.plan.hosts)} nodes"
                raise WirespeedError(f"{text} do not answer; last: {dead[0].text}", ExitCode.FAILED_ENTRY)
            for node, why in silent.items():
                self.state.add(SilentNode(node, part.title, why, now()))
                self.say(f"{node} is silent and left out from now on; {part.title} is repeated without it")
            unexplained += not silent
            if unexplained >= MAX_UNEXPLAINED:
                break
            if not silent:
                self.say(f"no node is silent; {part.title} is repeated as it was")
        self.failed.append(part.title)
        return ExitCode.FAILED_ENTRY

    def _silent(
        self, death: Failure, hosts: Sequence[str], part: FleetPart, before: set[str]
    ) -> dict[str, str]:
        """The nodes that a launch died of, and why. `before`: suspects of this part that answered.

        A suspect that answers is blamed only if it is one again and every other node answers, too: where the
        launcher ends a launch, it may name a node that has only lost another one.
        """
        if found := unanswering(death, hosts, part.each):
            return dict.fromkeys(found, death.text)
        suspected = suspects(death, hosts, part.each)
        found = [host for host in suspected if not self._answers([host])]
        found = found or self._silent_among(hosts, known=not suspected)
        again = [host for host in suspected if host in before]
        before.update(suspected)
        if found:
            return dict.fromkeys(found, "it does not answer when it is launched by itself")
        return dict.fromkeys(again, f"{death.text} (twice)")

    def _silent_among(self, hosts: Sequence[str], known: bool = False) -> list[str]:
        """By halves. `known`: that these do not all answer, or not together."""
        if not known and self._answers(hosts):
            return []
        if len(hosts) == 1:
            return list(hosts)
        middle = len(hosts) // 2
        return [*self._silent_among(hosts[:middle]), *self._silent_among(hosts[middle:])]

    def _answers(self, hosts: Sequence[str]) -> bool:
        self.doing(f"looking for silent nodes among {hosts[0]} and {len(hosts) - 1} more", None)
        records: list[Event] = []
        with temporary_folder("fleet") as folder:
            code = self._launch(replace(self.plan.probe(hosts), out=str(folder / "probe.jsonl")), records)
        if code == ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        return not deaths(records)

    def _launch(self, plan: Plan, records: list[Event]) -> ExitCode:
        return self.measure(plan, records.append)

    def _take(self, records: Sequence[Event], hosts: Sequence[str], part: FleetPart) -> None:
        """What a launch, now or before, tells of the hosts' ranks and of the fastest pair."""
        order = by_rank(records, hosts, part.each)
        self._order = [*order, *(host for host in self.plan.hosts if host not in order)]
        if part.round is not None:
            entries = (record for record in records if isinstance(record, Entry) and not record.impossible)
            rates = [
                entry.amount / team.seconds for entry in entries for team in entry.teams if team.seconds > 0
            ]
            self.fastest = max([self.fastest, *rates])

    def _say_unavailable(self, records: Sequence[Event], part: FleetPart) -> None:
        """Once for all rounds."""
        for record in records:
            if isinstance(record, Failure) and record.what == "unavailable":
                key = part.round is not None, record.path
                if key not in self._lacking:
                    self.say(f"{part.title}: {record.path} is not measured: {record.text}")
                self._lacking.add(key)

    def _complete(self, part: FleetPart) -> bool:
        """Has one of its files all figures? Then it is not measured again."""
        for file in self._files(part):
            with suppress(WirespeedError):
                records = read(file).records
                ends = [record for record in records if isinstance(record, End)]
                ended = any(end.status == "complete" for end in ends)
                ended &= not any(part.sizes for end in ends for part in end.left_out)
                if ended and not deaths(records) and any(isinstance(record, Entry) for record in records):
                    heads = (record for record in records if isinstance(record, Head))
                    self._take(records, next(heads).plan.hosts, part)
                    return True
        return False

    def _files(self, part: FleetPart) -> Iterator[Path]:
        """Of its launches, the first one's first."""
        for number in range(1, 10_000):
            file = self._file(part, number)
            if not file.exists():
                return
            yield file

    def _next_file(self, part: FleetPart) -> Path:
        return self._file(part, 1 + len(list(self._files(part))))

    def _file(self, part: FleetPart, number: int) -> Path:
        return self.state.folder / f"{part.name}{f'-{number}' if number > 1 else ''}.jsonl"


DIED = ("crash", "hang", "death", "error")
"""Failures that end a launch."""


def deaths(records: Iterable[Event]) -> list[Failure]:
    """Causes that ended launches."""
    return [record for record in records if isinstance(record, Failure) and record.what in DIED]


def unanswering(failure: Failure, hosts: Sequence[str], each: int) -> list[str]:
    """Hosts that a hang shows to be silent: all others reported where they wait, and these did not.

    `hosts`: by their ranks, `each` on each. Where most are silent, only the one that the diagnosis names.
    """
    reported = {stack.rank for stack in failure.stacks}
    if failure.what != "hang" or failure.rank is None or not reported or failure.rank in reported:
        return []
    speaking = {rank // each for rank in reported}
    silent = [host for place, host in enumerate(hosts) if place not in speaking]
    named = failure.rank // each
    return silent if 2 * len(silent) < len(hosts) else [*hosts[named : named + 1]]


def suspects(failure: Failure, hosts: Sequence[str], each: int) -> list[str]:
    """Hosts that may be the reason: that of the rank named, else those that the launcher's output names.

    A launcher that lists most hosts accuses none of them.
    """
    if failure.rank is not None and failure.what != "hang" and 0 <= failure.rank // each < len(hosts):
        return [hosts[failure.rank // each]]
    words = {word for line in (*failure.log, failure.text) for word in re.findall(r"[\w.-]+", line)}
    named = [host for host in hosts if host in words]
    return named if 2 * len(named) < len(hosts) else []


def by_rank(records: Iterable[Event], hosts: Sequence[str], each: int) -> list[str]:
    """The hosts in the order of their ranks: a batch system may have sorted them.

    The given order where a record names other hosts, such as those behind addresses.
    """
    known = {host.partition(".")[0]: host for host in hosts}
    for step in (record for record in records if isinstance(record, StepRecord)):
        found = [known.get(rank.host.partition(".")[0], "") for rank in step.ranks[::each]]
        if sorted(found) == sorted(hosts):
            return found
    return list(hosts)
