"""The examination from beginning to end: look, ask the MPI, try device pointers, find faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import structs

from wirespeed.doctor import hang, job, measured, trials, ucx_choice
from wirespeed.doctor.collect import Sources, collect
from wirespeed.doctor.facts.model import MachineFacts, MpiFact
from wirespeed.doctor.finding import TRIAL_SIZES, Finding, Improvement, ordered
from wirespeed.doctor.findings import find_all
from wirespeed.doctor.result import Result
from wirespeed.errors import WirespeedError
from wirespeed.frontend import machine
from wirespeed.frontend.machine import Machine
from wirespeed.host import mpi
from wirespeed.job.plan import Plan
from wirespeed.results.runs import Run

Say = Callable[[str], None]
"""Takes a line of progress."""


class Request(job.Base, frozen=True):
    """Parts of the machine to examine, and in which depth."""

    runs: tuple[Run, ...] = ()
    """Runs of the result file given."""
    file: str = ""
    tried: Mapping[str, Improvement] = {}
    """Improvements by remedies in that file, by finding."""
    start_ranks: bool = True
    try_remedies: bool = False
    hung: tuple[Run, ...] = ()
    """Runs in which something hung, for which remedies are wanted."""
    folder: Path = Path()
    """Folder of result files."""


def examine(request: Request, say: Say, sources: Sources | None = None) -> Result:
    """Facts and findings of this machine. Raises WirespeedError for a device or MPI that does not exist."""
    found = machine.look(Plan(device=request.device, mpi=request.mpi, launcher=request.launcher))
    request = structs.replace(request, one_gpu=len(found.devices) == 1)
    facts = collect(found, sources or Sources())
    facts = _with_measurements(facts, found, request)
    if request.start_ranks and facts.chosen and not request.hung:
        facts = _tried(facts, found.mpis[0], request, say)
    facts = _remembered(facts)
    if request.hung:
        return Result(facts, tuple(_hangs(facts, request, say)))
    # Figures of another machine do not show how much a remedy improves on this one.
    own = () if facts.foreign else facts.runs
    findings = [measured.with_worth(finding, own, facts.file) for finding in find_all(facts)]
    findings = [_as_tried(finding, request.tried, foreign=facts.foreign) for finding in findings]
    if request.try_remedies:
        findings = [_with_trial(finding, request, say) for finding in findings]
    last = next((run for run in reversed(facts.runs) if run.competing), None)
    return Result(facts, tuple(ordered(findings)), tuple(measured.stretches(last)) if last else ())


def _as_tried(finding: Finding, tried: Mapping[str, Improvement], *, foreign: bool) -> Finding:
    """With the improvement of an earlier trial; of another machine only for a finding from there."""
    applies = finding.suggestion or not foreign
    return structs.replace(finding, worth=finding.worth or (tried.get(finding.key) if applies else None))


def _with_measurements(facts: MachineFacts, found: Machine, request: Request) -> MachineFacts:
    """The facts with runs of this machine: of the file given, else of the newest one in the folder."""

    def own(runs: Iterable[Run]) -> tuple[Run, ...]:
        return tuple(run for run in runs if measured.same_machine(run, facts.host, facts.cpu, found.devices))

    if file := request.file:
        foreign = len(own(request.runs)) < len(request.runs)
        return structs.replace(facts, runs=request.runs, file=Path(file).name, foreign=foreign)
    for name, runs in measured.beside(request.folder):
        if mine := own(runs):
            return structs.replace(facts, runs=mine, file=name)
    return facts


def _tried(facts: MachineFacts, library: mpi.Mpi, request: Request, say: Say) -> MachineFacts:
    """With the chosen MPI's own answers, a trial of device pointers, and the CPUs that ranks run on."""
    first, *others = facts.mpis
    say(f"asking {first.title} what it can do")
    first = structs.replace(first, **trials.answers(trials.ask(library, request.launcher)))
    facts = structs.replace(facts, mpis=(first, *others))
    if facts.kind == "host":
        return facts
    try:
        say(f"trying device pointers, in a job step of its own ({facts.kind} device)")
        own = structs.replace(request, mpi=first.mpiexec)
        attempt = job.measure("aware", TRIAL_SIZES, own, evidence=True)
        first = trials.with_outcome(first, attempt, "in a job step of its own")
        placements = job.placements(attempt.run)
        facts = structs.replace(facts, mpis=(first, *others), places=placements, trial=attempt.run)
        if not placements and (len(facts.nodes) > 1 or len(facts.real_gpus) > 1):
            say("starting two ranks, to see which CPUs and GPUs they get")
            placements = job.placements(job.measure("staged", (8,), request).run)
            facts = structs.replace(facts, places=placements)
        return ucx_choice.with_choice(facts, request, say)
    except job.Late as why:
        say(f"not tried: {why}")
        return facts


def _remembered(facts: MachineFacts) -> MachineFacts:
    """With what result files of this machine tell of MPIs not tried now, and of the ranks' CPUs."""
    if facts.foreign:
        return facts
    mpis = tuple(mpi if mpi.tried else _learned_before(mpi, facts) for mpi in facts.mpis)
    before = next((job.placements(run) for run in reversed(facts.runs) if run.steps), ())
    return structs.replace(facts, mpis=mpis, places=facts.places or before)


def _learned_before(fact: MpiFact, facts: MachineFacts) -> MpiFact:
    for run in reversed(facts.runs):
        own = run.step("aware").mpi
        if run.of_path("aware") and own and (own.vendor, own.version) == (fact.vendor, fact.version):
            wrong = [one for one in run.failures if (one.path, one.what) == ("aware", "mismatch")]
            attempt = job.Attempt({entry.bytes: entry for entry in run.of_path("aware")}, wrong)
            return trials.with_outcome(fact, attempt, f"in {facts.file}")
        for failure in run.failures:
            if failure.path == "aware" and failure.cause.pointer and failure.cause.mpi == fact.title:
                return trials.with_outcome(fact, job.Attempt(failures=[failure]), f"in {facts.file}")
    return fact


def _with_trial(finding: Finding, request: Request, say: Say) -> Finding:
    """With the outcome of its trial; unchanged where it has none or that fails."""
    if finding.trial is None:
        return finding
    what = "each option" if finding.options else finding.trial.after.words()
    say(f"trying: {finding.trial.path} with {what}")
    try:
        return trials.try_remedy(finding, finding.trial, request)
    except WirespeedError as error:
        say(f"not tried: {error}" if isinstance(error, job.Late) else str(error))
        return finding


def _hangs(facts: MachineFacts, request: Request, say: Say) -> list[Finding]:
    """Remedies for each hang of the file, tried where that was requested."""
    found = [
        (hung, hang.finding(hung, bool(facts.nics), _vendor(hung, facts, request)))
        for hung in hang.hangs(request.hung)
    ]
    if not found:
        raise WirespeedError("--after-hang: nothing hung in that file; name one in which something did")
    return [
        hang.tried(finding, hung, request, say) if request.try_remedies else finding
        for hung, finding in found
    ]


def _vendor(one: hang.Hang, facts: MachineFacts, request: Request) -> str:
    """The MPI that hung; where no rank has named it, the one that would be chosen again."""
    if one.vendor or not (request.mpi or one.plan.mpi):
        return one.vendor or (facts.chosen.vendor if facts.chosen else "")
    try:
        library = mpi.choose(request.mpi) if request.mpi else mpi.own_mpi(str(one.plan.mpi))
    except WirespeedError:
        return ""
    return library.vendor if library else ""
