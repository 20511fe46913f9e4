"""The way of the data, from a plan to a result file: read it from top to bottom."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from wirespeed import launch
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend import machine
from wirespeed.frontend.job_step import JobStep
from wirespeed.frontend.machine import Machine
from wirespeed.host import mpi
from wirespeed.host.core import core
from wirespeed.host.devices import GPU_KINDS
from wirespeed.host.libraries import ucx_folder
from wirespeed.host.process import allowed_cpus, cores
from wirespeed.job.messages import Message
from wirespeed.job.outcome import Outcome
from wirespeed.job.path_selection import select
from wirespeed.job.plan import Plan
from wirespeed.job.status_page import own_folder, sweep
from wirespeed.job.step_spec import ExpectedJob, StepSpec, startup_limit, stuck_after
from wirespeed.paths import TransferPath, all_paths
from wirespeed.patterns import Shape, find_pattern
from wirespeed.results.model import StepRecord
from wirespeed.results.recorder import Observer, Recorder

MOST_CPU_RANKS = 8
"""Without GPUs and --ranks."""
MOST_UNASKED = 1024
"""A file may speak of so many ranks without --ranks: a slip of the pen must not start a million."""


def discover(plan: Plan) -> Machine:
    """What there is to measure here. Raises WirespeedError."""
    return machine.look(plan)


def measure(plan: Plan, observe: Observer) -> ExitCode:
    """Measures the plan: in this process if a launcher made it a rank, else in job steps of its own."""
    if launch.launched_rank():
        from wirespeed.frontend.in_launcher import measure_inside

        return measure_inside(plan, observe)
    found = discover(plan)
    plan = completed(plan, found)
    refusal = find_pattern(plan.pattern).refuse(Shape(plan.ranks, dict(plan.options)))
    if refusal:
        raise WirespeedError(refusal)
    intra_rank = find_pattern(plan.pattern).intra_rank
    paths = select(plan.paths, found.kind != "host", intra_rank) or select(plan.paths, intra_rank=intra_rank)
    if not any(found.availability(path) is None for path in paths):
        path = paths[0]
        raise WirespeedError(f"{path.name}: {found.availability(path)}", ExitCode.UNAVAILABLE)
    if found.kind == "host" and not plan.hosts:
        allowed_cpus(plan.between)
    sweep()
    run = Run(plan, found, observe)
    with ending_on_signals():
        return run.all_steps(paths)


def completed(plan: Plan, found: Machine) -> Plan:
    """The plan with what depends on the machine and on the pattern: how many ranks, which sizes."""
    pattern, options = find_pattern(plan.pattern), dict(plan.options)
    if not plan.ranks:
        wanted = pattern.wanted_ranks(Shape(0, options))
        if wanted and wanted > MOST_UNASKED:
            raise WirespeedError(f"that takes {wanted} ranks; say so with --ranks {wanted}, if you mean it")
        ranks = wanted or len(plan.between) or len(found.devices) or min(cores(), MOST_CPU_RANKS)
        plan = dataclasses.replace(plan, ranks=max(2, ranks))
    fixed = pattern.fixed_sizes(Shape(plan.ranks, options))
    return plan if fixed is None else dataclasses.replace(plan, sizes=fixed)


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
        if self._recorder.resumed:
            self._same_as_before()

    def all_steps(self, paths: list[TransferPath]) -> ExitCode:
        """Measures path after path; whatever breaks costs its own path only."""
        lib = core().lib
        clock = {"cost_s": lib.ws_clock_cost(), "resolution_s": lib.ws_clock_resolution()}
        self._recorder.begin(sys.argv, self._found.devices, clock)
        status = "interrupted"
        try:
            for index, path in enumerate(paths):
                self._observe(
                    {"kind": "step-start", "path": path.name, "steps_done": index, "steps_total": len(paths)}
                )
                self._one_path(path)
            status = "complete"
        except KeyboardInterrupt:
            pass
        finally:
            code = self._recorder.end(status)
        return code

    def _same_as_before(self) -> None:
        """Figures of another MPI or another machine do not belong into one table. Raises WirespeedError."""
        here = (self._mpi.vendor, self._mpi.version, os.uname().nodename)
        for run, step in zip(self._recorder.before.runs[-1:], self._own_steps()[-1:], strict=False):
            there = (step.mpi.vendor, step.mpi.version, run.environment.host) if step.mpi else here
            other = mpi.NAMES.get(there[0], there[0])
            if there != here:
                self._recorder.close()
                raise WirespeedError(
                    f"--resume: the file was measured on {there[2]} with {other} {there[1]}, this is "
                    f"{here[2]} with {self._mpi.title}; use the same (--mpi) or name another file (--out)"
                )

    def _own_steps(self) -> list[StepRecord]:
        """Earlier steps of paths that no other MPI may have taken over."""
        aware = {path.name for path in all_paths() if path.gpu_aware_mpi}
        return [step for step in self._recorder.before.steps if step.path not in aware]

    def _one_path(self, path: TransferPath) -> None:
        why = self._found.availability(path)
        if why:
            self._recorder.fail(path, Outcome("unavailable", why), None)
            return
        sizes = self._recorder.missing_sizes(path)
        if not sizes:
            return
        candidates = self._candidates(path)
        for library, following in zip(candidates, [*candidates[1:], None], strict=True):
            step, outcome = self._started(path, library, sizes)
            if outcome.what == "ok":
                return
            if step.counting:
                outcome.text = f"after all figures, while bytes were counted: {outcome.text}"
                outcome.bytes = None
            if step.accepted or not path.gpu_aware_mpi:
                self._recorder.fail(path, outcome, step.number if step.accepted else None)
                return
            remedy = None
            if outcome.what == "unavailable":
                # A rank found something lacking before any device pointer was tried.
                outcome.text = f"{library.title}: {outcome.text}"
            else:
                remedy = mpi.aware_remedy(library, ucx_folder())
                outcome = _no_device_pointers(library, outcome)
            if following:
                remedy = f"measured with {following.title} instead (--mpi {following.prefix})"
            self._recorder.fail(path, outcome, None, remedy)

    def _started(self, path: TransferPath, library: mpi.Mpi, sizes: tuple[int, ...]) -> tuple[_Step, Outcome]:
        """A job step; once more where its launcher failed in a way that passes."""
        again = False
        while True:
            step = _Step(self._steps, path, library, launch.choose(self._plan.launcher, library).name)
            self._steps += 1
            outcome = self._job_step(step, sizes)
            if not outcome.passing or again:
                return step, outcome
            again = True
            self._observe({"kind": "note", "text": f"{path.name}: {outcome.text}; starting them once more"})

    def _candidates(self, path: TransferPath) -> list[mpi.Mpi]:
        """The MPI measured with; for device pointers also the wheels that are known to take them."""
        others: list[mpi.Mpi] = []
        if path.gpu_aware_mpi and not self._plan.mpi and self._found.kind in GPU_KINDS:
            others = [other for other in self._found.mpis if mpi.aware_environment(other, ucx_folder())]
        return [self._mpi, *(other for other in others if other != self._mpi)]

    def _job_step(self, step: _Step, sizes: tuple[int, ...]) -> Outcome:
        path, library = step.path, step.library
        launcher = launch.choose(self._plan.launcher, library)
        step.variables = library.environment() | path.variables
        if not self._plan.hosts:
            step.variables = mpi.one_host_environment(library) | step.variables
        if path.gpu_aware_mpi:
            step.variables |= mpi.aware_environment(library, ucx_folder())
        spec = StepSpec(
            plan=self._plan,
            path=path.name,
            run=f"{self._recorder.run}-{step.number}",
            step=step.number,
            expected=ExpectedJob(library.vendor, library.version, self._plan.ranks, str(library.library)),
            device=self._found.kind,
            sizes=sizes,
            variables=step.variables,
        )
        entry = Path(__file__).parents[1] / "rank"
        job = launch.Job(
            command=(sys.executable, str(entry), spec.encode()),
            ranks=self._plan.ranks,
            hosts=self._plan.hosts,
            variables=step.variables,
        )
        watched = JobStep(
            launcher.command(library, job),
            {**os.environ, **step.variables},
            own_folder(spec.run),
            self._plan.ranks,
            max(startup_limit(self._plan), stuck_after(self._plan, max(sizes))),
        )
        wrong: Outcome | None = None
        for message in watched.messages():
            wrong = self._take(message, step) or wrong
        return watched.outcome if watched.outcome.what != "ok" else wrong or watched.outcome

    def _take(self, message: Message, step: _Step) -> Outcome | None:
        """Records one message of rank 0; a failure of the whole path comes back."""
        kind = message["kind"]
        if kind == "hello":
            step.hello = message
        elif kind == "accepted":
            step.accepted = True
            self._recorder.started(step.number, step.path, step.job(message["details"]))
        elif kind in ("entry", "evidence", "wires"):
            step.counting = kind != "entry"
            self._recorder.take(message, step.number)
        elif kind == "failure":
            outcome = Outcome(message["what"], message["text"], message.get("rank"), bytes=message["bytes"])
            if message.get("fatal"):
                return outcome
            self._recorder.fail(step.path, outcome, step.number)
        elif kind in ("progress", "note"):
            self._observe(message)
        return None


@dataclass
class _Step:
    """One job step of the run, as far as it has come."""

    number: int
    path: TransferPath
    library: mpi.Mpi
    launcher: str
    accepted: bool = False
    """The ranks have met, and the path moves bytes at all."""
    counting: bool = False
    """All figures are there."""
    variables: dict[str, str] = field(default_factory=dict)
    hello: Message = field(default_factory=dict)

    def job(self, details: Message) -> Message:
        """What its record says of the ranks and of what they loaded."""
        return {
            "mpi": {**self.hello["mpi"], "source": self.library.source},
            "launcher": self.launcher,
            "variables": self.variables,
            "ranks": self.hello["ranks"],
            "startup_s": self.hello["startup_s"],
            "details": details,
        }


def _no_device_pointers(library: mpi.Mpi, outcome: Outcome) -> Outcome:
    """What became of an MPI that was handed device pointers, as a line of the table."""
    did = {
        "crash": f"crashed on a device pointer{f' in {outcome.fault}' if outcome.fault else ''}",
        "hang": f"hung on a device pointer ({outcome.text})",
        "death": f"ended the program on a device pointer ({outcome.text})",
    }.get(outcome.what, f"failed on a device pointer ({outcome.text})")
    outcome.what, outcome.text, outcome.bytes = "unavailable", f"{library.title} {did}", None
    return outcome
