"""One path, measured by all ranks together, size after size."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from wirespeed.host import devices
from wirespeed.host.core import Core, NativeError
from wirespeed.host.devices import GPU_KINDS
from wirespeed.host.handles import DeviceHandle, TransportHandle
from wirespeed.host.libraries import loaded_file
from wirespeed.host.process import host_name
from wirespeed.job.messages import RankRanges
from wirespeed.job.path_selection import unsuited
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import startup_limit
from wirespeed.paths import TransferPath, find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.patterns.rules import LIBRARY
from wirespeed.rank.context import RankContext, Tell, Unusable
from wirespeed.rank.faults.words import TestWords
from wirespeed.rank.join.apart import TOGETHER, Apart
from wirespeed.rank.join.free_cpus import FreeForThreads
from wirespeed.rank.join.startup import share_node
from wirespeed.rank.observe.clock_offsets import ClockOffsets
from wirespeed.rank.observe.watchdog import Watchdog
from wirespeed.rank.path.algorithm_choice import by_algorithm
from wirespeed.rank.path.buffers import Buffers, buffer_room
from wirespeed.rank.path.open_path import Observers, OpenPath
from wirespeed.rank.path_time import PathTime
from wirespeed.rank.ranges import MAX_RANGES, MIN_RANGES, Ranges
from wirespeed.rank.world import World

KNOWS_ITS_BUFFERS = "must know its buffers in advance, so that it takes no list in several allocations"


class PathRunner:
    """Measures paths on one rank; all ranks call run() with the same arguments, in the same order."""

    def __init__(
        self,
        core: Core,
        comm: World,
        device: DeviceHandle,
        watchdog: Watchdog,
        plan: Plan,
        tell: Tell,
        ranges: Ranges | None = None,
        apart: Apart = TOGETHER,
        free: FreeForThreads | None = None,
    ) -> None:
        """`apart`: what keeps ranks of a host apart, which stands behind a path's failure. `free`: where
        threads of libraries go before samples are taken; None: they stay.
        """
        self._core, self._comm, self._watchdog, self._plan = core, comm, watchdog, plan
        self._ranges = ranges = ranges or Ranges()
        self._device, self._apart = device, apart
        self._control = comm.control(core)
        self._test = TestWords(plan)
        self._context = RankContext(
            core=core,
            comm=comm,
            device=device,
            plan=plan,
            pattern=find_pattern(plan.pattern).at(Shape(comm.size, dict(plan.options))),
            tell=tell,
            open_transport=self._opened,
            offset=self._test.offset,
            ranges=ranges,
            put_threads_aside=free.move if free else lambda: False,
        )
        self._observers: Observers | None = None
        self._room: tuple[int | None] | None = None
        """Bytes for each of a rank's buffers, once they are known."""
        self._left: TransferPath | None = None
        """The last path of those whose library joins the ranks, and may have left NCCL's communicator."""

    def end_when(self, asked: Callable[[], bool]) -> None:
        """Tells the figures that are under way, and measures no others, once `asked` says so on rank 0."""
        self._context = replace(self._context, ending=asked)

    def prepare(self) -> None:
        """Collective. Opens what hosts' counters are read with, which needs no turn of its own."""
        if self._observers is None and self._plan.evidence:
            with self._ranges("health"):
                self._observers = Observers.found(self._comm, self._core, self._device)

    def close(self, *, orderly: bool) -> None:
        """Collective. Closes what prepare() has opened. `orderly`: as of make_way()."""
        self.make_way(None, orderly=orderly)
        if self._observers:
            self._observers.close()

    def make_way(self, name: str | None, *, orderly: bool) -> None:
        """Collective. Ends what a path has left, unless the one of that name may go on with it.

        What fails here is the former path's failure. `orderly`: also where only the end of this process
        follows, or a path that does not mind: NCCL's orderly end takes half a second.
        """
        left, path = self._left, find_path(name) if name else None
        if left is None or (path and path.goes_on_as(left)):
            return
        if orderly or (path and path.transport == left.transport):
            self._watchdog.stage(left.name, 0, self._plan.timeout or startup_limit(self._plan))
            self._core.check(self._core.lib.ws_kept_close(self._watchdog.page))
            self._left = None

    def run(self, name: str, sizes: Sequence[int], end: float | None = None) -> None:
        """Collective. Measures the path at every size; failures are told, not raised.

        A path that may not work at all is tried first; "accepted" is told once it has moved bytes.
        `end`: of its time, by time.monotonic(); None: it has no bound.
        """
        path = find_path(name)
        by_cpu = path.cpu_moves or self._core.identity(self._device)["kind"] not in GPU_KINDS
        path_time = None if end is None else PathTime(end, by_cpu)
        self._context = replace(self._context, time=path_time, behind=self._apart.words(path))
        self._ranges.room = max(MAX_RANGES // self._comm.size, MIN_RANGES)
        # Inside a launcher each rank reads its own options.
        kept = self._comm.share(self._ranges.kept)
        self.prepare()
        if self._room is None:
            neighbours = self._comm.neighbours()
            share_node(self._core, neighbours)
            self._room = (buffer_room(self._core, self._comm, self._device, neighbours),)
            shape = replace(self._context.shape, memory=self._room[0])
            self._context = replace(self._context, pattern=self._context.pattern.at(shape))
        clocks = ClockOffsets(self._comm, self._ranges) if kept else None
        try:
            with self._ranges("path", name):
                self._run(name, sizes)
        except NativeError as error:
            raise NativeError(f"{error}{self._context.behind}", error.lack) from None
        if clocks:
            self._tell_ranges(name, clocks)

    def _tell_ranges(self, name: str, clocks: ClockOffsets) -> None:
        """Collective. Rank 0 tells every rank's ranges, in a message for each."""
        clocks.compare()
        gathered = self._comm.gather((host_name(), *self._ranges.take()))
        for rank, (host, rows, dropped, totals) in enumerate(gathered or ()):
            moved, clock = clocks.place(rank, rows)
            place = RankRanges(name, rank, host, moved, dropped, totals, clock, clocks.shared, 0)
            self._context.tell(place._replace(now=self._ranges.clock()))

    def _run(self, name: str, sizes: Sequence[int]) -> None:
        path = find_path(name)
        # Some transports join the ranks once more, and that takes its time.
        self._watchdog.stage(name, 0, self._plan.timeout or startup_limit(self._plan))
        if self._context.pattern.kind.of_all_ranks:
            self._context = by_algorithm(self._context, path.algorithm or LIBRARY)
        context = self._context
        why = unsuited(path, context.pattern, self._plan)
        if context.pattern.kind.of_all_ranks:
            from wirespeed.patterns.collectives.operation import as_operation

            why = why or as_operation(context.pattern).lacks
        if path.one_host and not path.intra_rank and "shm" in self._apart.all_:
            why = why or f"{path.name} needs memory that all ranks share"
        why = why or self.shared_gpu(path)
        if why := why or next(filter(None, self._comm.everyone(without_effect(path))), None):
            self._context.failed("unavailable", why)
            return
        try:
            with self._ranges("set-up"):
                self._load_kernels(path)
                transport = self._context.collectively(
                    partial(self._open_transport, path), self._core.lib.ws_transport_abandon
                )
        except Unusable as error:
            self._context.failed(error.what, str(error))
            return
        buffers = Buffers(self._context, transport, path.memory, packs=path.packs)
        try:
            context = replace(self._context, allocations=buffers.allocations)
            opened = OpenPath(context, self._watchdog, path, transport, buffers, self._observers)
            opened.run(sizes)
        except BaseException:
            # What fails on this rank alone must not wait for the others.
            buffers.abandon()
            self._core.lib.ws_transport_abandon(transport)
            raise
        if opened.drawn:
            self._context = replace(self._context, plan=replace(self._context.plan, picture=None))
        buffers.close()
        lib = self._core.lib
        close = lib.ws_transport_close if opened.failed else lib.ws_transport_close_keeping
        self._core.check(close(transport))
        if path.traits.library:
            self._left = path

    def shared_gpu(self, path: TransferPath) -> str | None:
        """Collective. Why the path has no figure on ranks that share GPUs; None if it has, or none do.

        A program's would be wrong; that of other patterns somebody has to ask for.
        """
        plan, program = self._plan, self._context.pattern.kind.program
        asked = plan.share_gpus or plan.ranks_per_gpu or plan.between
        if self._test.share_gpus or not (path.needs_device if program else path.wants_gpu):
            return None
        identity = self._core.identity(self._device)
        if (not program and asked) or (program and identity["kind"] not in GPU_KINDS):
            return None
        first = dict[str, int]()
        places = self._comm.everyone(f"{os.uname().nodename} {identity['id']}")
        for rank, place in enumerate(places):
            if (other := first.setdefault(place, rank)) != rank:
                if not program:
                    return devices.too_few(len(places), len(set(places)))
                from wirespeed.programs import A_GPU_EACH

                return f"{A_GPU_EACH}; ranks {other} and {rank} share one"
        return None

    def _load_kernels(self, path: TransferPath) -> None:
        """Compiles what the path's memory needs, while the watchdog waits as long as a start may take.

        Without kernels no byte on a GPU can be checked: raises Unusable. What a program's kernels lack is
        told where they are needed.
        """
        context, load = self._context, self._core.lib.ws_device_load
        if {path.memory, path.into} & {"device", "managed"}:
            context.collectively(
                lambda: self._core.check(load(context.device, b"ws_payload_fill")), lambda _: None
            )
        if path.needs_device and context.pattern.kind.program:
            from wirespeed.programs import as_program

            for work in as_program(context.pattern).start(context.comm.rank, 0)[:1]:
                load(context.device, work.kernel.encode())

    def _open_transport(self, path: TransferPath) -> TransportHandle:
        transport = self._opened(*self._test.transport(path, self._context.pattern))
        lib = self._core.lib
        several = int(self._context.shape.options.get("allocations") or 1) > 1
        if several and not lib.ws_transport_by_address(transport):
            lib.ws_transport_abandon(transport)
            raise NativeError(f"{path.name} {KNOWS_ITS_BUFFERS}", lack=True)
        return transport

    def _opened(self, name: str, options: str) -> TransportHandle:
        return self._core.check(
            self._core.lib.ws_transport_open(
                name.encode(), options.encode(), self._control, self._device, self._watchdog.page
            )
        )


def without_effect(path: TransferPath) -> str | None:
    """Why this process would measure another path under this one's name; None if it would not."""
    # MPI reads them as it starts.
    switch = path.switch
    missing = [f"{key}={value}" for key, value in switch.variables.items() if os.environ.get(key) != value]
    if missing:
        return f"start the ranks with {' '.join(missing)} for this path"
    if switch.read_by and not loaded_file(f"{switch.read_by}.so"):
        names = " and ".join(switch.variables)
        return f"{switch.read_by} is not loaded, so that {names} has no effect here"
    return None
