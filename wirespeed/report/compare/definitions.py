"""Figures of other tools beside others: which of them have the same definition, and why the rest have not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from wirespeed.foreign.as_results import IN_PLACE, MEMORY_OF, OPERATION
from wirespeed.foreign.definitions import between
from wirespeed.grouping import size_range
from wirespeed.report.cannot_tell import Reason, Unjudged
from wirespeed.report.compare.matching import WHAT
from wirespeed.results.model import COUNTS
from wirespeed.results.runs import Entry, Run

ARROW = " -> "
"""Between the old and the new side's name of a path."""
_OURS = {
    "stream": "bandwidth",
    "exchange": "sendrecv",
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "alltoall": "all-to-all",
    "reducescatter": "reduce-scatter",
}
"""Patterns that other tools call otherwise."""
_BUS = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce")
"""Patterns whose rate is bus bandwidth."""
_ENDS = {"pageable": "H", "pinned": "H", "device": "D", "managed": "M"}
_COUNTED = {
    "one": "one direction",
    "both": "the sum of both directions",
    "bus": "bus bandwidth",
    "algorithm": "algorithm bandwidth",
    "unknown": "what the text does not say",
    "average": "the average time of the ranks",
}
_REMEDY = "measure the same operation, between the same memory, on as many ranks"
_REMEDIES = {
    frozenset(("one", "both")): "halve the sum, or compare the same test",
    frozenset(("average", "bus")): "take the same tool on both sides, or nccl-tests and wirespeed",
    frozenset(("algorithm", "bus")): "multiply by the share that must move: 2(n-1)/n of an all-reduce",
}


@dataclass(frozen=True)
class Definition:
    """What a figure is of."""

    operation: str
    counts: str
    """Bytes that its rate counts, or whose time it is."""
    memory: str
    ranks: int
    in_place: str = "no"

    def why_not(self, other: Definition) -> list[str]:
        """What differs, in words; [] where both can be compared."""
        found = []
        if self.operation != other.operation:
            words = (each.operation or "an operation that is not named" for each in (self, other))
            found.append(" against ".join(words))
        if self.counts != other.counts:
            found.append(f"{_COUNTED[self.counts]} against {_COUNTED[other.counts]}")
        if self.memory != other.memory:
            found.append(f"{between(self.memory)} against {between(other.memory)}")
        if self.ranks != other.ranks:
            found.append(f"{self.ranks} ranks against {other.ranks}")
        if self.in_place != other.in_place:
            found.append("in place against out of place")
        return found


@dataclass(frozen=True, eq=False)
class _Series:
    """A path's figures in a run."""

    run: Run
    path: str
    definition: Definition

    @property
    def foreign(self) -> bool:
        return self.run.foreign

    @property
    def title(self) -> str:
        return f"{self.run.head.plan.pattern} {self.path}"

    @property
    def key(self) -> tuple[str, str, int]:
        return self.run.head.plan.pattern, self.path, self.run.head.plan.ranks

    def renamed(self, path: str, like: Run) -> Run:
        """These figures under another name, as if measured by the other one's plan."""
        plan = replace(self.run.head.plan, **{name: getattr(like.head.plan, name) for name in WHAT})
        found = Run(self.run.name, others=self.run.others)
        found.head = structs.replace(self.run.head, plan=replace(plan, paths=(path,)))
        found.end = self.run.end
        for record in self.run.records:
            if getattr(record, "path", None) == self.path:
                named = {"path": path}
                if isinstance(record, Entry):
                    named["pattern"] = like.head.plan.pattern
                found.add(structs.replace(record, **named))
        return found


def aligned(old: Sequence[Run], new: Sequence[Run]) -> tuple[list[Run], list[Run], list[Unjudged]]:
    """Both sides, with figures of the same definition under the same name where another tool measured one.

    And what cannot be compared, and why not.
    """
    olds, news = list(_series(old)), list(_series(new))
    same = {one.key for one in olds} & {one.key for one in news}
    olds, news = ([one for one in side if one.key not in same] for side in (olds, news))
    pairs = [
        (one, other)
        for one in olds
        for other in news
        if (one.foreign or other.foreign) and not one.definition.why_not(other.definition)
    ]
    more: tuple[list[Run], list[Run]] = ([], [])
    for one, other in pairs:
        path = f"{one.path}{ARROW}{other.path}"
        more[0].append(one.renamed(path, one.run))
        more[1].append(other.renamed(path, one.run))
    paired = {series for pair in pairs for series in pair}
    refused: dict[_Series, Unjudged | None] = {}
    for side, others in ((olds, news), (news, olds)):
        for one in side:
            if one not in paired and (nearest := _nearest(one, others)):
                # Two that refuse each other are told once.
                refused[one] = None if refused.get(nearest) else _refused(one, nearest)
    done = {(series.run.name, series.path) for series in (*paired, *refused)}
    sides = [[_without(run, done) for run in side] for side in (old, new)]
    return [*sides[0], *more[0]], [*sides[1], *more[1]], [told for told in refused.values() if told]


def _without(run: Run, done: Collection[tuple[str, str]]) -> Run:
    """Without the paths that are compared under another name, or not at all."""
    if not any((run.name, path) in done for path in run.paths):
        return run
    left = Run(run.name, others=run.others)
    for record in run.records:
        if (run.name, getattr(record, "path", None)) not in done:
            left.add(record)
    return left


def _series(runs: Iterable[Run]) -> Iterator[_Series]:
    for run in runs:
        for path in run.paths:
            entries = run.of_path(path)
            if entries:
                yield _Series(run, path, _definition(run, entries[0]))


def _definition(run: Run, entry: Entry) -> Definition:
    details, ranks = entry.details, run.head.plan.ranks
    if entry.foreign:
        return Definition(details[OPERATION], details[COUNTS], details[MEMORY_OF], ranks, details[IN_PLACE])
    pattern, both = run.head.plan.pattern, bool(run.options.get("both_ways"))
    operation = "both-ways" if pattern == "stream" and both else _OURS.get(pattern, pattern)
    counts = "bus" if pattern in _BUS else "both" if pattern == "copy" and both else "one"
    ends = [_ENDS.get(end, end) for end in entry.memory.split(" to ")]
    place = str(run.options.get("in_place", "no"))
    return Definition(operation, counts, " ".join((ends * 2)[:2]), ranks, place)


def _nearest(one: _Series, others: Sequence[_Series]) -> _Series | None:
    """That which differs least, of those that can be compared at all; None: all are ours."""
    mixed = [other for other in others if one.foreign or other.foreign]
    return min(mixed, key=lambda other: len(one.definition.why_not(other.definition)), default=None)


def _refused(one: _Series, nearest: _Series) -> Unjudged:
    """Why they are not compared."""
    why = one.definition.why_not(nearest.definition)
    counts = frozenset((one.definition.counts, nearest.definition.counts))
    remedy = _REMEDIES.get(counts, _REMEDY) if len(why) == 1 else _REMEDY
    sizes = [entry.bytes for entry in one.run.of_path(one.path)]
    what = f"{one.title} at {size_range(sizes)}"
    return Unjudged(what, Reason(f"{nearest.title} is another figure: {', '.join(why)}", remedy))
