"""Runs: the records of a result file that belong together, which a report can ask questions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from msgspec import structs, to_builtins

from wirespeed.errors import WirespeedError
from wirespeed.limits import FAN, Ceiling, Used, ceiling, field_ceiling
from wirespeed.patterns import Pattern, find_pattern
from wirespeed.patterns.rules import VARIANTS
from wirespeed.results.contradictions import contradictions
from wirespeed.results.judgement import IMPOSSIBLE, Judged
from wirespeed.results.launches import combined, with_earlier
from wirespeed.results.model import (
    OUTPUT_OF,
    End,
    Entry,
    Event,
    Evidence,
    Failure,
    Fresh,
    Head,
    Health,
    Record,
    StepRecord,
    Wires,
)
from wirespeed.results.parts import RunRecord, Wire
from wirespeed.results.soak import Soak
from wirespeed.statistics.stopping import INTERRUPTED, Stopping

__all__ = [
    "CONDITIONS",
    "IMPOSSIBLE",
    "NO_STEP",
    "Entry",
    "Evidence",
    "Failure",
    "Record",
    "Run",
    "collect",
    "joined",
]

CONDITIONS = (
    *("pattern", "options", "background", "stopping", "device", "between"),
    *("ranks_per_gpu", "ranks", "mpi", "launcher", "hosts", "test", "allocator", "context", "profile"),
)
AS_FAST = 1.25
ONE_WAY = "one way"
"""Name of the seconds that others call latency."""
NO_STEP = StepRecord(run="", step=0, path="")


@dataclass
class Run:
    """One run of the command, as far as its records go."""

    name: str = ""
    head: Head = field(default_factory=lambda: Head(run=""))
    steps: list[StepRecord] = field(default_factory=list)
    end: End | None = None
    evidence: dict[tuple[str, int], Evidence] = field(default_factory=dict)
    health: dict[tuple[str, str], Health] = field(default_factory=dict)
    """By run and path: a resumed run has several runs' records."""
    wires: list[Wires] = field(default_factory=list)
    soaks: dict[tuple[str, int, int], Soak] = field(default_factory=dict)
    """By path, bytes and launch, as far as each has come."""
    fresh: dict[tuple[str, int, int], Fresh] = field(default_factory=dict)
    """By path, bytes and launch."""
    recorded_failures: list[Failure] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    others: list[Run] = field(default_factory=list, repr=False)
    """All runs of the file, this one among them."""
    _launches: dict[tuple[str, int], dict[int, Entry]] = field(default_factory=dict)
    """In the order measured."""
    _judged: Judged | None = field(default=None, repr=False)
    """None: records have come since."""
    _ceilings: dict[str, Ceiling | None] = field(default_factory=dict, repr=False)
    """By path, as far as the records go."""
    _answers: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What functions marked @remembered returned, as far as the records go."""

    @property
    def time_label(self) -> str:
        """Name of a figure's seconds."""
        return next((entry.timed for entry in self.figures.values() if entry.timed), ONE_WAY)

    @property
    def traits(self) -> Pattern:
        """Its pattern; of an unknown one, one with the traits of most patterns."""
        return self.pattern or find_pattern("exchange")

    @property
    def pattern(self) -> Pattern | None:
        return _pattern_of(self.head.plan.pattern)

    @property
    def changed_options(self) -> dict[str, Any]:
        """The pattern's options that are not what they are by default."""
        known = {option.key: option for option in self.pattern.options} if self.pattern else {}
        # What is in one table is told by the paths' names.
        usual = {
            key: self.options.get(key) if option.in_one_table else option.default
            for key, option in known.items()
        }
        return {name: value for name, value in self.options.items() if value != usual.get(name)}

    @property
    def pattern_words(self) -> list[str]:
        """Changed options in words: 'group 4', 'both ways'."""
        known = {option.key: option.word for option in self.pattern.options} if self.pattern else {}
        return [
            name.replace("_", " ") + ("" if value is True else f" {known.get(name, str)(value)}")
            for name, value in self.changed_options.items()
        ]

    @property
    def given_options(self) -> list[str]:
        """The same, whose memory the figures are of, and how many ranks share a GPU."""
        plan = self.head.plan
        memory = [f"allocator {plan.allocator}"] * (plan.allocator != "driver")
        memory += ["in a context of its own"] * (plan.context == "own")
        return [*self.pattern_words, *memory, *self._ranks_per_gpu]

    @property
    def _ranks_per_gpu(self) -> list[str]:
        if (number := self.head.plan.ranks_per_gpu or 1) < 2:
            return []
        by_mps = any(rank.mps == "running" for step in self.steps for rank in step.ranks)
        return [f"{number} ranks {'on' if by_mps else 'that take turns on'} each GPU"]

    @property
    def shared_gpus(self) -> bool:
        """Did ranks share GPUs, though neither --ranks-per-gpu nor --between had placed them so?"""
        plan = self.head.plan
        places = (
            [(rank.host, rank.device.id) for rank in step.ranks if rank.device and rank.device.id]
            for step in self.steps
            if step.on_gpus
        )
        return not (plan.ranks_per_gpu or plan.between) and any(len(set(own)) < len(own) for own in places)

    @property
    def background(self) -> str | None:
        """The pattern that ran at the same time."""
        return self.head.plan.background

    @property
    def slowed(self) -> str:
        """Load that slowed its figures on purpose: 'while running stream:host:16M', 'under nsys'; '':
        none.
        """
        profile = self.head.plan.profile
        words = (self.background and f"while running {self.background}", profile and f"under {profile}")
        return ", ".join(filter(None, words))

    @property
    def conditions(self) -> tuple[Any, ...]:
        """Parts of a plan that its figures depend on."""
        return tuple(getattr(self.head.plan, name) for name in CONDITIONS)

    @property
    def foreign(self) -> bool:
        """Are its figures another tool's?"""
        converted = self.head.converted
        return isinstance(converted, str) and converted.startswith(OUTPUT_OF)

    @property
    def published(self) -> bool:
        """Are published curves figures of the same pattern?"""
        return self.pattern is None or self.pattern.shown.published

    @property
    def options(self) -> dict[str, Any]:
        """The pattern's own options."""
        return dict(self.head.plan.options)

    def ceiling(self, path: str) -> Ceiling | None:
        """Limit of the wires under this path, as far as they are known.

        A program's rate is that of a rank's memory, which no wire bounds.
        """
        if path not in self._ceilings:
            self._ceilings[path] = None if self.traits.kind.program else ceiling(self._used(path))
        return self._ceilings[path]

    def field_limit(self, entry: Entry) -> Ceiling | None:
        """Limit of a program's rate: that of the GPU's memory in which its field lies, if it is known."""
        on_gpu = entry.memory_domain == "GPU"
        return field_ceiling(Used("", to_builtins(self.step(entry.path)))) if on_gpu else None

    def _used(self, path: str) -> Used:
        counted = [self.evidence[key] for key in sorted(self.evidence) if key[0] == path]
        told = [evidence for evidence in counted if evidence.verdict != "unknown"]
        step, way = self.step(path), path.partition(":")[2]
        return Used(
            pattern=FAN if self._from_one_to_all else self.head.plan.pattern,
            step=to_builtins(step),
            width=int(self.options.get("group") or self.options.get("pairs") or 1),
            both_ways=bool(self.options.get("both_ways")),
            wires=to_builtins([*self.wires_of(path), *self._memory_beside(path)]),
            evidence=to_builtins(told[-1]) if told else {},
            by_library=self.traits.kind.of_all_ranks and way in ("", *VARIANTS),
            variables={**self.head.environment.variables, **step.variables},
            copies=self._copies_beside(path),
        )

    def _copies_beside(self, path: str) -> dict[str, float]:
        """Rates of the fastest copies on this path's hosts, in whichever run of the file."""
        hosts, found = {rank.host for rank in self.step(path).ranks}, dict[str, float]()
        for run in self.others if self.head.plan.pattern != "copy" else ():
            for way, places, rate in _copies(run):
                if hosts & places:
                    found[way] = max(found.get(way, 0.0), rate)
        return found

    @property
    def _from_one_to_all(self) -> bool:
        plan = self.head.plan
        return bool(self.options.get("fan")) or (plan.pattern == "blocks" and plan.ranks > 2)

    def ceiling_through_host(self, path: str) -> Ceiling | None:
        """The most that a way through host memory could carry between the path's GPUs; None between hosts."""
        step = {**to_builtins(self.step(path)), "transport": "pipelined"}
        return ceiling(Used("pingpong", step, wires=to_builtins(self.wires_of(path))))

    def _memory_beside(self, path: str) -> list[Wire]:
        """How fast the memory of the path's hosts was whenever other paths were measured."""
        hosts = {rank.host for rank in self.step(path).ranks}
        others = {wire.path: wire.wires for wire in self.wires if wire.path != path}
        return [
            wire
            for wires in others.values()
            for wire in wires
            if wire.kind == "memory" and wire.host in hosts
        ]

    def wires_of(self, path: str) -> list[Wire]:
        """Wires that the path's ranks can use, by the drivers of all hosts."""
        return next((wire.wires for wire in reversed(self.wires) if wire.path == path), [])

    def add(self, record: Record) -> None:
        """Takes one record; of a path, size and launch the last entry counts.

        The doctor's records are no part of a run.
        """
        self._judged = None
        self._ceilings.clear()
        self._answers.clear()
        match record:
            case Head():
                self.head = record
            case StepRecord():
                self.steps.append(record)
            case End():
                self.end = record
            case Entry():
                if record.has_time:
                    self._launches.setdefault((record.path, record.bytes), {})[record.launch] = record
            case Evidence():
                before = self.evidence.get((record.path, record.bytes))
                # A launch whose wires deny what the path promises must not be hidden by a later one.
                if not (before and before.run == record.run and before.suspicious):
                    self.evidence[record.path, record.bytes] = record
            case Health():
                key_of_path = (record.run, record.path)
                self.health[key_of_path] = with_earlier(self.health.get(key_of_path), record)
            case Wires():
                self.wires.append(record)
            case Soak():
                self.soaks[record.path, record.bytes, record.launch] = record
            case Fresh():
                self.fresh[record.path, record.bytes, record.launch] = record
            case Failure():
                self.recorded_failures.append(record)
        self.records.append(record)

    @property
    def figures(self) -> dict[tuple[str, int], Entry]:
        """All figures by path and bytes, several launches combined; those that cannot be true are marked."""
        return self._judgement.figures

    @property
    def entries(self) -> dict[tuple[str, int], Entry]:
        """The figures that can be true: whatever is made of figures is made of these."""
        return self._judgement.entries

    @property
    def impossible(self) -> dict[tuple[str, int], Entry]:
        """The figures that cannot be true, with what contradicts them."""
        return self._judgement.impossible

    @property
    def failures(self) -> list[Failure]:
        """Failures, and figures that cannot be true: nothing of them could be shown."""
        return [*self.recorded_failures, *self._judgement.failures]

    def judged(self, entry: Entry, *, so_far: bool = False) -> Entry:
        """An entry of a launch with all that contradicts it; `so_far`: as far as the run has come."""
        found = contradictions(self, entry, so_far=so_far)
        return structs.replace(entry, impossible=found) if found != entry.impossible else entry

    @property
    def _judgement(self) -> Judged:
        if self._judged is None:
            self._judged = Judged(
                {key: combined([*map(self.judged, each.values())]) for key, each in self._in_order()}
            )
        return self._judged

    def _in_order(self) -> list[tuple[tuple[str, int], dict[int, Entry]]]:
        """Path after path, by size: sizes that took turns are recorded in the order in which they ended."""
        turn = {path: at for at, path in enumerate(dict.fromkeys(path for path, _ in self._launches))}
        return sorted(self._launches.items(), key=lambda item: (turn[item[0][0]], item[0][1]))

    @property
    def launches(self) -> int:
        """The most launches behind a figure; 1 where there is none."""
        return max((entry.launches for entry in self.figures.values()), default=1)

    def has(self, path: str, size: int, launch: int) -> bool:
        """Is there a figure of this launch?"""
        entry = self.entries.get((path, size))
        return entry is not None and any(launch_entry.launch == launch for launch_entry in entry.each)

    @property
    def measured(self) -> set[tuple[str, int, int]]:
        """(path, bytes, launch) of every figure that a run which goes on with this one does not measure."""
        return {
            (path, size, launch_entry.launch)
            for (path, size), entry in self.entries.items()
            for launch_entry in entry.each
            if launch_entry.stopped != INTERRUPTED
        }

    @property
    def paths(self) -> list[str]:
        """Paths with at least one figure, true or not, in table order."""
        return [*self._judgement.paths]

    @property
    def sizes(self) -> list[int]:
        """Sizes with a figure or a failure of a path that has figures, ascending."""
        paths = self.paths
        failed = {f.bytes for f in self.failures if f.bytes is not None and f.path in paths}
        return sorted({size for _, size in self.entries} | failed)

    def of_path(self, path: str) -> list[Entry]:
        """A path's entries, smallest size first; none where no figure can be true."""
        return [*self._judgement.by_path.get(path, ())]

    def evidence_of(self, path: str) -> list[Evidence]:
        """Of a path's messages, smallest size first; empty ones cross no wire that counts."""
        found = [evidence for evidence in self.evidence.values() if evidence.path == path and evidence.bytes]
        return sorted(found, key=lambda evidence: evidence.bytes)

    def failure(self, path: str, size: int) -> Failure | None:
        """Failure at this cell of the table, if there is one."""
        return next(
            (failure for failure in reversed(self.failures) if (failure.path, failure.bytes) == (path, size)),
            None,
        )

    def step(self, path: str) -> StepRecord:
        """The job step that the path's figures come from; an empty one if the file does not say."""
        return next((step for step in reversed(self.steps) if step.path == path), NO_STEP)

    @property
    def competing(self) -> list[str]:
        """Memory domains whose data several paths move; neither copies nor loads compete."""
        if self.pattern and self.pattern.kind.intra_rank:
            return []
        moving = (entry for entry in self.entries.values() if entry.moves)
        domains = list({entry.path: entry.memory_domain for entry in moving}.values())
        return [domain for domain in ("CPU", "GPU") if domains.count(domain) > 1]

    def fastest(self, size: int, domain: str, among: Collection[str] | None = None) -> list[Entry]:
        """The path with the least time (of all, or `among` these), and those whose intervals overlap its own.

        An interval so wide that it would let a path in that took AS_FAST times as long says nothing.
        None for GPU data of 0 bytes: many paths carry an empty message without any GPU.
        """
        if size == 0 and domain == "GPU":
            return []
        ranked = self._judgement.ranked.get((size, domain), [])
        ranked = [entry for entry in ranked if among is None or entry.path in among]
        most = AS_FAST * ranked[0].seconds if ranked else 0.0
        return [entry for entry in ranked if entry.low <= ranked[0].high and entry.seconds <= most]

    def in_doubt(self, size: int, domain: str) -> list[Entry]:
        """Figures that are not sure, of paths that may be as fast as fastest() says of others, or faster."""
        ranked = self._judgement.ranked.get((size, domain))
        if not ranked:
            return []
        named = {entry.path for entry in self.fastest(size, domain)}
        others = (self.entries[path, size] for path in self.paths if (path, size) in self.entries)
        return [
            entry
            for entry in others
            if entry.path not in named
            and not entry.sure
            and entry.memory_domain == domain
            and entry.moves
            and (entry.contended or entry.low <= ranked[0].high)
        ]

    @property
    def stopping(self) -> Stopping | None:
        """When a figure was good enough; None where the file does not say."""
        return self.head.plan.stopping if self.head.plan.pattern else None

    @property
    def interrupted(self) -> bool:
        """Was it ended before all was measured?"""
        return self.end is None or self.end.status == "interrupted"


@cache
def _pattern_of(name: str) -> Pattern | None:
    with suppress(WirespeedError):
        return find_pattern(name)
    return None


Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")


def remembered(
    function: Callable[Concatenate[Run, Arguments], Answer],
) -> Callable[Concatenate[Run, Arguments], Answer]:
    """Computes a pure function of a run once, until a record is added; entries count as themselves.

    Reports ask the same questions again and again: this makes them six times as fast.
    """

    @wraps(function)
    def answer(run: Run, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
        key = (
            function,
            *(id(each) if isinstance(each, Entry) else each for each in arguments),
            *named.items(),
        )
        if key not in run._answers:
            # With the arguments, so that no other entry gets the place of one in memory.
            run._answers[key] = function(run, *arguments, **named), arguments
        found: Answer = run._answers[key][0]
        return found

    return answer


@remembered
def _copies(run: Run) -> list[tuple[str, set[str], float]]:
    """Of each of its paths between host and GPU: way, hosts, highest rate."""
    found = []
    for step in run.steps if run.head.plan.pattern == "copy" else ():
        ends = step.memory, step.into or step.memory
        if ends.count("device") == 1:
            # Judging them would ask for limits again.
            launches = (each for key, each in run._launches.items() if key[0] == step.path)
            rates = [entry.rate for each in launches for entry in each.values() if entry.sure]
            way = "to_device" if ends[1] == "device" else "to_host"
            found.append((way, {rank.host for rank in step.ranks}, max(rates, default=0.0)))
    return found


def collect(records: Iterable[Event]) -> list[Run]:
    """The runs in a file's records, in the order in which they appear; what is no record is passed over."""
    runs: dict[str, Run] = {}
    for record in records:
        if isinstance(record, RunRecord):
            runs.setdefault(record.run, Run(record.run)).add(record)
    found = list(runs.values())
    for run in found:
        run.others = found
    return found


def resumed(runs: Iterable[Run]) -> list[Run]:
    """The runs, each together with those that went on with it (--resume)."""
    groups: list[list[Run]] = []
    for run in runs:
        for group in reversed(groups if run.head.plan.resume else []):
            same = group[-1].conditions == run.conditions
            if same and not any(part.measured & run.measured for part in group):
                group.append(run)
                break
        else:
            groups.append([run])
    return [joined(group) if len(group) > 1 else group[0] for group in groups]


def joined(runs: list[Run]) -> Run:
    """The last run with what earlier ones of the same plan had: later figures count."""
    last = runs[-1]
    whole = Run(last.name, others=last.others)
    for run in runs:
        if run is last or run.conditions == last.conditions:
            for record in run.records:
                whole.add(record)
    whole.head, whole.end = last.head, last.end
    return whole
