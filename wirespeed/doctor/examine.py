"""The examination from beginning to end: look, ask, try, judge; read it from top to bottom."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wirespeed.doctor import hang, job, measured, trying
from wirespeed.doctor.facts.model import Facts, MpiFact
from wirespeed.doctor.finding import Finding, Worth, ordered
from wirespeed.doctor.findings import find_all
from wirespeed.doctor.look import Sources, look
from wirespeed.doctor.result import Result
from wirespeed.errors import WirespeedError
from wirespeed.frontend import machine
from wirespeed.frontend.machine import Machine
from wirespeed.host import mpi
from wirespeed.job.plan import Plan
from wirespeed.results.runs import Run

Say = Callable[[str], None]
"""Takes a line of progress."""


@dataclass(frozen=True)
class Request:
    """What to examine, and how far to go."""

    device: str = "auto"
    mpi: str | None = None
    launcher: str = "auto"
    runs: tuple[Run, ...] = ()
    """Of the result file given."""
    file: str = ""
    tried: Mapping[str, Worth] = field(default_factory=dict)
    """What remedies were worth by that file, by finding."""
    start_ranks: bool = True
    try_remedies: bool = False
    hung: tuple[Run, ...] = ()
    """Runs in which something hung: what may help?"""
    folder: Path = Path()
    """Where result files may lie."""

    @property
    def base(self) -> job.Base:
        return job.Base(self.device, self.mpi, self.launcher)


def examine(request: Request, say: Say, sources: Sources | None = None) -> Result:
    """Looks at the machine and judges it. Raises WirespeedError for a device or MPI that is not there."""
    found = machine.look(Plan(device=request.device, mpi=request.mpi, launcher=request.launcher))
    facts = look(found, sources or Sources())
    facts, notes = _with_measurements(facts, found, request)
    if request.start_ranks and facts.chosen and not request.hung:
        facts = _asked(facts, found, request, say)
        facts = _tried(facts, request, say) if facts.kind != "host" else facts
    facts = _remembered(facts)
    if request.hung:
        return Result(facts, tuple(_hangs(facts, request, say)), (), tuple(notes))
    # Another machine's figures say nothing of what a remedy is worth on this one.
    own = () if facts.foreign else facts.runs
    findings = [measured.with_worth(one, own, facts.file) for one in find_all(facts)]
    findings = [_as_tried(one, request.tried, foreign=facts.foreign) for one in findings]
    if request.try_remedies:
        findings = _with_trials(findings, request, say)
    last = next((run for run in reversed(facts.runs) if run.contested), None)
    best = measured.stretches(last) if last else []
    return Result(facts, tuple(ordered(findings)), tuple(best), tuple(notes))


def _as_tried(finding: Finding, tried: Mapping[str, Worth], *, foreign: bool) -> Finding:
    """With what its remedy was worth when tried; on another machine only where the finding is from there."""
    known = tried.get(finding.key)
    if known is None or finding.worth is not None or (foreign and not finding.suggestion):
        return finding
    return dataclasses.replace(finding, worth=known)


def _with_measurements(facts: Facts, found: Machine, request: Request) -> tuple[Facts, list[str]]:
    """The facts with runs of this machine: of the file given, else of the newest one beside."""
    if request.file:
        runs, file, notes = request.runs, request.file, []
        here = all(measured.same_machine(run, facts.host, facts.cpu, found.devices) for run in runs)
        if not here:
            notes.append(f"{file} was measured on another machine: what follows from it holds there")
        return dataclasses.replace(facts, runs=runs, file=Path(file).name, foreign=not here), notes
    for name, there in measured.beside(request.folder):
        own = [run for run in there if measured.same_machine(run, facts.host, facts.cpu, found.devices)]
        if own:
            return dataclasses.replace(facts, runs=tuple(own), file=name), []
    return facts, []


def _asked(facts: Facts, found: Machine, request: Request, say: Say) -> Facts:
    """With what the chosen MPI says of itself: its libraries, and whether it takes device pointers."""
    first, *others = facts.mpis
    say(f"asking {first.title} what it can do")
    first = trying.learned(first, found.mpis[0], request.launcher)
    return dataclasses.replace(facts, mpis=(first, *others))


def _tried(facts: Facts, request: Request, say: Say) -> Facts:
    """What becomes of device pointers, and where ranks stand."""
    mpis = list(facts.mpis)
    say(f"trying device pointers, in a job step of its own ({facts.kind} device)")
    mpis[0], attempt = trying.aware(mpis[0], request.base)
    places = job.places(attempt.run) if attempt.run else ()
    if not places and len(facts.nodes) > 1:
        say("starting two ranks, to see where they are put")
        other = job.measure("staged", (8,), request.base)
        places = job.places(other.run) if other.run else ()
    return dataclasses.replace(facts, mpis=tuple(mpis), places=places, trial=attempt.run)


def _remembered(facts: Facts) -> Facts:
    """What result files of this machine say of MPIs that were not tried now, and of where ranks stood."""
    if facts.foreign:
        return facts
    mpis = tuple(mpi if mpi.tried else _learned_before(mpi, facts) for mpi in facts.mpis)
    before = next((job.places(run) for run in reversed(facts.runs) if run.steps), ())
    return dataclasses.replace(facts, mpis=mpis, places=facts.places or before)


def _learned_before(fact: MpiFact, facts: Facts) -> MpiFact:
    for run in reversed(facts.runs):
        own = run.step("aware").mpi
        if run.of_path("aware") and own and (own.vendor, own.version) == (fact.vendor, fact.version):
            attempt = job.Attempt({entry.bytes: entry for entry in run.of_path("aware")})
            return trying.judged(fact, attempt, f"in {facts.file}")
        for failure in run.failures:
            if failure.path == "aware" and failure.text.startswith(f"{fact.title} "):
                return trying.judged(fact, job.Attempt(failures=[failure]), f"in {facts.file}")
    return fact


def _with_trials(findings: list[Finding], request: Request, say: Say) -> list[Finding]:
    """Each finding that has a trial, tried; what fails to be tried stays as it was."""
    done = []
    for finding in findings:
        if finding.trial:
            what = "each option" if finding.options else finding.trial.after.words()
            say(f"trying: {finding.trial.path} with {what}")
        try:
            done.append(trying.try_remedy(finding, request.base))
        except WirespeedError as error:
            say(str(error))
            done.append(finding)
    return done


def _hangs(facts: Facts, request: Request, say: Say) -> list[Finding]:
    """What may help against each hang of the file, tried where that was asked for."""
    found = []
    hangs = hang.hangs(request.hung)
    if not hangs:
        raise WirespeedError("--after-hang: nothing hung in that file; name one in which something did")
    for one in hangs:
        finding = hang.finding(one, bool(facts.nics), _vendor(one, facts, request))
        found.append(hang.tried(finding, one, request.base, say) if request.try_remedies else finding)
    return found


def _vendor(one: hang.Hang, facts: Facts, request: Request) -> str:
    """The MPI that hung: where no rank came so far as to say it, the one that would be taken again."""
    given = request.mpi or one.plan.mpi
    if one.vendor or not given:
        return one.vendor or (facts.chosen.vendor if facts.chosen else "")
    try:
        return mpi.choose(str(given)).vendor
    except WirespeedError:
        return ""
