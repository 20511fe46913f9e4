"""The way of the data, from a plan to a result file: read it from top to bottom."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path as File
from types import FrameType
from typing import Any

from wirespeed import launch, machine, mpi
from wirespeed.devices import GPU_KINDS
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.judge import Outcome
from wirespeed.libraries import ucx_folder
from wirespeed.machine import Machine
from wirespeed.native import core
from wirespeed.orders import Orders, startup_limit
from wirespeed.page import own_folder, sweep
from wirespeed.paths import Path, all_paths, find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.plan import Plan
from wirespeed.results import record
from wirespeed.results.store import Store, default_name
from wirespeed.watch import JobStep
from wirespeed.world import Promise

Event = dict[str, Any]
Observer = Callable[[Event], None]

PROBE_SIZES = (1, 32 << 10, 4 << 20)
"""A tiny message is not enough to try an MPI with device pointers: each protocol fails in its own way."""


def discover(plan: Plan) -> Machine:
    """What there is to measure here. Raises WirespeedError."""
    return machine.look(plan)


def measure(plan: Plan, observe: Observer) -> ExitCode:
    """Measures the plan: in this process if a launcher made it a rank, else in job steps of its own."""
    if launch.place():
        from wirespeed.inside import measure_inside

        return measure_inside(plan, observe)
    refusal = find_pattern(plan.pattern).refuse(Shape(plan.ranks))
    if refusal:
        raise WirespeedError(refusal)
    found = discover(plan)
    paths = chosen_paths(plan, found)
    if not any(found.availability(path) is None for path in paths):
        path = paths[0]
        raise WirespeedError(f"{path.name}: {found.availability(path)}", ExitCode.UNAVAILABLE)
    sweep()
    run = Run(plan, found, observe)
    with ending_on_signals():
        return run.all_steps(paths)


def chosen_paths(plan: Plan, found: Machine) -> list[Path]:
    """The paths asked for, else every default one that fits the device. Raises WirespeedError."""
    if plan.paths:
        return [find_path(name) for name in plan.paths]
    return [path for path in all_paths() if path.default and (found.kind != "host" or not path.needs_device)]


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
        launch.choose(plan.launcher, self._mpi)  # a launcher that is not there is said before anything starts
        self._id = secrets.token_hex(6)
        self._store = Store(File(plan.out or default_name()), resume=plan.resume)
        self._entries = self._failures = self._steps = 0
        self._done = self._store.done(plan) if plan.resume else set()

    def all_steps(self, paths: list[Path]) -> ExitCode:
        """Measures path after path; whatever breaks costs its own entry only."""
        lib = core().lib
        clock = {"cost_s": lib.ws_clock_cost(), "resolution_s": lib.ws_clock_resolution()}
        self._write(record.run(self._id, self._plan, sys.argv, self._found.devices, clock))
        status = "complete"
        try:
            for index, path in enumerate(paths):
                self._observe(
                    {"kind": "step-start", "path": path.name, "steps_done": index, "steps_total": len(paths)}
                )
                self._one_path(path)
        except KeyboardInterrupt:
            status = "interrupted"
        finally:
            self._write(record.end(self._id, status, self._entries, self._failures))
            self._store.close()
        if status == "interrupted":
            return ExitCode.INTERRUPTED
        if not self._entries and not self._done:
            return ExitCode.UNAVAILABLE if not self._failures else ExitCode.FAILED_ENTRY
        return ExitCode.FAILED_ENTRY if self._failures else ExitCode.OK

    def _one_path(self, path: Path) -> None:
        why = self._found.availability(path)
        if why:
            self._fail(path, Outcome("unavailable", why), None)
            return
        pattern = self._plan.pattern
        sizes = tuple(s for s in self._plan.sizes if (pattern, path.name, s) not in self._done)
        if not sizes:
            return
        library = self._taking(path) if path.gpu_aware_mpi else self._mpi
        if library is None:
            return
        step = self._steps
        self._steps += 1
        outcome = self._job_step(library, path, sizes, step, probe=False)
        if outcome.what != "ok":
            self._fail(path, outcome, step)

    def _taking(self, path: Path) -> mpi.Mpi | None:
        """The MPI that takes the path's pointers: the one measured with, else a wheel that is known to."""
        others: list[mpi.Mpi] = []
        if not self._plan.mpi and self._found.kind in GPU_KINDS:
            others = [other for other in self._found.mpis if mpi.aware_environment(other, ucx_folder())]
        candidates = [self._mpi, *(other for other in others if other != self._mpi)]
        for candidate, following in zip(candidates, [*candidates[1:], None], strict=True):
            outcome = self._job_step(candidate, path, PROBE_SIZES, -1, probe=True)
            if outcome.what == "ok":
                return candidate
            remedy = mpi.aware_remedy(candidate, ucx_folder())
            if following:
                remedy = f"trying {following.title} ({following.source}) instead: --mpi {following.prefix}"
            self._fail(path, _no_device_pointers(candidate, outcome), None, remedy)
        return None

    def _job_step(
        self, library: mpi.Mpi, path: Path, sizes: tuple[int, ...], step: int, probe: bool
    ) -> Outcome:
        launcher = launch.choose(self._plan.launcher, library)
        variables = library.environment() | path.variables
        if path.gpu_aware_mpi:
            variables |= mpi.aware_environment(library, ucx_folder())
        orders = Orders(
            plan=self._plan,
            path=path.name,
            run=f"{self._id}-{path.name}{'-try' if probe else ''}",
            step=step,
            promise=Promise(library.vendor, library.version, self._plan.ranks, str(library.library)),
            device=self._found.kind,
            sizes=sizes,
            variables=variables,
            probe=probe,
        )
        entry = File(__file__).with_name("entry")
        job = launch.Job(
            command=(sys.executable, str(entry), orders.encode()),
            ranks=self._plan.ranks,
            hosts=self._plan.hosts,
            variables=variables,
        )
        pages = own_folder(orders.run)
        watched = JobStep(
            launcher.command(library, job),
            {**os.environ, **variables},
            pages,
            self._plan.ranks,
            startup_limit(self._plan),
        )
        wrong: Outcome | None = None
        for message in watched.messages():
            wrong = self._take(message, path, step, variables, library, launcher.name) or wrong
        return watched.outcome if watched.outcome.what != "ok" else wrong or watched.outcome

    def _take(
        self,
        message: Event,
        path: Path,
        step: int,
        variables: dict[str, str],
        library: mpi.Mpi,
        launcher: str,
    ) -> Outcome | None:
        """Records one message of rank 0; a failure of the whole path comes back."""
        kind = message["kind"]
        if kind == "hello" and step >= 0:
            self._write(
                record.step(
                    self._id,
                    step,
                    path,
                    {**message["mpi"], "source": library.source},
                    launcher,
                    variables,
                    message["ranks"],
                    message["startup_s"],
                )
            )
        elif kind == "entry":
            self._entries += 1
            self._write({**message, "run": self._id})
        elif kind == "failure":
            outcome = Outcome(message["what"], message["text"], message.get("rank"), bytes=message["bytes"])
            if step < 0 or message.get("fatal"):
                return outcome
            self._fail(path, outcome, step)
        elif kind in ("progress", "note"):
            self._observe(message)
        return None

    def _fail(self, path: Path, outcome: Outcome, step: int | None, remedy: str | None = None) -> None:
        if outcome.what != "unavailable":
            self._failures += 1
        self._write(record.failure(self._id, step, path, outcome, remedy))

    def _write(self, line: Event) -> None:
        """First into the file, then to whoever looks on: what was seen is never lost."""
        self._store.append(line)
        self._observe(line)


def _no_device_pointers(library: mpi.Mpi, outcome: Outcome) -> Outcome:
    """What became of an MPI that was handed device pointers, as a line of the table."""
    did = {
        "crash": f"crashed on a device pointer{f' in {outcome.fault}' if outcome.fault else ''}",
        "hang": f"hung on a device pointer ({outcome.text})",
        "death": f"ended the program on a device pointer ({outcome.text})",
    }.get(outcome.what, f"failed on a device pointer ({outcome.text})")
    outcome.what, outcome.text, outcome.bytes = "unavailable", f"{library.title} {did}", None
    return outcome
