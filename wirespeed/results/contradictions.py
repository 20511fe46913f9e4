"""Figures that cannot be true, because another figure of the same run, or physics, contradicts them.

The recorder asks when it writes a figure; readers ask again, with all that the file says by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from wirespeed.limits.rates import CPU_CACHES, Ceiling
from wirespeed.patterns import Pattern
from wirespeed.results.contradiction import GIVEN, Contradiction, Quantity
from wirespeed.results.model import Entry, Head, Health
from wirespeed.results.parts import Interval, ProgramTimes, Wire
from wirespeed.units import format_size

MIN_OF_COMPUTATION = 0.95
"""A step takes at least this share of its own computation."""
MAX_OF_LIMIT = 1.02
MAX_EFFICIENCY = 1.05
"""Efficiency of weak scaling, at most."""
MAX_UNEXPLAINED = 0.5
"""Share of the batches whose time on the host's clock may be unexplained: a busy host interrupts some."""
SEEN_BY_HOST = 1.1
"""The host's time of a batch over that of its samples, at most (native/measure/timed_loop.cpp)."""
SAME_PROGRAM = ("size", "scaling", "fp", "edges", "norm_every")
"""Options that make two runs the same program, however it is divided."""
REMEDY = "--resume measures it again; if it comes back, please report it as a bug in wirespeed"


class Known(Protocol):
    """A run, as far as its records go: what figures are held against."""

    @property
    def head(self) -> Head: ...
    @property
    def traits(self) -> Pattern | type[Pattern]: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def entries(self) -> Mapping[tuple[str, int], Entry]: ...
    @property
    def health(self) -> Mapping[tuple[str, str], Health]: ...
    @property
    def others(self) -> Sequence[Known]:
        """All runs of the file, this one among them."""

    def ceiling(self, path: str) -> Ceiling | None: ...
    def field_limit(self, entry: Entry) -> Ceiling | None: ...
    def wires_of(self, path: str) -> Sequence[Wire]: ...


def contradictions(run: Known, entry: Entry, *, so_far: bool = False) -> list[Contradiction]:
    """Contradictions of a figure of one launch. `run`: the records beside it; empty: nothing known.

    `so_far`: the run goes on. The limit of messages depends on their wires, which are counted later.
    """
    rules = [_given, _clock, _computation, _one_rank, _nothing]
    rules += [] if so_far and not run.traits.kind.program else [_limit]
    return [contradiction for rule in rules for contradiction in rule(run, entry)]


def _given(run: Known, entry: Entry) -> Iterator[Contradiction]:
    yield from (known for known in entry.impossible if known.rule == GIVEN)


def single(run: Known, entry: Entry) -> Entry | None:
    """The latest figure of the same program on one rank, in the same kind of memory and the same file."""
    found = _single(run, entry)
    return found[1] if found else None


def _single(run: Known, entry: Entry) -> tuple[Known, Entry] | None:
    wanted = {name: run.options.get(name) for name in SAME_PROGRAM}
    for other in reversed(run.others):
        plan = other.head.plan
        same = plan.pattern == run.head.plan.pattern and plan.ranks == 1
        if same and {name: other.options.get(name) for name in SAME_PROGRAM} == wanted:
            for figure in other.entries.values():
                if figure.memory_domain == entry.memory_domain:
                    return other, figure
    return None


def _clock(run: Known, entry: Entry) -> Iterator[Contradiction]:
    clock = entry.clock
    if clock is None:
        return
    stamped = Quantity(name="samples of a batch", unit="s", value=clock.stamped_s)
    host = Quantity(name="host's clock around that batch", unit="s", value=clock.host_s)
    # A rank that has no CPU sees the end of a batch late.
    unexplained = clock.host_s * _had_cpu(entry) > SEEN_BY_HOST * clock.stamped_s
    if clock.long:
        how, count = "count", clock.long
    elif unexplained and clock.short > MAX_UNEXPLAINED * clock.batches:
        how, count = "explain only", clock.short
    else:
        return
    whose = f" of {clock.of}" if clock.of else ""
    text = (
        f"the samples of a batch{whose} {how} {stamped} of {host} by the host's clock, "
        f"in {count} of {clock.batches} batches"
    )
    yield Contradiction(rule="clock", figure=stamped, other=host, text=text)


def _had_cpu(entry: Entry) -> float:
    """Share of the time in which the rank that waited most for a CPU had one."""
    alone = entry.program.compute_waited if isinstance(entry.program, ProgramTimes) else None
    return 1 - min(max(entry.waited or 0.0, alone or 0.0), 1.0)


def _nothing(run: Known, entry: Entry) -> Iterator[Contradiction]:
    """A collective operation of less than an element for each rank, which libraries return from at once."""
    collective = any(other.name == "algbw" for other in entry.derived)
    if not collective or entry.amount or not entry.bytes:
        return
    moved = Quantity(name="moved", unit="B", value=0)
    asked = Quantity(name="size", unit="B", value=entry.bytes)
    text = f"nothing was moved: {asked} are less than an element for each rank"
    yield Contradiction(rule="nothing", figure=moved, other=asked, text=text)


def _computation(run: Known, entry: Entry) -> Iterator[Contradiction]:
    program = entry.program
    if not isinstance(program, ProgramTimes) or (compute := program.compute) is None:
        return
    # They are measured by turns, but the step comes first and has a rested CPU: it may wait less.
    least = _least(compute) * _had_cpu(entry)
    if _most(entry.times) >= MIN_OF_COMPUTATION * least:
        return
    step, alone = _seconds("step", entry.times), _seconds("its computation", compute)
    text = f"a step takes {step}, its computation alone {alone}"
    yield Contradiction(rule="computation", figure=step, other=alone, text=text)


def _limit(run: Known, entry: Entry) -> Iterator[Contradiction]:
    limit = run.field_limit(entry) if run.traits.kind.program else run.ceiling(entry.path)
    # Networks let bursts pass, and their drivers may state less than the real rate; users may be wrong.
    if limit is None or limit.stated or limit.wire == "network" or not entry.amount:
        return
    # Measured once, on a machine that was busy then, perhaps.
    if limit.wire == "memory" and not limit.high:
        return
    slowest, most = entry.amount / _most(entry.times), max(limit.rate, limit.high)
    if _beyond_caches(entry, limit) * slowest <= MAX_OF_LIMIT * most:
        return
    low, high = (entry.amount / end if end else None for end in (entry.times.high, entry.times.low))
    rate = Quantity(name="bandwidth", unit="B/s", value=entry.rate, low=low, high=high)
    ends = {"low": limit.low, "high": limit.high} if limit.low and limit.high else {}
    other = Quantity(name=f"limit: {limit.equation}", unit="B/s", value=limit.rate, **ends)
    text = f"{rate} is {100 * entry.rate / limit.rate:.0f} % of the limit, {limit.equation}"
    if limit.wire == "device memory":
        text += f" of {limit.wire}"
    else:
        text += f" (--link {limit.wire or 'NAME'}=RATE states the right rate, if that one is too low)"
    yield Contradiction(rule="limit", figure=rate, other=other, text=text)


def _beyond_caches(entry: Entry, limit: Ceiling) -> float:
    """The share of a message or field that must pass the memory, however much both ends' caches keep."""
    return max(0.0, 1 - 2 * limit.cached / max(entry.bytes, 1)) if limit.cached else 1.0


def _one_rank(run: Known, entry: Entry) -> Iterator[Contradiction]:
    """Weak scaling. The one rank's figure must be a sure one: what slows it alone raises the efficiency."""
    weak = run.traits.kind.program and run.options.get("scaling") == "weak" and run.head.plan.ranks > 1
    found = _single(run, entry) if weak else None
    if found is None or found[1].contended or entry.bytes <= _cache(run, entry):
        return
    other, one = found
    if any(health.throttled for (_, path), health in other.health.items() if path == one.path):
        return
    if _least(one.times) <= MAX_EFFICIENCY * _most(entry.times):
        return
    ranks = run.head.plan.ranks
    step, alone = _seconds(f"step of {ranks} ranks", entry.times), _seconds("step of one rank", one.times)
    text = (
        f"a step takes {step} on {ranks} ranks and {alone} on one with as many points, "
        f"{format_size(entry.bytes)}: an efficiency of {100 * one.seconds / entry.seconds:.0f} %"
    )
    yield Contradiction(rule="one rank", figure=step, other=alone, text=text)


GPU_CACHES = 256 << 20
"""Bytes that the caches of an unknown GPU are taken to hold: the most of any in links.toml."""


def _cache(run: Known, entry: Entry) -> int:
    """Bytes of the field that caches may hold."""
    if entry.memory_domain == "CPU":
        known = (wire.caches for wire in run.wires_of(entry.path) if wire.kind == "memory" and wire.caches)
        return max(known, default=CPU_CACHES)
    limit = run.field_limit(entry)
    return limit.cached if limit else GPU_CACHES


def _seconds(name: str, times: Interval) -> Quantity:
    return Quantity(name=name, unit="s", value=times.median, low=times.low, high=times.high)


def _most(times: Interval) -> float:
    """The upper bound: of the interval, else of the samples."""
    longest = getattr(times, "max", None)
    return max(times.median, times.high or longest or 0.0)


def _least(times: Interval) -> float:
    """The lower bound."""
    return min(times.median, times.low or times.min or times.median)
