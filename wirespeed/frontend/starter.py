"""Starts the processes of job steps."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from wirespeed import launchers
from wirespeed.evidence.nics import ucx_log
from wirespeed.frontend.job_step import SLOW_LAUNCHER, JobStep
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.profiles import PROFILER_SECONDS, Profiles
from wirespeed.frontend.recording import PathLaunch
from wirespeed.host import gpu_aware_mpi, mpi, private_folder
from wirespeed.host.process import fewer_cpus
from wirespeed.job.plan import Plan, encode
from wirespeed.job.status_page import own_folder
from wirespeed.job.step_spec import ExpectedJob, StepSpec, startup_limit, stuck_after
from wirespeed.paths import TransferPath
from wirespeed.results.recorder import StepJob


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

    def variables(self, path: TransferPath, library: mpi.Mpi) -> dict[str, str]:
        """The environment in which ranks measure the path."""
        hosts = mpi.several_hosts_environment if self.plan.hosts else mpi.one_host_environment
        variables = hosts(library) | library.environment() | path.switch.variables
        if self.plan.hosts or mpi.in_batch_job():
            variables |= ucx_log.variables() | path.switch.across
        return variables | gpu_aware_mpi.aware_environment(library) if path.gpu_aware_ucx else variables

    def job(self, key: StepKey) -> StepJob:
        """The processes that measure these launches, before they have met."""
        launcher = launchers.choose(self.plan.launcher, key.library).name
        variables = self.variables(key.launches[0].path, key.library)
        return StepJob(variables, launcher, self.plan.allocator, {"source": key.library.source})

    @property
    def _elsewhere(self) -> bool:
        """Does something else than this command decide where ranks run?"""
        return bool(self.plan.hosts or launchers.by_batch_system(self.plan.launcher) or mpi.in_batch_job())

    def spec(self, key: StepKey) -> StepSpec:
        """What the ranks that measure these launches are to do."""
        plan, launches, library = self.plan, key.launches, key.library
        own_threads = launches[0].path.traits.own_threads
        cpus = () if self._elsewhere else fewer_cpus()
        spec = StepSpec(
            plan=plan,
            paths=tuple((launch.path.name, launch.sizes) for launch in launches),
            run=f"{self.run}-{self._started}",
            expected=ExpectedJob(library.vendor, library.version, plan.ranks, str(library.library)),
            device=self.found.kind,
            variables=self.variables(launches[0].path, library),
            profiler=self.profiles.command(launches[0].path.name) if self.profiles else (),
            profiles=str(self.profiles.folder) if self.profiles else "",
            base=str(private_folder.of_user()),
            cpus=() if own_threads else cpus,
            threads_leave=not self._elsewhere and not own_threads,
        )
        if (end := self.until(key)) is not None:
            seconds = max(end - time.monotonic(), 0.0)
            spec = replace(spec, seconds=seconds, until=time.time() + seconds)
        return spec

    def start(self, key: StepKey) -> JobStep:
        """The processes that measure these launches."""
        plan, launches, spec = self.plan, key.launches, self.spec(key)
        launcher = launchers.choose(plan.launcher, key.library)
        self._started += 1
        entry = Path(__file__).parents[1] / "rank"
        job = launchers.Job(
            command=(sys.executable, str(entry), encode(spec)),
            ranks=plan.ranks,
            hosts=plan.hosts,
            variables=spec.variables,
            own_threads=launches[0].path.traits.own_threads,
            places_itself=not self._elsewhere and bool(fewer_cpus()),
        )
        return JobStep(
            launcher.command(key.library, job),
            {**os.environ, **spec.variables},
            own_folder(spec.run, spec.base),
            plan.ranks,
            max(startup_limit(plan), stuck_after(plan, max(max(launch.sizes) for launch in launches))),
            PROFILER_SECONDS if self.profiles else SLOW_LAUNCHER,
        )
