"""After a hang: the remedies that fit the call in which a rank hung, and the outcome of trying each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from wirespeed.doctor import job, trials
from wirespeed.doctor.finding import Conditions, Cost, Finding
from wirespeed.doctor.shell import exports, quoted
from wirespeed.doctor.tables import table
from wirespeed.errors import WirespeedError
from wirespeed.host import mpi
from wirespeed.host.variables import TableRow
from wirespeed.job.cause import CauseKind
from wirespeed.job.plan import Plan
from wirespeed.patterns import find_pattern
from wirespeed.results.findings import RemedyOption
from wirespeed.results.reading import shown
from wirespeed.results.runs import Failure, Run
from wirespeed.units import format_size

TIMEOUT_S = 15.0
"""Time without progress after which a trial counts as hung: less than in the first run."""


class Hang(Struct, frozen=True):
    """A hang in a result file: its path, the data's memory, the call, and the MPI."""

    path: str
    transport: str
    memory: str
    bytes: int
    """Of a trial; while ranks start, nothing is sent."""
    call: str
    failure: Failure
    vendor: str
    plan: Plan

    @property
    def title(self) -> str:
        failure = self.failure
        when = "" if failure.bytes is None else f" at {format_size(failure.bytes)}"
        if failure.bytes is None and failure.iteration is None:
            when = " while starting"
        return f"{self.path} hung{f' in {self.call}' if self.call else ''}{when}"


def hangs(runs: Sequence[Run]) -> list[Hang]:
    """Every hang of these runs; each call of each path once."""
    found: dict[tuple[str, str | None], Hang] = {}
    for run in runs:
        for failure in run.failures:
            if failure.what == "hang" or failure.cause.hang:
                found.setdefault((failure.path, failure.call), _hang(run, failure))
    return list(found.values())


def _hang(run: Run, failure: Failure) -> Hang:
    from wirespeed.paths import all_paths

    plan = run.head.plan
    transport, memory = next(
        ((path.transport, path.memory) for path in all_paths() if path.name == failure.path), ("", "")
    )
    loaded = (step.mpi for step in (run.step(failure.path), *run.steps[::-1]) if step.path)
    library = next(loaded, None)
    size = (*plan.sizes, 8)[0] if failure.bytes is None else failure.bytes
    call, vendor = failure.call or "", library.vendor if library else ""
    return Hang(failure.path, transport, memory, size, call, failure, vendor, plan)


def finding(hang: Hang, nics: bool, vendor: str) -> Finding:
    """Remedies that may help, in the order of the table. `vendor`: of the MPI that hung.

    No setting helps a rank that was stopped from outside: the remedy then shows who did that.
    """
    failure, cause = hang.failure, hang.failure.cause
    if cause.kind == CauseKind.STOPPED:
        return Finding(
            "hang-stopped",
            f"{hang.path} hung because rank {failure.rank} was stopped (SIGSTOP or a debugger)",
            Cost.BREAKS,
            (failure.text,),
            _resume(failure.host or "its host"),
            source="proc_pid_stat(5): states T and t; signal(7): SIGSTOP, SIGCONT",
        )
    rows = table("hang_remedies")
    return Finding(
        "hang-same-address" if cause.addresses else "hang",
        ": ".join((*map(str, cause.addresses[:1]), hang.title)),
        Cost.BREAKS,
        (failure.text,),
        options=tuple(_option(one, cause.own) for one in rows if _fits(one, hang, nics, vendor, cause.own)),
        source="wirespeed/doctor/hang_remedies.toml",
    )


def _resume(host: str) -> tuple[str, ...]:
    """How to see what stops a rank, and to let it go on."""
    return (
        f"ps -eo pid,ppid,user,stat,args | awk '$4 ~ /^[Tt]/'  # on {host}, while it hangs: "
        "T is stopped by a signal, t by a debugger",
        "grep TracerPid /proc/PID/status  # with its PID: the process of the debugger, 0 for none",
        "kill -CONT PID  # lets it go on where a signal stopped it; in a debugger: continue, or detach",
        "scontrol show job JOBID  # Slurm: does JobState say SUSPENDED? scontrol resume JOBID lets it go on",
        "qstat -f JOBID  # PBS: job_state S is suspended; qsig -s resume JOBID lets it go on",
    )


def _fits(table_row: TableRow, hang: Hang, nics: bool, vendor: str, own: str) -> bool:
    """`own`: an interface whose address no other host has, where others' are shared."""
    wants_call, memories = table_row.get("call"), table_row.get("memory")
    return bool(
        (not wants_call or (hang.call and re.search(wants_call, hang.call)))
        and re.fullmatch(table_row.get("path", ".*"), hang.path)
        and re.fullmatch(table_row.get("transport", ".*"), hang.transport)
        and (not memories or hang.memory in memories)
        and (not table_row.get("mpi") or vendor in table_row["mpi"])
        and {"nics": nics, "own": bool(own)}.get(table_row.get("needs", ""), True)
        and table_row.get("instead") != hang.path
    )


def _option(table_row: TableRow, own: str) -> RemedyOption:
    given, instead = table_row.get("variables", {}), table_row.get("instead", "")
    variables = {name: str(value).replace("{own}", own) for name, value in given.items()}
    lines = (f"wirespeed pingpong --paths {instead}",) if instead else exports(variables)
    return RemedyOption(
        table_row["title"].replace("{own}", own), Conditions(variables), lines, instead, table_row["source"]
    )


def tried(found: Finding, hang: Hang, base: job.Base, say: Callable[[str], None]) -> Finding:
    """Tries the same transfer as it was, then with each remedy, each in a job step of its own.

    The file may be somebody else's, so what it makes this machine run is said first. Raises WirespeedError
    where it names an MPI that is not this machine's own.
    """
    base = _base(hang, base)
    words = pattern_words(hang.plan)
    command = job.command(hang.path, (hang.bytes,), base, pattern=words)
    say(f"once more as it was: {' '.join(map(quoted, ('wirespeed', *command)))}")
    again = job.measure(hang.path, (hang.bytes,), base, pattern=words)
    evidence = (*found.evidence, f"once more as it was: {trials.outcome_of(again)}")
    options = []
    for option in found.options:
        say(f"trying: {option.title}")
        try:
            option, _ = trials.try_option(option, hang.path, (hang.bytes,), base, words)
        except job.Late as why:
            say(f"not tried: {why}")
        options.append(option)
    return structs.replace(found, evidence=evidence, options=trials.compared(options))


def _base(hang: Hang, base: job.Base) -> job.Base:
    """The options of the run that hung, unless the command line gives others."""
    plan = hang.plan
    own = mpi.own_mpi(plan.mpi) if plan.mpi and not base.mpi else None
    if plan.mpi and not base.mpi and not own:
        raise WirespeedError(
            f"--after-hang: the file names --mpi {shown(plan.mpi)}, which is none of this machine's own: "
            "give --mpi yourself, this one only if you trust it"
        )
    return structs.replace(
        base,
        device=base.device if base.device != "auto" else plan.device,
        mpi=base.mpi or (str(own.mpiexec) if own else None),
        launcher=base.launcher if base.launcher != "auto" else plan.launcher,
        timeout=min(plan.timeout or TIMEOUT_S, TIMEOUT_S),
    )


def pattern_words(plan: Plan) -> list[str]:
    """The command and its own options, as they were given: ['groups', '--ranks', '4', '--group', '2']."""
    name = plan.pattern or "pingpong"
    pattern = find_pattern(name)
    words = [name]
    if pattern.rank_rule.exact is None and plan.ranks:
        words += ["--ranks", str(plan.ranks)]
    words += ["--oversubscribe"] * (pattern.rank_rule.many and plan.oversubscribe)
    given = dict(plan.options)
    for option in pattern.options:
        value = given.get(option.key)
        if isinstance(option.default, bool):
            words += [f"--{option.name}"] if value is True else []
        elif value is not None and value != option.default:
            words += [f"--{option.name}", str(value)]
    words += ["--allocator", plan.allocator] if plan.allocator != "driver" else []
    words += ["--context", plan.context] if plan.context != "primary" else []
    for key, values in (("between", plan.between), ("hosts", plan.hosts)):
        words += [f"--{key}", ",".join(map(str, values))] if values else []
    words += ["--ranks-per-gpu", str(plan.ranks_per_gpu)] if plan.ranks_per_gpu else []
    return words
