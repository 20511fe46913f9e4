"""The examination from beginning to end: look, ask the MPI, try device pointers, find faults."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wirespeed.doctor import hang, job, measured, trying
from wirespeed.doctor.facts.model import Facts, MpiFact
from wirespeed.doctor.finding import Finding, Improvement, ordered
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
    """What to examine, and in which depth."""

    device: str = "auto"
    mpi: str | None = None
    launcher: str = "auto"
    runs: tuple[Run, ...] = ()
    """Runs of the result file given."""
    file: str = ""
    tried: Mapping[str, Improvement] = field(default_factory=dict)
    """Improvements by remedies in that file, by finding."""
    start_ranks: bool = True
    try_remedies: bool = False
    hung: tuple[Run, ...] = ()
    """Runs in which something hung, for which remedies are wanted."""
    folder: Path = Path()
    """Folder of result files."""

    @property
    def base(self) -> job.Base:
        return job.Base(self.device, self.mpi, self.launcher)


def examine(request: Request, say: Say, sources: Sources | None = None) -> Result:
    """Facts and findings of this machine. Raises WirespeedError for a device or MPI that does not exist."""
    found = machine.look(Plan(device=request.device, mpi=request.mpi, launcher=request.launcher))
    facts = look(found, sources or Sources())
    facts, notes = _with_measurements(facts, found, request)
    if request.start_ranks and facts.chosen and not request.hung:
        facts = _asked(facts, found, request, say)
        facts = _tried(facts, request, say) if facts.kind != "host" else facts
    facts = _remembered(facts)
    if request.hung:
        return Result(facts, tuple(_hangs(facts, request, say)), (), tuple(notes))
    # Figures of another machine do not show how much a remedy improves on this one.
    own = () if facts.foreign else facts.runs
    findings = [measured.with_worth(one, own, facts.file) for one in find_all(facts)]
    findings = [_as_tried(one, request.tried, foreign=facts.foreign) for one in findings]
    if request.try_remedies:
        findings = _with_trials(findings, request, say)
    last = next((run for run in reversed(facts.runs) if run.competing), None)
    best = measured.stretches(last) if last else []
    return Result(facts, tuple(ordered(findings)), tuple(best), tuple(notes))


def _as_tried(finding: Finding, tried: Mapping[str, Improvement], *, foreign: bool) -> Finding:
    """With the improvement of an earlier trial; of another machine only for a finding from there."""
    applies = finding.suggestion or not foreign
    return dataclasses.replace(finding, worth=finding.worth or (tried.get(finding.key) if applies else None))


def _with_measurements(facts: Facts, found: Machine, request: Request) -> tuple[Facts, list[str]]:
    """The facts with runs of this machine: of the file given, else of the newest one in the folder."""

    def own(runs: Iterable[Run]) -> tuple[Run, ...]:
        return tuple(run for run in runs if measured.same_machine(run, facts.host, facts.cpu, found.devices))

    if file := request.file:
        foreign = len(own(request.runs)) < len(request.runs)
        note = f"{file} was measured on another machine: what follows from it holds there"
        facts = dataclasses.replace(facts, runs=request.runs, file=Path(file).name, foreign=foreign)
        return facts, [note] if foreign else []
    for name, runs in measured.beside(request.folder):
        if mine := own(runs):
            return dataclasses.replace(facts, runs=mine, file=name), []
    return facts, []


def _asked(facts: Facts, found: Machine, request: Request, say: Say) -> Facts:
    """With the chosen MPI's own answers: its libraries, and whether it takes device pointers."""
    first, *others = facts.mpis
    say(f"asking {first.title} what it can do")
    first = trying.learned(first, found.mpis[0], request.launcher)
    return dataclasses.replace(facts, mpis=(first, *others))


def _tried(facts: Facts, request: Request, say: Say) -> Facts:
    """With a trial of device pointers, and the CPUs that ranks run on."""
    say(f"trying device pointers, in a job step of its own ({facts.kind} device)")
    first, *others = facts.mpis
    first, attempt = trying.aware(first, request.base)
    placements = job.placements(attempt.run) if attempt.run else ()
    if not placements and len(facts.nodes) > 1:
        say("starting two ranks, to see which CPUs they get")
        other = job.measure("staged", (8,), request.base)
        placements = job.placements(other.run) if other.run else ()
    return dataclasses.replace(facts, mpis=(first, *others), places=placements, trial=attempt.run)


def _remembered(facts: Facts) -> Facts:
    """With what result files of this machine tell of MPIs not tried now, and of the ranks' CPUs."""
    if facts.foreign:
        return facts
    mpis = tuple(mpi if mpi.tried else _learned_before(mpi, facts) for mpi in facts.mpis)
    before = next((job.placements(run) for run in reversed(facts.runs) if run.steps), ())
    return dataclasses.replace(facts, mpis=mpis, places=facts.places or before)


def _learned_before(fact: MpiFact, facts: Facts) -> MpiFact:
    for run in reversed(facts.runs):
        own = run.step("aware").mpi
        if run.of_path("aware") and own and (own.vendor, own.version) == (fact.vendor, fact.version):
            attempt = job.Attempt({entry.bytes: entry for entry in run.of_path("aware")})
            return trying.with_outcome(fact, attempt, f"in {facts.file}")
        for failure in run.failures:
            if failure.path == "aware" and failure.text.startswith(f"{fact.title} "):
                return trying.with_outcome(fact, job.Attempt(failures=[failure]), f"in {facts.file}")
    return fact


def _with_trials(findings: list[Finding], request: Request, say: Say) -> list[Finding]:
    """Tries each finding that has a trial; a finding whose trial fails is unchanged."""
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
    """Remedies for each hang of the file, tried where that was requested."""
    found = []
    hangs = hang.hangs(request.hung)
    if not hangs:
        raise WirespeedError("--after-hang: nothing hung in that file; name one in which something did")
    for one in hangs:
        finding = hang.finding(one, bool(facts.nics), _vendor(one, facts, request))
        found.append(hang.tried(finding, one, request.base, say) if request.try_remedies else finding)
    return found


def _vendor(one: hang.Hang, facts: Facts, request: Request) -> str:
    """The MPI that hung; where no rank has named it, the one that would be chosen again."""
    given = request.mpi or one.plan.mpi
    if one.vendor or not given:
        return one.vendor or (facts.chosen.vendor if facts.chosen else "")
    try:
        return mpi.choose(str(given)).vendor
    except WirespeedError:
        return ""
