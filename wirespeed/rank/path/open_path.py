"""A path whose transport is open: it is tried, measured at every size, and its bytes are counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from wirespeed.evidence.nics import nccl_log
from wirespeed.host.caches import cache_bytes
from wirespeed.host.core import Core
from wirespeed.host.handles import BuffersHandle, DeviceHandle, TransportHandle
from wirespeed.job.messages import FILLING, Accepted, Facts, Measured, Progress
from wirespeed.job.records import Wires
from wirespeed.job.step_spec import stuck_after
from wirespeed.paths import TransferPath
from wirespeed.patterns.rules import BEST, LIBRARY
from wirespeed.rank.check.payload_check import PayloadMismatch
from wirespeed.rank.context import RankContext, Unusable, Wanted
from wirespeed.rank.observe.counted_sizes import sizes_to_count, worth_counting
from wirespeed.rank.observe.host_counters import HostCounters
from wirespeed.rank.observe.host_health import HostHealth
from wirespeed.rank.observe.memory_bandwidth import MOVED
from wirespeed.rank.observe.watchdog import Watchdog
from wirespeed.rank.path.algorithm_choice import by_algorithm, fastest
from wirespeed.rank.path.buffers import SMALL, Buffers
from wirespeed.rank.path.sampler import Turns
from wirespeed.rank.path.size_run import SizeResult, SizeRun
from wirespeed.rank.path_time import PathTime, telling
from wirespeed.rank.world import World
from wirespeed.statistics.stopping import FILLED, MOMENT_S
from wirespeed.units import format_size

if TYPE_CHECKING:
    from wirespeed.rank.observe.wire_counting import WireCounting

TRIAL_SIZES = (1, 32 << 10, 4 << 20)
"""A tiny message is not enough to try a library with device pointers: each protocol fails in its own way."""

MIN_COUNTED = 64 << 10
"""Bytes of a collective operation: of smaller ones, what starts their kernels hides what they move."""
HUNG_S = 5.0
"""Seconds without progress, beyond the end of a path's time, that count as a hang; beyond the bound of all,
the front end does not wait so long."""
LONG_TO_FILL = 1 << 28
"""Bytes of a buffer whose memory some machines take a second or more to give."""
LEAST_COUNTING_S, LEAST_BY_CPU_S = 0.3, 1.2
"""Seconds that counting bytes takes, at least; where CPUs move them, their memory is measured, too."""
AT_ONCE, ALL_AT_ONCE = 24, 32
"""Sizes that take turns, at most: so many batches of 1 ms fill the time between two of the same size. Where
GPUs move the bytes, all of a default run do: beside H100s and H200s, CPUs are 10 to 20 % slower now and then,
for 0.1 to 1 s, and a figure should see as many such moments as its path's time has."""


@dataclass(frozen=True)
class Observers:
    """Readers of the hosts' health and of their wires' counters, for all paths of a job step."""

    health: HostHealth
    counters: HostCounters

    @classmethod
    def found(cls, comm: World, core: Core, device: DeviceHandle) -> Observers:
        """Collective."""
        return cls(HostHealth(comm, core, device), HostCounters(comm, core, device))

    def close(self) -> None:
        """Releases what was opened to be read."""
        self.health.close()
        self.counters.close()


@dataclass(frozen=True, eq=False)
class Item:
    """One of the sizes that a path measures."""

    size: int
    place: int
    """Among those sizes, from 0."""
    needs: tuple[int, ...]
    """Bytes of each buffer, for all of those sizes."""

    @property
    def need(self) -> int:
        """Bytes of each buffer."""
        return self.needs[self.place]


_need = attrgetter("need")


@dataclass
class OpenPath:
    """All methods are collective."""

    _context: RankContext
    _watchdog: Watchdog
    _path: TransferPath
    _transport: TransportHandle
    _buffers: Buffers
    _observers: Observers | None
    """None: nothing is read around a path."""
    _algorithms: dict[int, str] = field(default_factory=dict)
    """The fastest one for a size, once it is known."""
    _measured: dict[int, SizeResult] = field(default_factory=dict)
    """By size, those with a figure."""
    failed: bool = False
    """Has something failed, so that the transport may not be as it was? The same on all ranks."""
    drawn: bool = False
    """Has rank 0 told a picture of a program's field? By every path it is the same."""

    def run(self, sizes: Sequence[int]) -> None:
        context, core = self._context, self._context.core
        pattern = context.pattern
        rule = pattern.size_rule
        own = rule.option != "sizes" or rule.fixed is not None
        tried = TRIAL_SIZES if self._path.tried_first else TRIAL_SIZES[:1] if self._by_library else ()
        if tried and not self._try(sizes if own else tried):
            return
        details = core.described(core.lib.ws_transport_describe(self._transport))
        nics = tuple(context.comm.gather(nccl_log.nics(details)) or ())
        details.pop("networks", None)
        context.tell(Accepted(details, self._pointers(sizes[0]), nics))
        # A library may set up more for buffers that it has seen in a trial.
        self._buffers.close()
        observers = self._observers
        if observers:
            with context.ranges("health"):
                observers.health.begin()
        if context.plan.soak:
            self._soak(sizes)
        else:
            self._measure(sizes)
            if fresh := context.plan.fresh:
                self._fresh(sizes, fresh)
        # Whether bytes are counted does not depend on the time for figures, but on what is left behind it.
        path_time, least = context.time, LEAST_BY_CPU_S if self._path.cpu_moves else LEAST_COUNTING_S
        late = context.comm.share(path_time is not None and path_time.left < least)
        context.tell(Measured(late and observers is not None))
        if not observers or late or context.comm.share(context.ending()):
            return
        # Counting comes after all figures, so that none of them can suffer from it. What another pattern
        # moves at the same time would be counted as ours.
        counts = not (self._path.work_alone or self._path.loads_own or context.plan.soak)
        if counts and not context.plan.background:
            with context.ranges("counting"):
                self._count(sizes, observers.counters)
        with context.ranges("health"):
            if found := observers.health.end(self._path.name):
                context.tell(found)

    def _pointers(self, size: int) -> list[Facts]:
        """What the driver says of each rank's device memory, on rank 0; empty for memory of the host."""
        if not self._path.on_device:
            return []
        context = self._context
        need = self._buffers.needed(size)
        try:
            held = self._buffers.hold(need, [need], partial(self._patient, size))
        except Unusable:
            # The figures will say why.
            return []
        lib = context.core.lib
        of = lib.ws_buffers_send if self._path.memory == "device" else lib.ws_buffers_receive
        found = context.comm.gather(
            {"rank": context.comm.rank, **context.core.pointer(context.device, of(held))}
        )
        return found or []

    @property
    def _by_library(self) -> bool:
        """Is it a library's own operation, which may lack what its messages do not need: a type to reduce?"""
        return self._context.shape.options.get("by") == LIBRARY

    def _try(self, sizes: Sequence[int]) -> bool:
        """Does the path move bytes at all? Its first failure is the whole path's."""
        for item in self._items(sizes):
            try:
                with self._context.ranges("trial"):
                    self._size_run(item).trial()
            except (Unusable, PayloadMismatch) as error:
                self._failure(error, item.size, fatal=True)
                return False
        return True

    def _measure(self, sizes: Sequence[int]) -> None:
        items = self._items(sizes)
        draws = self._context.plan.picture is not None
        path_time, left = self._context.time, len(items)
        for group in self._groups(items):
            # One figure comes of each path that has begun.
            if self._context.comm.share(self._context.ending()) or (left < len(items) and self._ending):
                return
            if path_time:
                path_time.begin(last=left == len(group))
            coming = self._fitting(group, items)
            if path_time:
                until = time.monotonic()
                until += max(path_time.figures_end - until, 0.0) / left * len(group)
                self._context = replace(self._context, more_until=until)
            left -= len(group)
            running: dict[Item, Turns[None]] = {}
            try:
                while coming or running:
                    at_once = len(running) + bool(coming)
                    for item in list(running):
                        if not self._turn(running[item], item, at_once):
                            del running[item]
                    # The first figure does not wait for the set-up of all: a round begins what fits into it.
                    begin_until = time.monotonic() + FILLED * MOMENT_S
                    while coming:
                        item = coming.pop(0)
                        figure = self._figure(item, draws)
                        if self._turn(figure, item):
                            running[item] = figure
                        full: bool = self._context.comm.share(time.monotonic() > begin_until)
                        if full:
                            break
                    if coming and self._ending:
                        coming = []
            finally:
                # What they have open goes before the transport, which a failure on this rank abandons.
                for size_run in running.values():
                    size_run.close()

    @property
    def _ending(self) -> bool:
        """Collective. Is the run to end, or the time of the path over?"""
        return self._context.comm.share(self._context.ending() or self._context.late)

    def _fitting(self, group: Sequence[Item], items: Sequence[Item]) -> list[Item]:
        """Collective. Those sizes of a group for which there is time, what tells most first."""
        path_time, chosen = self._context.time, [*group]
        if path_time:
            self._tell_times(path_time, items)
            ascending = sorted(group, key=_need)
            fit = path_time.fitting([item.need for item in ascending])
            fit = fit if self._measured else max(fit, 1)
            chosen = telling(ascending[:fit]) if fit < len(group) or path_time.tight else chosen
        return [items[place] for place in self._context.comm.share([item.place for item in chosen])]

    def _tell_times(self, path_time: PathTime, items: Sequence[Item]) -> None:
        for item in items:
            if item.size in self._measured:
                path_time.took(item.need, self._measured[item.size].seconds)

    def _out_of_time(self, group: Sequence[Item], items: Sequence[Item]) -> bool:
        """Collective. Has no size of this group time? Its buffers would take long to allocate."""
        path_time = self._context.time
        if path_time is None or not self._measured:
            return False
        self._tell_times(path_time, items)
        out: bool = self._context.comm.share(not path_time.has_room_for(min(map(_need, group))))
        return out

    def _groups(self, items: Sequence[Item]) -> Iterator[list[Item]]:
        """Sizes that take turns, once there are buffers for all of them; without where none has time."""
        path_time = self._context.time
        # Where time is short, what short messages take tells how long longer ones will.
        short = path_time is not None and path_time.fitting(sorted(map(_need, items))) < len(items)
        long_too = self._context.comm.share(not self._path.cpu_moves and not short)
        for group in taking_turns(self._context, items, long_too=long_too):
            if self._out_of_time(group, items):
                yield group
                continue
            alone: list[Item] = []
            while group:
                largest = max(group, key=_need)
                try:
                    self._hold(largest, group[0])
                    yield group
                    break
                except Unusable:
                    # Their failure is told where each is measured; smaller ones need not wait alone for it.
                    alone = [item for item in group if item.need == largest.need] + alone
                    group = [item for item in group if item.need < largest.need]
            yield from ([item] for item in alone)

    def _turn(self, figure: Turns[None], item: Item, at_once: int | None = None) -> bool:
        """A batch of a size, at first (`at_once` is None) what comes before; False: the size is done."""
        size = item.size
        self._watchdog.turn(self._path.name, size, self._patience(size, item.need))
        try:
            with self._context.ranges("size", format_size(size), bytes=size):
                next(figure) if at_once is None else figure.send(at_once)
        except StopIteration:
            return False
        except (Unusable, PayloadMismatch) as error:
            self._failure(error, size)
            return False
        return True

    def _fresh(self, sizes: Sequence[int], messages: int) -> None:
        """Size after size that has a figure, from buffers of each message's own."""
        from wirespeed.rank.path.fresh_run import FreshRun

        self._buffers.close()
        for size in sizes:
            if self._ending or size not in self._measured:
                continue
            fresh = FreshRun(self._context, self._path, self._transport, self._patient)
            try:
                with self._context.ranges("fresh", format_size(size), bytes=size):
                    fresh.run(size, messages)
            except (Unusable, PayloadMismatch) as error:
                self._failure(error, size, where=fresh.memory.where)

    def _soak(self, sizes: Sequence[int]) -> None:
        """Size after size; what fails costs its own size."""
        from wirespeed.rank.check.soak_run import PLACES, SoakRun, apart
        from wirespeed.rank.path.fresh_run import FreshMemory

        times = self._context.plan.fresh
        fresh = FreshMemory(self._context, self._path, self._transport, self._patient, "part")
        for item in self._items(sizes, lambda need: PLACES * apart(need)):
            path_time, wanted, size = self._context.time, self._context.plan.soak or 0.0, item.size
            # A soak is not made shorter, but left out where it does not fit.
            if self._context.comm.share(path_time is not None and path_time.left < wanted):
                continue
            position = self._position(item)
            self._context.tell(position)
            try:
                with self._context.ranges("soak", format_size(size), bytes=size):
                    of_parts = partial(fresh.opened, size, of=times, soaked=True)
                    memory = of_parts if times else partial(self._soak_memory, item)
                    soak = SoakRun(self._context, self._path, self._transport, size, position)
                    soak.run(memory, times or 1)
            except (Unusable, PayloadMismatch) as error:
                self._failure(error, size, where=fresh.where)

    def _soak_memory(
        self, item: Item, _: int
    ) -> AbstractContextManager[tuple[RankContext, BuffersHandle, int]]:
        """The path's own buffers, for a soak that stays in them."""
        return nullcontext((self._context, self._hold(item), item.need))

    def _figure(self, item: Item, draws: bool) -> Turns[None]:
        self._context.tell(self._position(item))
        size_run = self._size_run(item)
        self._measured[item.size] = yield from size_run.measure()
        if draws and not self.drawn:
            size_run.draw()
            self.drawn = True

    def _count(self, sizes: Sequence[int], counters: HostCounters) -> None:
        """Which wires the bytes travel over. What is unusable now has no figure to spoil."""
        if not counters.able:
            return
        # Not before the figures, for the first of which somebody waits.
        from wirespeed.rank.observe.wire_counting import WireCounting

        counting = WireCounting(self._context, self._path, counters)
        # Rank 0 of each host measures its memory, which takes long where others use it too.
        self._patient(sizes[0], MOVED)
        with self._context.ranges("wires", "rates of wires"):
            wires = counting.wires(self._context.comm.share(self._carried()))
        self._context.tell(Wires(kind="wires", path=self._path.name, wires=wires))
        if self._context.pattern.kind.of_all_ranks:
            sizes = [size for size in sizes if size >= MIN_COUNTED] or sizes[-1:]
        self._count_some(sizes, counting)

    def _carried(self) -> float:
        """Bytes per second between two ranks of the fastest size beyond the caches; 0: there is none.

        Rank 0 knows it. More ranks than two may carry more than a core on either side.
        """
        caches, found = cache_bytes() or 0, 0.0
        if self._context.shape.ranks != 2 or self._context.pattern.kind.program:
            return 0.0
        for size, measured in self._measured.items():
            if size > caches and measured.seconds:
                figure = self._context.pattern.figure(size)
                found = max(found, figure.divisor * figure.bytes / measured.seconds)
        return found

    def _count_some(self, sizes: Sequence[int], counting: WireCounting) -> None:
        items, comm = self._items(sizes), self._context.comm
        # Rank 0 alone knows the verdicts, and says which size is next.
        known = [self._measured.get(size, SizeResult()) for size in sizes]
        protocols, seconds = zip(*((each.protocol, each.seconds) for each in known), strict=True)
        order = worth_counting(sizes, protocols, seconds)
        counting.parts_of = comm.share(max((sizes[index] for index in order if seconds[index]), default=0))
        plan = sizes_to_count(sizes, protocols, order)
        index = comm.share(next(plan, -1))
        path_time = self._context.time
        while index >= 0 and not comm.share(path_time is not None and path_time.left <= 0):
            size, verdict = sizes[index], None
            try:
                with self._context.ranges("counted size", format_size(size), bytes=size):
                    verdict = self._size_run(items[index]).count(counting, known[index].seconds)
            except Unusable:
                self.failed = True
            except PayloadMismatch as error:
                self._failure(error, size)
            try:
                following = plan.send(verdict) if comm.rank == 0 else -1
            except StopIteration:
                following = -1
            index = comm.share(following)

    def _items(self, sizes: Sequence[int], enlarged: Callable[[int], int] = int) -> list[Item]:
        """The sizes and what they need; `enlarged`: bytes of a buffer that needs so many for one message."""
        needs = tuple(enlarged(self._buffers.needed(size)) for size in sizes)
        return [Item(size, place, needs) for place, size in enumerate(sizes)]

    def _size_run(self, item: Item) -> SizeRun:
        """One size with its buffers. Raises Unusable."""
        held, position = self._hold(item), self._position(item)
        context, size = self._context, item.size
        wanted = Wanted(self._transport, held, size)
        if context.shape.options.get("by") == BEST:
            if size not in self._algorithms:
                self._algorithms[size] = fastest(context, wanted)
            context = by_algorithm(context, self._algorithms[size])
        patience = self._patience(size, item.need)
        alive = partial(self._watchdog.turn, self._path.name, size, patience)
        return SizeRun(context, self._path, wanted, position, alive)

    def _hold(self, item: Item, first: Item | None = None) -> BuffersHandle:
        """The native buffers of a size. `first`: of those that begin with them, which are told of that.

        Raises Unusable.
        """
        size, need = item.size, item.need

        def waits(capacity: int) -> None:
            self._patient(size, capacity)
            if first is not None and capacity >= LONG_TO_FILL:
                self._context.tell(self._position(first)._replace(doing=FILLING))

        self._patient(size, max(size, need))
        with self._context.ranges("set-up", "buffers"):
            held = self._buffers.hold(need, item.needs, waits, size)
        self._patient(size, max(size, need))
        return held

    def _position(self, item: Item) -> Progress:
        """How far the path is."""
        return Progress(self._path.name, item.size, item.place, len(item.needs))

    def _patient(self, size: int, most: int) -> None:
        """The watchdog waits as long as this many bytes may take."""
        self._watchdog.stage(self._path.name, size, self._patience(size, most))

    def _patience(self, size: int, most: int) -> float:
        """Seconds without progress that count as a hang at this size, whose buffers have `most` bytes."""
        context = self._context
        blocks = context.pattern.figure(size).blocks
        patience = stuck_after(context.plan, max(size, most), blocks)
        # The run does not wait for a hang beyond its bound.
        return min(patience, max(context.time.left, 0.0) + HUNG_S) if context.time else patience

    def _failure(
        self, error: Unusable | PayloadMismatch, size: int, fatal: bool = False, where: str = ""
    ) -> None:
        self.failed = True
        text = f"{error}, in {where}" if where else str(error)
        self._context.failed(error.what, text, size, error.rank, fatal)


def taking_turns(context: RankContext, items: Sequence[Item], *, long_too: bool) -> Iterator[list[Item]]:
    """The sizes, those together that take turns.

    They share buffers. A fixed number of iterations is measured at once. `long_too`: the longest messages
    take milliseconds, too, and would wait for their moments alone.
    """
    few = sum(item.need <= SMALL[-1] for item in items) <= AT_ONCE
    steps = () if long_too else SMALL[-1:] if few else SMALL
    one_by_one = context.plan.stopping.loops is not None or not context.pattern.timing.takes_turns

    def room(item: Item) -> int:
        return next((step for step in steps if item.need <= step), 0)

    for step, found in groupby(items, room):
        alike = list(found)
        at_once = 1 if one_by_one else ALL_AT_ONCE if long_too else AT_ONCE if step else 1
        # As even as can be: nobody is left to be measured alone, and for longer.
        groups = -(-len(alike) // at_once)
        for group in range(groups):
            yield alike[group * len(alike) // groups : (group + 1) * len(alike) // groups]
