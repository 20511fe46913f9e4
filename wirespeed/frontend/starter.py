"""Starts the processes of job steps: when their turn has come, or ahead of it.

Processes that are started ahead join their MPI and open their device while an earlier step measures, on CPUs
that are free then, and wait at a start barrier (job/start_barrier.py).
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirespeed import launchers
from wirespeed.evidence.nics import ucx_log
from wirespeed.frontend.job_step import SLOW_LAUNCHER, JobStep
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.profiles import PROFILER_SECONDS, Profiles
from wirespeed.host import gpu_aware_mpi, mpi, private_folder
from wirespeed.host.cgroup import cpu_quota
from wirespeed.host.process import cpu_list, fewer_cpus, on_cpus, own_cpus
from wirespeed.job.messages import Facts, RankPlace
from wirespeed.job.plan import Plan, encode
from wirespeed.job.status_page import own_folder
from wirespeed.job.step_spec import ExpectedJob, StepSpec, startup_limit, stuck_after
from wirespeed.paths import TransferPath

APART_S = 0.5
"""Seconds between two job steps that start ahead."""


@dataclass(frozen=True)
class PathLaunch:
    """A path in one launch, and the sizes that are to be measured."""

    path: TransferPath
    number: int
    sizes: tuple[int, ...]
    after_hang: bool = False
    """Did the path hang at the size before?"""


@dataclass(frozen=True)
class StepKey:
    """Identity of a job step: what it measures, and with which MPI."""

    launches: tuple[PathLaunch, ...]
    library: mpi.Mpi


@dataclass
class Starter:
    """Starts job steps of one run, each once."""

    plan: Plan
    found: Machine
    run: str
    profiles: Profiles | None
    until: Callable[[StepKey], float | None]
    """When the job step is to be over, by the monotonic clock; None: it has no bound."""
    _started: int = 0
    _latest: float = -math.inf
    """When processes were last started ahead."""
    _waiting: dict[StepKey, JobStep] = field(default_factory=dict)
    _bound: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By an MPI's vendor: the CPUs of each rank, to which its launcher binds it."""
    _measured: set[int] = field(default_factory=set)
    """The CPUs on which ranks measure now."""

    def variables(self, path: TransferPath, library: mpi.Mpi) -> dict[str, str]:
        """The environment in which ranks measure the path."""
        hosts = mpi.several_hosts_environment if self.plan.hosts else mpi.one_host_environment
        variables = hosts(library) | library.environment() | path.variables
        if self.plan.hosts or mpi.in_batch_job():
            variables |= ucx_log.variables() | path.across
        return variables | gpu_aware_mpi.aware_environment(library) if path.gpu_aware_ucx else variables

    def start(self, key: StepKey) -> JobStep:
        """The processes that measure these launches; those that wait for them, if there are any."""
        waiting = self._waiting.pop(key, None)
        if waiting and waiting.ended:
            # Why they ended is best seen of processes that were watched from their start.
            waiting.abandon()
            waiting = None
        return waiting or self._launched(key, ahead=False)

    def said(self, key: StepKey) -> Facts:
        """Words of a step's record about the start of its processes."""
        return {
            "mpi": {"source": key.library.source},
            "launcher": launchers.choose(self.plan.launcher, key.library).name,
            "variables": self.variables(key.launches[0].path, key.library),
            "allocator": self.plan.allocator,
        }

    def start_ahead(self, coming: Iterable[StepKey], beside: Sequence[TransferPath]) -> None:
        """Starts the next job step that has no processes yet, if there are free CPUs for it.

        One at a time: the CPUs that they keep busy as they start may be fewer than there seem to be. But the
        MPIs that one path tries are waited for one right after the other.
        `beside`: the path that is measured now and the one after it; where CPUs move the bytes of either,
        nothing is started.
        """
        if time.monotonic() - self._latest < APART_S:
            return
        free = self._free_cpus(beside)
        begun: StepKey | None = None
        for key in coming:
            # A launcher, or a helper thread of a library, takes its time, too.
            free -= self.plan.ranks + 1
            if free < 0 or (begun and key.launches != begun.launches):
                return
            if key not in self._waiting:
                self._waiting[key] = self._launched(key, ahead=True)
                self._latest = time.monotonic()
                begun = key

    def met(self, step: StepKey, ranks: Sequence[RankPlace]) -> None:
        """The ranks of a step have met, on CPUs that their MPI's launcher gives to those of any other."""
        if self._elsewhere:
            return
        bound = tuple(rank["cpus"] for rank in ranks)
        self._measured = {cpu for cpus in bound for cpu in cpu_list(cpus)}
        if not step.launches[0].path.own_threads:
            self._bound[step.library.vendor] = bound

    def works(self, step: StepKey) -> None:
        """A step's path moves bytes: nobody wants the processes that wait to try it with another MPI."""
        for key in [key for key in self._waiting if key.launches == step.launches and key != step]:
            self._waiting.pop(key).abandon()

    @property
    def _elsewhere(self) -> bool:
        """Does something else than this command decide where ranks run?"""
        return bool(self.plan.hosts or launchers.by_batch_system(self.plan.launcher) or mpi.in_batch_job())

    def waits(self, key: StepKey | None) -> bool:
        """Do processes wait for these launches? A GPU may let one process in at a time."""
        return key in self._waiting and not self._waiting[key].ended

    def end(self) -> None:
        """Ends those that still wait."""
        while self._waiting:
            self._waiting.popitem()[1].abandon()

    def _free_cpus(self, beside: Sequence[TransferPath]) -> int:
        """CPUs beside those of the ranks that measure; 0 where nothing is to be started ahead."""
        asked = dict(self.plan.test).get("ahead")
        if asked is not None:
            return 1024 * int(asked)
        elsewhere = self.plan.hosts or launchers.by_batch_system(self.plan.launcher)
        # A profiler, a picture, CPUs by name and a launch of its own belong to the launch itself.
        own = self.profiles or self.plan.picture or self.plan.between or self.plan.launches > 1
        if elsewhere or own or any(path.cpu_moves for path in beside):
            return 0
        cpus = float(len(os.sched_getaffinity(0)))
        return int(min(cpus, cpu_quota() or cpus)) - self.plan.ranks

    def _launched(self, key: StepKey, ahead: bool) -> JobStep:
        plan, launches, library = self.plan, key.launches, key.library
        launcher = launchers.choose(plan.launcher, library)
        variables = self.variables(launches[0].path, library)
        own_threads = launches[0].path.own_threads
        cpus = () if self._elsewhere else fewer_cpus()
        bound, aside = self.cpus_ahead(key) if ahead else (), os.sched_getaffinity(0)
        if bound:
            aside = self.aside()
        spec = StepSpec(
            plan=plan,
            paths=tuple((launch.path.name, launch.sizes) for launch in launches),
            run=f"{self.run}-{self._started}",
            expected=ExpectedJob(library.vendor, library.version, plan.ranks, str(library.library)),
            device=self.found.kind,
            variables=variables,
            profiler=self.profiles.command(launches[0].path.name) if self.profiles else (),
            profiles=str(self.profiles.folder) if self.profiles else "",
            ahead=ahead,
            base=str(private_folder.of_user()),
            cpus=() if own_threads else cpus,
            bound=bound,
            threads_leave=not self._elsewhere and not own_threads,
        )
        if (end := self.until(key)) is not None:
            seconds = max(end - time.monotonic(), 0.0)
            spec = replace(spec, seconds=seconds, until=time.time() + seconds)
        self._started += 1
        entry = Path(__file__).parents[1] / "rank"
        job = launchers.Job(
            command=(sys.executable, str(entry), encode(spec)),
            ranks=plan.ranks,
            hosts=plan.hosts,
            variables=variables,
            own_threads=own_threads,
            places_itself=bool(cpus or bound),
        )
        # Where ranks are from their first moment on: others measure on the CPUs that will be their own.
        told = {"WIRESPEED_AHEAD": ",".join(map(str, sorted(aside)))} if ahead else {}
        with on_cpus(sorted(aside) if bound else ()):
            return JobStep(
                launcher.command(library, job),
                {**os.environ, **variables, **told},
                own_folder(spec.run, spec.base),
                plan.ranks,
                max(startup_limit(plan), stuck_after(plan, _largest(launches))),
                PROFILER_SECONDS if self.profiles else SLOW_LAUNCHER,
                ahead,
            )

    def cpus_ahead(self, key: StepKey) -> tuple[str, ...]:
        """The CPUs that each rank of a step has when its turn comes; empty: its launcher knows them alone.

        Until it runs our code, a rank that is bound would be on the CPU of one that measures.
        """
        if self._elsewhere:
            return ()
        if key.launches[0].path.own_threads:
            return (own_cpus(),) * self.plan.ranks
        return self._bound.get(key.library.vendor, ())

    def aside(self) -> set[int]:
        """The CPUs on which no rank measures; all where there are none."""
        own = os.sched_getaffinity(0)
        return own - self._measured or own


def _largest(launches: Sequence[PathLaunch]) -> int:
    return max(max(launch.sizes) for launch in launches)
