"""Show what this machine has and how fast it is: run it first.

On one screen, in a quarter of a minute: the memory of CPUs and GPUs, copies between host and GPU, the fastest
path between GPUs, MPI between CPUs, and whether MPI takes device pointers; each with its limit. Then whether
to trust the figures, what stands out, and what to run next. 'wirespeed show FILE' prints all its figures.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from wirespeed.cli.common import called, words
from wirespeed.cli.common.help_all import help_all
from wirespeed.cli.common.options import (
    Reporting,
    dry_run,
    flag,
    formatted,
    plan_of,
    recording,
    where,
    within,
)
from wirespeed.cli.common.streams import note, one_of_ranks
from wirespeed.errors import ExitCode, WirespeedError, gravest
from wirespeed.host.caches import cache_bytes
from wirespeed.host.cgroup import cpu_quota
from wirespeed.host.memory import free_memory
from wirespeed.host.process import cores
from wirespeed.job.plan import Plan

if TYPE_CHECKING:
    from wirespeed.frontend.bound import Bound
    from wirespeed.frontend.machine import Machine
    from wirespeed.results.findings import RecordedFinding
    from wirespeed.results.model import Event, Head
    from wirespeed.results.runs import Run

SHORT, LONG = 8, 16 << 20
"""Bytes of a message whose time is a latency, and of one whose bandwidth is that of its wire."""
LARGEST, OF_MANY = 512 << 20, 256 << 20
"""Bytes of a copy by one GPU, and of a message between two, where memory has room; with more GPUs."""
MEMORY = 64 << 20
"""Bytes of each CPU's copy: together they are beyond the caches."""
MAX_CPUS = 16
"""CPUs that copy at once: their processes start in two seconds."""
COPIES = ("h2d-pinned", "d2h-pinned", "d2d")
BETWEEN_GPUS = ("host", "ipc-write", "gpu")
"""MPI between CPUs, and the fastest of each kind without MPI on the machines in results/."""
AWARE, STAGED = "aware", "staged-pipelined"
"""GPU-aware MPI, which may crash and starts alone; the fastest path of GPUs that do not reach each other."""
USUAL_S, OF_MANY_S = 15.0, 20.0
"""Seconds of the whole command; on more than two GPUs."""
PART_S = 4.0
"""Seconds that a part may take, however many follow: on a busy machine processes start in as many."""
START, PAIRS = 2, 2
"""What the start of processes takes, in times of a path; paths by which all pairs are measured."""
TWO_MPIS_S = 4.2
"""Seconds in which one MPI crashes on a device pointer and another one has figures, on two H200s."""
BUFFERS = 6
"""Buffers of a rank: two, two more for staging or checks, and half as much again stays free."""


@click.command(help=__doc__)
@within("Time of the whole command; 0: none. Default: 15s, with more than two GPUs 20s.")
@recording
@formatted(words.choice("table", "json", "ticket"), "How to print the result.", "json", "ticket")
@flag("--explain", "Also print the table of each part, and what its columns and marks mean.")
@dry_run
@where
@help_all
def command(style: str, explain: bool, dry_run: bool, **given: Any) -> ExitCode:
    """Measures and prints."""
    base = plan_of(given)
    timed = given["budget"] is not None
    if one_of_ranks():
        raise WirespeedError(
            "survey starts jobs of its own: not inside a launcher's job, whose ranks pingpong measures"
        )
    from wirespeed.cli.common.dry_run import print_orders
    from wirespeed.cli.common.waking import wake_gpus

    if not dry_run:
        wake_gpus(base.device)
    from wirespeed.cli.common.measuring import tell_missed
    from wirespeed.frontend import session
    from wirespeed.report.terminal.survey import next_steps, print_machine, print_next, print_survey
    from wirespeed.results.runs import resumed

    how = Reporting(style, explain=explain)
    machine, console = session.discover(base), how.console()
    if not timed:
        base = replace(base, budget=USUAL_S if len(machine.devices) <= 2 else OF_MANY_S)
    survey = Survey(base, machine, lambda head: print_machine(console, head, machine))
    if dry_run:
        if len(machine.devices) > 2:
            note("the pairs of GPUs come after those parts, by the paths that turn out to be the fastest")
        return print_orders([*survey.parts()], as_json=style == "json")
    code = survey.measure()
    if not survey.records:
        return code
    runs, launcher = resumed(survey.runs), called.launcher(machine.mpis[0])
    if style == "table":
        print_survey(console, runs, _findings(base, survey.file, runs))
    if style != "table" or explain:
        how.print(runs, _findings(base, survey.file, runs) if style != "table" else ())
    interrupted = code == ExitCode.INTERRUPTED
    steps = next_steps(base, survey.file, machine, called.wirespeed(), launcher, interrupted=interrupted)
    print_next(console, survey.file, steps)
    tell_missed(survey.bound)
    return code


class Survey:
    """Its parts, measured one after the other into one file."""

    def __init__(self, base: Plan, machine: Machine, begin: Callable[[Head], None]) -> None:
        self._base, self._machine, self._begin = base, machine, begin
        self.file = base.out or ""
        self.bound: Bound | None = None
        self.records: list[Event] = []

    @property
    def runs(self) -> list[Run]:
        """As far as they have been measured."""
        from wirespeed.results.runs import collect

        return collect(self.records)

    def measure(self) -> ExitCode:
        """A part that this machine lacks costs no other one. Raises WirespeedError where all are lacking."""
        from wirespeed.cli.common.measuring import GO_ON, bound_of, measure_plan
        from wirespeed.frontend.bound import LEAST_S

        codes: list[ExitCode] = []
        lacking: list[WirespeedError] = []
        late: list[str] = []
        self.bound = bound = bound_of(self._base)
        *planned, last = self.parts()
        gpus = len(self._machine.devices)
        # Beside several GPUs the memory of CPUs has what the others leave.
        to_come = START + sum(map(_weight, planned if gpus > 1 else [*planned, last]))
        to_come += (START + 2 * PAIRS) * (gpus > 2)
        for number, plan in enumerate(self.parts()):
            # The first start of all takes longest: libraries come from the disk.
            weight = START * (number == 0) + _weight(plan)
            share, to_come = weight / to_come, max(to_come - weight, 1)
            if bound and number and bound.left < LEAST_S:
                late.append(_name(plan))
                continue
            if self.records:
                plan = replace(plan, out=self.file, resume=True)
            try:
                part = bound.part(1 / min(share, 1), PART_S) if bound else None
                measured = measure_plan(plan, None if codes else self._begin, bound=part)
            except WirespeedError as error:
                if error.code != ExitCode.UNAVAILABLE:
                    raise
                lacking.append(error)
                continue
            self.file, self.records = measured.file, measured.records
            codes.append(measured.code)
            if measured.code not in GO_ON:
                break
        if late:
            note(f"left out for {bound}: {', '.join(dict.fromkeys(late))}; --within 0 measures all")
        if not codes:
            raise lacking[0]
        return gravest(*[code for code in codes if code != ExitCode.UNAVAILABLE] or codes)

    def parts(self) -> Iterator[Plan]:
        """Each plan as soon as those before it have been measured; the memory of CPUs comes last, where time
        is short."""
        base = replace(self._base, ranks=0)
        if self._machine.devices:
            yield from self._parts_of_gpus(base)
        cpu, cpus = replace(base, device="cpu"), usable_cpus()
        if len(self._machine.devices) < 2:
            yield replace(cpu, paths=("host",), sizes=(SHORT, beyond_caches()))
        memory = replace(cpu, pattern="copy", ranks=cpus, paths=("h2h",), reported_phase_only=True)
        counts = base.evidence and not self._machine.devices
        yield replace(memory, sizes=(fitting(MEMORY, cpus),), evidence=counts)

    def _parts_of_gpus(self, base: Plan) -> Iterator[Plan]:
        gpus = len(self._machine.devices)
        # An emulated GPU's bytes are moved by CPUs.
        emulated = self._machine.kind == "emulated"
        largest = fitting(LONG if emulated else LARGEST if gpus <= 2 else OF_MANY, gpus)
        # Two GPUs have no time for that: their bytes are counted on the way to each other.
        counts = base.evidence and (gpus != 2 or not base.budget)
        copied = largest if gpus == 1 else min(largest, OF_MANY)
        yield replace(base, pattern="copy", paths=COPIES, sizes=(copied,), evidence=counts)
        if gpus == 1:
            # Whether an MPI takes device pointers shows on one GPU as well; its figures show time slices.
            yield replace(base, paths=(AWARE,), sizes=(LONG,), ranks_per_gpu=2)
            return
        sizes = sorted({SHORT, min(beyond_caches(), largest), largest})
        yield replace(base, paths=BETWEEN_GPUS, sizes=tuple(sizes))
        yield replace(base, paths=(AWARE,), sizes=(SHORT, largest), mpi=base.mpi or self._only_mpi())
        best = self._fastest((SHORT, largest))
        if self.records and not best:
            yield replace(base, paths=(STAGED,), sizes=(SHORT, largest))
        if gpus > 2 and best:
            yield replace(base, pattern="pairs", paths=best, sizes=(SHORT, largest))

    def _only_mpi(self) -> str | None:
        """The machine's own, where there is no time to try another one after it."""
        short = self.bound is not None and self.bound.left < TWO_MPIS_S
        return str(self._machine.mpis[0].mpiexec) if short else None

    def _fastest(self, sizes: Sequence[int]) -> tuple[str, ...]:
        """The paths that are the fastest between the first two GPUs."""
        from wirespeed.report.facts.survey import fastest

        between = [run for run in self.runs if run.head.plan.pattern == "pingpong"]
        found = (fastest(between, size, "GPU") for size in sizes)
        return tuple(dict.fromkeys(each.entry.path for each in found if each))


def _weight(plan: Plan) -> int:
    """What a part takes, in times of a path: its processes' start, which GPU-aware MPI makes twice as long,
    its figures, and as much to count bytes."""
    return START * (1 + (AWARE in plan.paths)) + len(plan.paths) * (1 + plan.evidence)


def _name(plan: Plan) -> str:
    """What a part shows."""
    if plan.pattern == "copy":
        return "CPU memory" if plan.device == "cpu" else "copies between host and GPU"
    names = {"host": "MPI", AWARE: "GPU-aware MPI"}
    return names.get(",".join(plan.paths), "GPU to GPU")


def usable_cpus() -> int:
    """Cores that ranks can have for themselves, MAX_CPUS at most."""
    allowed = len(os.sched_getaffinity(0))
    return max(1, int(min(cores(), allowed, cpu_quota() or allowed, MAX_CPUS)))


def beyond_caches() -> int:
    """Bytes of a message that no cache holds, so that memory is its limit; LONG where caches are large."""
    size, caches = LONG, cache_bytes() or 0
    while size <= caches:
        size *= 2
    return fitting(size, 2) if size <= MEMORY * 2 else LONG


def fitting(largest: int, ranks: int) -> int:
    """The largest size, or a quarter of it and so on, for which memory has room."""
    free = free_memory()
    while free is not None and largest > LONG and BUFFERS * ranks * largest > free:
        largest //= 4
    return largest


def _findings(base: Plan, file: str, runs: Sequence[Run]) -> Sequence[RecordedFinding]:
    """Faults of the machine and of what is set, by what can be read and was measured; the gravest first."""
    from wirespeed.doctor.examine import Request, examine

    request = Request(base.device, base.mpi, base.launcher, runs=tuple(runs), file=file, start_ranks=False)
    return examine(request, lambda _: None).standing
