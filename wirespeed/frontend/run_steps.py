"""Work of a run inside and outside a user's launcher alike: completing its plan, keeping its records."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import structs, to_builtins

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.evidence.nics.ucx_log import UcxLog
from wirespeed.evidence.nics.used import used
from wirespeed.frontend.rank_messages import Received
from wirespeed.frontend.shared_cpus import sharing
from wirespeed.host.core import core
from wirespeed.host.devices import GPU_KINDS
from wirespeed.host.process import clock_name, span
from wirespeed.job import soaking
from wirespeed.job.messages import (
    Accepted,
    Facts,
    Hello,
    Measured,
    Note,
    PathFailure,
    Picture,
    Progress,
    RankRanges,
)
from wirespeed.job.outcome import Outcome
from wirespeed.job.path_selection import ALL, by_algorithms, select, suited
from wirespeed.job.plan import Plan
from wirespeed.paths import TransferPath, all_paths
from wirespeed.patterns import Option, Shape, find_pattern
from wirespeed.results.decoding import fitted
from wirespeed.results.environment import numa_nodes
from wirespeed.results.events import StepEnd, StepStart
from wirespeed.results.fresh import Fresh
from wirespeed.results.model import Entry, Evidence, Health, LeftOut, RankRecord, Wires
from wirespeed.results.nics import RankNics
from wirespeed.results.parts import Cores
from wirespeed.results.recorder import Observer, Recorder
from wirespeed.results.soak import Soak

BREAKS = ("crash", "death", "hang")
"""Failures of a size after which others of its path may have no figure either."""
NO_GPUS = "--ranks-per-gpu places ranks on GPUs, and there is none to use here"


def completed(plan: Plan, ranks: int, kind: str) -> Plan:
    """The plan for this many ranks on this kind of device, with its pattern's own sizes.

    Raises WirespeedError if the pattern refuses it.
    """
    pattern = find_pattern(plan.pattern)
    options = pattern.completed(dict(plan.options), gpus=kind in GPU_KINDS)
    shape = Shape(ranks, options)
    if refusal := pattern.refuse(shape):
        raise WirespeedError(refusal)
    soaking.refuse(plan, shape)
    if not plan.hosts:
        for option in pattern.options:
            _check_node(option, shape.options.get(option.key))
    rule = pattern.size_rule(shape)
    sizes = rule.chosen(plan.sizes, soak=plan.soak is not None)
    if refusal := next(filter(None, map(rule.refuse, sizes)), None):
        raise WirespeedError(refusal)
    return dataclasses.replace(plan, ranks=ranks, sizes=sizes, options=tuple(options.items()))


def refuse_multiprocessors(plan: Plan, devices: Iterable[Facts]) -> None:
    """Raises WirespeedError where kernels are to run on more multiprocessors than a GPU has."""
    wanted = dict(plan.options).get("multiprocessors")
    most = min((int(device.get("multiprocessors") or 0) for device in devices), default=0)
    if wanted is not None and 0 < most < wanted:
        raise WirespeedError(f"--multiprocessors {wanted}: a GPU here has {most}; write {most} or less")


def _check_node(option: Option, node: int | None) -> None:
    """Raises WirespeedError for a NUMA node that this host does not have."""
    there = numa_nodes()
    if option.each_node and node is not None and there and node not in there:
        raise WirespeedError(
            f"--{option.name} {node}: there is no such NUMA node here; there are: {span(there)}"
        )


def chosen_paths(plan: Plan, kind: str, mpi: bool = True) -> list[TransferPath]:
    """The plan's paths on a machine with this kind of device; at least one. Raises WirespeedError.

    `mpi`: False where no MPI joins the ranks, and other paths are the defaults between host buffers.
    """
    pattern = find_pattern(plan.pattern)
    words = plan.paths or ((ALL,) if pattern.one_sided else ())
    chosen = select(words, kind != "host", pattern.intra_rank)
    chosen = chosen or select(words, intra_rank=pattern.intra_rank)
    if not (mpi or plan.paths or pattern.intra_rank or pattern.one_sided):
        chosen += [path for path in all_paths() if path.instead_of_mpi]
    if pattern.needs_device and kind == "host" and not any(path.name in words for path in chosen):
        raise WirespeedError(f"{pattern.name}: {pattern.needs_device}", ExitCode.UNAVAILABLE)
    options = dict(plan.options)
    # Where GPUs' paths alone have the operation, the reason why they cannot be measured is shown.
    chosen = suited(chosen, plan.paths, pattern, options) or suited(
        select(words, intra_rank=pattern.intra_rank), plan.paths, pattern, options
    )
    if pattern.of_all_ranks:
        return by_algorithms(chosen, pattern, Shape(plan.ranks, dict(plan.options)))
    if not pattern.program:
        return chosen
    if not plan.paths:
        # A CPU takes minutes for a field that a GPU takes seconds for.
        chosen = [path for path in chosen if path.memory == "device"] or chosen
    return [_alone(chosen)] if plan.ranks == 1 else chosen


def _alone(chosen: list[TransferPath]) -> TransferPath:
    """What one rank measures, which needs no path: its work, where these paths have their data."""
    on_device = any(path.memory == "device" for path in chosen)
    return next(path for path in all_paths() if path.work_alone and (path.memory == "device") == on_device)


@dataclass
class StepRecorder:
    """One job step, as far as it has come: what rank 0 tells of it goes into the result file."""

    number: int
    path: TransferPath
    recorder: Recorder
    observe: Observer
    job: Facts
    """Facts of its record about the ranks and what they loaded."""
    launch: int = 1
    accepted: bool = False
    """The ranks have met, and the path moves bytes at all."""
    counting: bool = False
    """All figures are there."""
    late: bool = False
    """There was no time to count the path's bytes."""
    measured: set[int] = field(default_factory=set)
    """Sizes that have a figure."""
    ucx_log: UcxLog = field(default_factory=UcxLog)
    """Lines that the ranks' UCX has written so far."""
    _named: dict[int, list[Facts]] = field(default_factory=dict)
    """The NICs in each rank's log."""
    _wires: list[Facts] = field(default_factory=list)
    """The path's wires, as the hosts' drivers describe them."""

    def take(self, message: Received) -> Outcome | None:
        """Records one message of rank 0; a failure of the whole path comes back."""
        match message:
            case Hello():
                self.job |= {"ranks": message.ranks, "startup_s": message.startup_s}
                self.job["mpi"] |= message.mpi
            case Accepted():
                self.accepted = True
                self._named = dict(enumerate(message.nics))
                self.recorder.started(self.number, self.path, self._described(message))
            case Measured():
                self.counting = True
                self.late = message.late
            case Entry() | Soak() | Fresh() | Wires() | Evidence() | Health():
                self.counting = self.counting or not isinstance(message, Entry | Soak | Fresh)
                self.recorder.take(self._completed(message), self.number, self.launch)
            case PathFailure():
                outcome = Outcome(message.what, message.text, message.rank, bytes=message.bytes)
                if message.fatal:
                    return outcome
                self.fail(outcome)
            case RankRanges():
                # The front end reads rank 0's clock, unless that one is on another host.
                same = message.shared == clock_name()
                shift = 0 if same else time.monotonic_ns() - message.now
                self.observe(message._replace(shift=shift))
            case Progress() | Note() | Picture():
                self.observe(message)
        return None

    def _completed(self, record: RankRecord) -> RankRecord:
        """The record with what follows from the other ranks' places and logs."""
        match record:
            case Wires():
                self._wires = to_builtins(record.wires)
            case Evidence():
                nics, differ = self._nics(to_builtins(record.wires), {nics.rank for nics in record.nics})
                return structs.replace(record, nics=fitted(list[RankNics], nics), nics_differ=differ)
            case Entry():
                self.measured.add(record.bytes)
                cores = structs.replace(record.cores or Cores(), shared=self._shared)
                return structs.replace(record, cores=cores)
        return record

    @cached_property
    def _shared(self) -> str | None:
        """Which ranks share CPUs: the same for every figure."""
        return sharing(self.job.get("ranks", ()))

    def _nics(self, counted: list[Facts], between_hosts: set[int]) -> tuple[list[Facts], str | None]:
        """By which NICs the bytes of these ranks left their hosts, and where logs and counters differ."""
        ranks = [item for item in self.job.get("ranks", ()) if item["rank"] in between_hosts]
        if self.path.traits.over_ucx:
            self._named = {rank["rank"]: self.ucx_log.of(rank) for rank in ranks}
        return used(ranks, self._named, self._wires, counted)

    def _described(self, accepted: Accepted) -> Facts:
        told = {"details": accepted.details, "pointers": accepted.pointers}
        return {**self.job, "launch": self.launch, **told}

    def fail(self, outcome: Outcome, remedy: str | None = None) -> None:
        """Records what gave no figure, under this step if the path was measured at all."""
        outcome.launch = self.launch
        self.recorder.fail(self.path, outcome, self.number if self.accepted else None, remedy)


class RunRecorder(Recorder):
    """A run's records and events, path after path, inside and outside a user's launcher alike."""

    def __init__(self, plan: Plan, observe: Observer) -> None:
        super().__init__(plan, observe)
        self._launches, self._over = plan.launches, 0
        self.planned: list[tuple[TransferPath, int, tuple[int, ...]]] = []
        """What can be measured: paths, launches, sizes."""
        self._made: list[StepRecorder] = []

    def begin_here(self, devices: Iterable[Facts]) -> None:
        """Writes the run's first record, of this process's command and clock."""
        lib = core().lib
        clock = {"cost_s": lib.ws_clock_cost(), "resolution_s": lib.ws_clock_resolution()}
        self.begin(sys.argv, devices, clock)

    def start_path(self, path: TransferPath, to_come: int, launch: int = 1) -> None:
        """Tells the observer that a path begins. `to_come`: as many follow it."""
        total = self._over + 1 + to_come
        event = StepStart(path.name, time.monotonic_ns(), self._over, total, launch, self._launches)
        self._observe(event)

    def end_path(self) -> None:
        """Tells the observer that the path is over."""
        self._observe(StepEnd(time.monotonic_ns()))
        self._over += 1

    def end(self, status: str, left_out: Sequence[LeftOut] = (), *, bounded: bool = False) -> ExitCode:
        """As of Recorder. `bounded`: what is lacking was left out, because the run has a bound."""
        if not bounded or status != "complete":
            return super().end(status, left_out)
        measured = {path for path, _ in self._measured.figures}
        late = (step for step in self._made if step.late and step.path.name in measured)
        uncounted = (LeftOut(path=step.path.name, launch=step.launch) for step in late)
        return super().end(status, [*left_out, *self._lacking(), *uncounted])

    def _lacking(self) -> Iterator[LeftOut]:
        """Sizes with neither a figure nor a failure, of paths that have not broken."""
        run = self._measured
        broken = {(f.path, f.launch) for f in run.recorded_failures if f.whole_path or f.what in BREAKS}
        failed = {(f.path, f.bytes, f.launch) for f in run.recorded_failures}
        known: set[tuple[str, int | None, int]] = {
            (path, size, each.launch) for (path, size), entry in run.figures.items() for each in entry.each
        }
        known |= failed | {*run.soaks}
        for path, launch, planned in self.planned:
            sizes = [size for size in planned if (path.name, size, launch) not in known]
            if sizes and (path.name, launch) not in broken:
                yield LeftOut(path=path.name, launch=launch, sizes=sizes)

    def next_step(self, path: TransferPath, job: Facts, launch: int = 1) -> StepRecorder:
        """Records of the path's next processes. `job`: facts about the ranks and what they loaded."""
        self._made.append(StepRecorder(len(self._made), path, self, self._observe, job, launch))
        return self._made[-1]
