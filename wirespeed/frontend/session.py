"""Runs a plan: one job step per path and launch, every message recorded. Read it from top to bottom."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from wirespeed import launch
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.evidence.nics import ucx_log
from wirespeed.frontend import machine
from wirespeed.frontend.job_step import SLOW_LAUNCHER, JobStep
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.profiles import PROFILER_SECONDS, Profiles
from wirespeed.frontend.rank_limit import refuse_too_many
from wirespeed.frontend.run_steps import (
    NO_GPUS,
    StepRecorder,
    begin,
    chosen_paths,
    completed,
    step_end,
    step_start,
)
from wirespeed.host import devices, gpu_aware_mpi, mpi
from wirespeed.host.devices import GPU_KINDS
from wirespeed.host.memory import room_for_buffers
from wirespeed.host.process import allowed_cpus, cores
from wirespeed.host.profilers import PROFILERS
from wirespeed.host.temporary import check_temporary_folder
from wirespeed.job.outcome import Outcome
from wirespeed.job.path_selection import unsuited
from wirespeed.job.plan import Plan, encode
from wirespeed.job.shm_cleanup import sweep
from wirespeed.job.status_page import own_folder
from wirespeed.job.step_spec import ExpectedJob, StepSpec, startup_limit, stuck_after
from wirespeed.paths import TransferPath, all_paths
from wirespeed.patterns import Shape, find_pattern
from wirespeed.results.recorder import Observer, Recorder

MOST_CPU_RANKS = 8
"""Without GPUs and --ranks."""


def discover(plan: Plan) -> Machine:
    """What there is to measure here. Raises WirespeedError."""
    return machine.look(plan)


def measure(plan: Plan, observe: Observer) -> ExitCode:
    """Measures the plan: in this process if a launcher made it a rank, else in job steps of its own."""
    if launch.launched_rank():
        from wirespeed.frontend.in_launcher import measure_inside

        return measure_inside(plan, observe)
    refuse_too_many([plan])
    plan = dataclasses.replace(plan, device=devices.with_slices(plan.device, os.environ))
    if plan.profile:
        PROFILERS[plan.profile].command(plan.profile, Path(), "")
    found = discover(plan)
    plan = completed(plan, plan.ranks or _usual_ranks(plan, found), found.kind)
    paths = chosen_paths(plan, found.kind)
    if not any(found.availability(path) is None for path in paths):
        path = paths[0]
        raise WirespeedError(f"{path.name}: {found.availability(path)}", ExitCode.UNAVAILABLE)
    check_temporary_folder()
    if not plan.hosts:
        _check_places(plan, found)
        _check_memory(plan, found)
    sweep()
    run = Run(plan, found, observe)
    with ending_on_signals():
        return run.all_steps(paths)


def _check_places(plan: Plan, found: Machine) -> None:
    """Raises WirespeedError for a processor that this host does not have."""
    if found.kind == "host":
        allowed_cpus(plan.between)
        if plan.ranks_per_gpu:
            raise WirespeedError(NO_GPUS, ExitCode.UNAVAILABLE)
        return
    there = len(found.devices)
    if plan.ranks_per_gpu and plan.ranks > there * plan.ranks_per_gpu:
        raise WirespeedError(devices.too_many(plan.ranks, there, plan.ranks_per_gpu))
    for rank in range(len(plan.between)):
        devices.turn(there, rank, rank, plan.between)


def _check_memory(plan: Plan, found: Machine) -> None:
    """Raises WirespeedError for a program's grid that this host's memory cannot hold."""
    pattern, shape = find_pattern(plan.pattern), Shape(plan.ranks, dict(plan.options))
    # What goes into a file that has figures already is a failure there, and ends nothing else.
    if pattern.view != "program" or plan.resume:
        return
    least = min((int(one.get("bytes") or 0) for one in found.devices), default=0)
    room, needed = room_for_buffers(plan.ranks, least), pattern.extent(0, shape, plan.sizes[0])
    if room is not None and needed > room:
        raise WirespeedError(
            f"--size {shape.options['size']}: it takes two buffers of {_in_mib(needed)} on each "
            f"rank; the memory that is free holds {_in_mib(room)}; write a smaller size"
        )


def _in_mib(bytes_: int) -> str:
    return f"{bytes_ >> 20} MiB"


def _usual_ranks(plan: Plan, found: Machine) -> int:
    """How many ranks, where --ranks does not say."""
    wanted = find_pattern(plan.pattern).wanted_ranks(Shape(0, dict(plan.options)))
    gpus = len(found.devices) * (plan.ranks_per_gpu or 1)
    return max(2, wanted or len(plan.between) or gpus or min(cores(), MOST_CPU_RANKS))


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a run as Ctrl-C does: in order, with a valid file and no orphans."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Run:
    """One run: its result file, and its job steps in order."""

    def __init__(self, plan: Plan, found: Machine, observe: Observer) -> None:
        self._plan, self._found, self._observe = plan, found, observe
        self._mpi = found.mpis[0]
        # A launcher that is not there is said before anything starts.
        launch.check_installed(launch.choose(plan.launcher, self._mpi))
        self._recorder = Recorder(plan, observe)
        self._steps = 0
        self._profiles = Profiles(plan.profile, self._recorder.file) if plan.profile else None
        self._works: dict[str, mpi.Mpi] = {}
        """The MPI under which each path has moved bytes."""
        if self._recorder.resumed:
            self._same_as_before()

    def all_steps(self, paths: list[TransferPath]) -> ExitCode:
        """Measures path after path, launch after launch; whatever breaks costs its own path and launch only.

        All paths take their turn before any is launched again, so that a drift of the machine hits all alike.
        """
        begin(self._recorder, self._found.devices)
        if self._found.hidden:
            self._observe({"kind": "note", "text": self._found.hidden})
        status, launches = "interrupted", self._plan.launches
        try:
            found = self._available(paths)
            every = [(number, path) for number in range(1, launches + 1) for path in found]
            turns = [turn for turn in every if self._recorder.missing_sizes(turn[1], turn[0])]
            done = 0
            while turns:
                number, path = turns.pop(0)
                self._observe(step_start(path, done, done + 1 + len(turns), number, launches))
                try:
                    if not self._one_path(path, number):
                        turns = [turn for turn in turns if turn[1] != path]
                finally:
                    self._observe(step_end())
                done += 1
            status = "complete"
        except KeyboardInterrupt:
            pass
        finally:
            code = self._recorder.end(status)
        if self._profiles:
            self._observe({"kind": "note", "text": self._profiles.said()})
        return code

    def _same_as_before(self) -> None:
        """Figures of another MPI or another machine do not belong into one table. Raises WirespeedError."""
        here = (self._mpi.vendor, self._mpi.version, os.uname().nodename)
        # Another MPI may have taken over a path that hands it device pointers.
        aware = {path.name for path in all_paths() if path.gpu_aware_mpi}
        own = [step for step in self._recorder.before.steps if step.path not in aware]
        for run, step in zip(self._recorder.before.runs[-1:], own[-1:], strict=False):
            there = (step.mpi.vendor, step.mpi.version, run.environment.host) if step.mpi else here
            other = mpi.NAMES.get(there[0], there[0])
            if there != here:
                self._recorder.close()
                raise WirespeedError(
                    f"--resume: the file was measured on {there[2]} with {other} {there[1]}, this is "
                    f"{here[2]} with {self._mpi.title}; use the same (--mpi) or name another file (--out)"
                )

    def _available(self, paths: list[TransferPath]) -> list[TransferPath]:
        """The paths that can be tried here; why the others cannot goes into the file."""
        plan, pattern = self._plan, find_pattern(self._plan.pattern)
        reasons = [
            (
                path,
                self._found.availability(path)
                or unsuited(path, pattern, plan.allocator, plan.device, dict(plan.options)),
            )
            for path in paths
        ]
        for path, why in reasons:
            if why:
                self._recorder.fail(path, Outcome("unavailable", why), None)
        return [path for path, why in reasons if not why]

    def _one_path(self, path: TransferPath, number: int) -> bool:
        """Measures launch `number` of a path. Returns whether another launch may give figures."""
        sizes = self._recorder.missing_sizes(path, number)
        candidates = [self._works[path.name]] if path.name in self._works else self._candidates(path)
        for library, following in zip(candidates, [*candidates[1:], None], strict=True):
            step, outcome = self._started(path, library, sizes, number)
            if step.accepted:
                self._works[path.name] = library
            if outcome.what == "ok":
                return True
            if step.counting:
                outcome.text = f"after all figures, while bytes were counted: {outcome.text}"
                outcome.bytes = None
            if step.accepted or path.name in self._works or not path.gpu_aware_mpi:
                step.fail(outcome)
                return outcome.what != "unavailable" or path.name in self._works
            remedy = None
            if outcome.what == "unavailable":
                # A rank found something lacking before any device pointer was tried.
                outcome.text = f"{library.title}: {outcome.text}"
            else:
                remedy = gpu_aware_mpi.aware_remedy(library)
                if self._plan.context == "own":
                    first = gpu_aware_mpi.OWN_CONTEXT_REMEDY
                    remedy = f"call {first} before the first allocation, as without --context own"
                outcome = _no_device_pointers(library, outcome)
            if following:
                remedy = f"measured with {following.title} instead (--mpi {following.prefix})"
            step.fail(outcome, remedy)
        return path.name in self._works

    def _started(
        self, path: TransferPath, library: mpi.Mpi, sizes: tuple[int, ...], number: int
    ) -> tuple[StepRecorder, Outcome]:
        """A job step; once more where its launcher failed in a way that passes."""
        step, outcome = self._job_step(path, library, sizes, number)
        if outcome.passing:
            self._observe({"kind": "note", "text": f"{path.name}: {outcome.text}; starting them once more"})
            step, outcome = self._job_step(path, library, sizes, number)
        return step, outcome

    def _candidates(self, path: TransferPath) -> list[mpi.Mpi]:
        """The MPI measured with; for device pointers also the wheels that are known to take them."""
        if not path.gpu_aware_mpi or self._plan.mpi or self._found.kind not in GPU_KINDS:
            return [self._mpi]
        aware = [one for one in self._found.mpis if gpu_aware_mpi.aware_environment(one)]
        return list(dict.fromkeys([self._mpi, *aware]))

    def _job_step(
        self, path: TransferPath, library: mpi.Mpi, sizes: tuple[int, ...], number: int
    ) -> tuple[StepRecorder, Outcome]:
        launcher = launch.choose(self._plan.launcher, library)
        hosts = mpi.several_hosts_environment if self._plan.hosts else mpi.one_host_environment
        variables = hosts(library) | library.environment() | path.variables
        if self._plan.hosts or mpi.in_batch_job():
            variables |= ucx_log.variables()
        if path.gpu_aware_ucx:
            variables |= gpu_aware_mpi.aware_environment(library)
        job_said = {
            "mpi": {"source": library.source},
            "launcher": launcher.name,
            "variables": variables,
            "allocator": self._plan.allocator,
        }
        step = StepRecorder(self._steps, path, self._recorder, self._observe, job_said, number)
        self._steps += 1
        spec = StepSpec(
            plan=self._plan,
            path=path.name,
            run=f"{self._recorder.run}-{step.number}",
            step=step.number,
            expected=ExpectedJob(library.vendor, library.version, self._plan.ranks, str(library.library)),
            device=self._found.kind,
            sizes=sizes,
            variables=variables,
            profiler=self._profiles.command(path.name) if self._profiles else (),
            profiles=str(self._profiles.folder) if self._profiles else "",
        )
        entry = Path(__file__).parents[1] / "rank"
        job = launch.Job(
            command=(sys.executable, str(entry), encode(spec)),
            ranks=self._plan.ranks,
            hosts=self._plan.hosts,
            variables=variables,
        )
        watched = JobStep(
            launcher.command(library, job),
            {**os.environ, **variables},
            own_folder(spec.run),
            self._plan.ranks,
            max(startup_limit(self._plan), stuck_after(self._plan, max(sizes))),
            PROFILER_SECONDS if self._profiles else SLOW_LAUNCHER,
        )
        step.ucx_log = watched.ucx_log
        wrong: Outcome | None = None
        for message in watched.messages():
            wrong = step.take(message) or wrong
            if message["kind"] == "picture" and message["row"] + 1 == message["of"]:
                # By every path the field is the same.
                self._plan = dataclasses.replace(self._plan, picture=None)
        return step, watched.outcome if watched.outcome.what != "ok" else wrong or watched.outcome


def _no_device_pointers(library: mpi.Mpi, outcome: Outcome) -> Outcome:
    """What became of an MPI that was handed device pointers, as a line of the table."""
    did = {
        "crash": f"crashed on a device pointer{f' in {outcome.fault}' if outcome.fault else ''}",
        "hang": f"hung on a device pointer ({outcome.text})",
        "death": f"ended the program on a device pointer ({outcome.text})",
    }.get(outcome.what, f"failed on a device pointer ({outcome.text})")
    outcome.what, outcome.text, outcome.bytes = "unavailable", f"{library.title} {did}", None
    return outcome
