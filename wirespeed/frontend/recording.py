"""What a run's ranks tell goes into its file, path after path, whoever has started them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from msgspec import structs, to_builtins

from wirespeed.errors import ExitCode
from wirespeed.evidence.nics.ucx_log import UcxLog
from wirespeed.evidence.nics.used import used
from wirespeed.frontend.rank_messages import Received
from wirespeed.frontend.shared_cpus import sharing
from wirespeed.host.core import core
from wirespeed.host.process import clock_name
from wirespeed.job.messages import (
    Accepted,
    Facts,
    Hello,
    Measured,
    Note,
    PathFailure,
    PathStart,
    Picture,
    Progress,
    RankPlace,
    RankRanges,
)
from wirespeed.job.outcome import Outcome
from wirespeed.job.plan import Plan
from wirespeed.paths import TransferPath
from wirespeed.results.decoding import fitted
from wirespeed.results.model import (
    Entry,
    Evidence,
    Failure,
    Fresh,
    Health,
    LeftOut,
    RankRecord,
    StepEnd,
    StepStart,
    Wires,
)
from wirespeed.results.parts import Cores, RankNics
from wirespeed.results.recorder import Observer, Recorder, StepJob
from wirespeed.results.soak import Soak


@dataclass
class StepRecorder:
    """One job step, as far as it has come: what rank 0 tells of it goes into the result file."""

    number: int
    path: TransferPath
    recorder: Recorder
    observe: Observer
    job: StepJob
    launch: int = 1
    accepted: bool = False
    """The ranks have met, and the path moves bytes at all."""
    counting: bool = False
    """All figures are there."""
    late: bool = False
    """There was no time to count the path's bytes."""
    began: float = field(default_factory=time.monotonic)
    first_figure_s: float = 0.0
    """From then on until its first figure, or until it ended without one."""
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
                mpi = {**(self.job.mpi or {}), **message.mpi} if message.mpi else None
                self.job = replace(self.job, mpi=mpi, ranks=message.ranks, startup_s=message.startup_s)
            case Accepted():
                self.accepted = True
                self._named = dict(enumerate(message.nics))
                found = {"details": message.details, "pointers": message.pointers}
                self.recorder.started(self.number, self.path, self.job, launch=self.launch, **found)
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
                self.first_figure_s = self.first_figure_s or time.monotonic() - self.began
                self.measured.add(record.bytes)
                cores = structs.replace(record.cores or Cores(), shared=self._shared)
                return structs.replace(record, cores=cores)
        return record

    @cached_property
    def _shared(self) -> str | None:
        """Which ranks share CPUs: the same for every figure."""
        return sharing(self.job.ranks)

    def _nics(self, counted: list[Facts], between_hosts: set[int]) -> tuple[list[Facts], str | None]:
        """By which NICs the bytes of these ranks left their hosts, and where logs and counters differ."""
        ranks = [item for item in self.job.ranks if item["rank"] in between_hosts]
        if self.path.traits.over_ucx:
            self._named = {rank["rank"]: self.ucx_log.of(rank) for rank in ranks}
        return used(ranks, self._named, self._wires, counted)

    def fail(self, outcome: Outcome, remedy: str | None = None) -> None:
        """Records what gave no figure, under this step if the path was measured at all."""
        outcome.launch = self.launch
        self.recorder.fail(self.path, outcome, self.number if self.accepted else None, remedy)


@dataclass(frozen=True)
class PathLaunch:
    """A path in one launch, and the sizes that are to be measured."""

    path: TransferPath
    number: int
    sizes: tuple[int, ...]
    after_hang: bool = False
    """Did the path hang at the size before?"""


class RunRecorder(Recorder):
    """A run's records and events, path after path, as rank 0 tells of them: to the front end that has started
    it, or in a user's own launcher to itself.
    """

    step: StepRecorder
    """Of the path under way."""

    def __init__(self, plan: Plan, observe: Observer) -> None:
        super().__init__(plan, observe)
        self._over, self._under_way = 0, False
        self.to_come: list[PathLaunch] = []
        """Launches of paths that have not begun."""
        self._planned: tuple[PathLaunch, ...] = ()
        self._together: Sequence[PathLaunch] = ()
        """Those that the same processes measure."""
        self._made: list[StepRecorder] = []
        self.wrong = Outcome()
        """What has gone wrong with the path under way."""
        self.settle: Callable[[StepRecorder, Outcome], object] = _record_failure
        """Takes what became of a path."""
        self._figures = 0
        """How many there were when the last launches had come to their end."""

    def resolved(self, plan: Plan) -> None:
        """Learns what the plan has become once all ranks had met."""
        self._plan = replace(plan, out=str(self.file))

    def plans(self, paths: Sequence[TransferPath]) -> None:
        """All paths take their turn before any is launched again, so that a drift of the machine hits all
        alike; what the file has already is not measured again.
        """
        every = ((number, path) for number in range(1, self._plan.launches + 1) for path in paths)
        missing = self.missing_sizes
        self._planned = tuple(PathLaunch(path, n, sizes) for n, path in every if (sizes := missing(path, n)))
        self.to_come[:] = self._planned

    def again(self, seconds: float, *, anew: bool = True) -> bool:
        """What the bound left no time for is to come once more, as long as that gives figures.

        `seconds`: that are left for it. `anew`: in new processes: a path that took longer until its first
        figure does not come.
        """
        if not seconds or self._figures == self._entries:
            return False
        self._figures = self._entries
        gone = {failure.path for failure in self._failures_here if failure.whole_path}
        gone |= {step.path.name for step in self._made if anew and step.first_figure_s > seconds}
        self.to_come[:] = (launch for launch in self._lacking() if launch.path.name not in gone)
        return bool(self.to_come)

    def begin_here(self, devices: Iterable[Facts]) -> None:
        """Writes the run's first record, of this process's command and clock."""
        lib = core().lib
        clock = {"cost_s": lib.ws_clock_cost(), "resolution_s": lib.ws_clock_resolution()}
        self.begin(sys.argv, devices, clock)

    def start_path(self, launch: PathLaunch) -> None:
        """Tells the observer that a path begins."""
        self._under_way = True
        self.to_come.remove(launch)
        total, launches = self._over + 1 + len(self.to_come), self._plan.launches
        self._observe(
            StepStart(launch.path.name, time.monotonic_ns(), self._over, total, launch.number, launches)
        )

    def begin_step(self, launches: Sequence[PathLaunch], job: StepJob, log: UcxLog | None = None) -> None:
        """Processes begin that measure these, one after the other. `log`: lines that their UCX writes."""
        self._together, self.wrong = launches, Outcome()
        self._record(launches[0], job, log or UcxLog())

    @property
    def ranks(self) -> Sequence[RankPlace]:
        """Of the job step, once they have met."""
        return self.step.job.ranks if self._made else ()

    def told(self, message: Received) -> None:
        """What rank 0 tells."""
        if not isinstance(message, PathStart):
            self.wrong = (self.step.take(message) if self._made else None) or self.wrong
        elif 0 < message.place < len(self._together):
            self.path_over(Outcome())
            self.start_path(launch := self._together[message.place])
            # Its processes were there already.
            self._record(launch, replace(self.step.job, startup_s=0.0), self.step.ucx_log)

    def _record(self, launch: PathLaunch, job: StepJob, log: UcxLog) -> None:
        self.step = StepRecorder(
            len(self._made), launch.path, self, self._observe, job, launch.number, ucx_log=log
        )
        self._made.append(self.step)

    def path_over(self, outcome: Outcome) -> None:
        """The path under way has come to its end."""
        self.fail_path(outcome)
        self.end_path()

    def fail_path(self, outcome: Outcome) -> None:
        """What has ended the path under way, if there is one, beside what has gone wrong with it."""
        for what in (self.wrong, outcome) if self._made else ():
            self.settle(self.step, what)
        self.wrong = Outcome()

    def end_path(self) -> None:
        """Tells the observer that the path is over."""
        self._observe(StepEnd(time.monotonic_ns()))
        self._over, self._under_way = self._over + 1, False
        if self._made:
            self.step.first_figure_s = self.step.first_figure_s or time.monotonic() - self.step.began

    def end(self, status: str, left_out: Sequence[LeftOut] = (), *, bounded: bool = False) -> ExitCode:
        """As of Recorder. `bounded`: what is lacking was left out, because the run has a bound."""
        if not bounded or status != "complete":
            return super().end(status, left_out)
        measured = {path for path, _ in self._measured.figures}
        counted = {(step.path.name, step.launch) for step in self._made if step.counting and not step.late}
        late = {(step.path.name, step.launch) for step in self._made if step.late} - counted
        uncounted = (LeftOut(path=path, launch=launch) for path, launch in sorted(late) if path in measured)
        lacking = (
            LeftOut(path=launch.path.name, launch=launch.number, sizes=[*launch.sizes])
            for launch in self._lacking()
        )
        return super().end(status, [*left_out, *lacking, *uncounted])

    @property
    def _failures_here(self) -> list[Failure]:
        """Those of paths that were not measured by another MPI instead."""
        return [failure for failure in self._measured.recorded_failures if not failure.cause.instead]

    def _lacking(self) -> Iterator[PathLaunch]:
        """Sizes with neither a figure nor a failure, of paths that have not broken."""
        run, failures = self._measured, self._failures_here
        broken = {(f.path, f.launch) for f in failures if f.whole_path or f.ended_processes}
        failed = {(f.path, f.bytes, f.launch) for f in failures}
        known: set[tuple[str, int | None, int]] = {
            (path, size, each.launch) for (path, size), entry in run.figures.items() for each in entry.each
        }
        known |= failed | {*run.soaks}
        for launch in self._planned:
            name, number = launch.path.name, launch.number
            sizes = tuple(size for size in launch.sizes if (name, size, number) not in known)
            if sizes and (name, number) not in broken:
                yield PathLaunch(launch.path, number, sizes)


def _record_failure(step: StepRecorder, outcome: Outcome) -> None:
    if outcome.what != "ok":
        step.fail(outcome)
