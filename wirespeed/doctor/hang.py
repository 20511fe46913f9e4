"""After a hang: the remedies that fit the call in which a rank hung, and the outcome of trying each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wirespeed.doctor import job, trying
from wirespeed.doctor.finding import Conditions, Cost, Finding, RemedyOption
from wirespeed.doctor.parts import part, whole
from wirespeed.doctor.tables import TableRow, exports, table
from wirespeed.patterns import find_pattern
from wirespeed.results.runs import Record, Run
from wirespeed.units import format_size

TIMEOUT_S = 15.0
"""Time without progress after which a trial counts as hung: less than in the first run."""


@dataclass(frozen=True)
class Hang:
    """A hang in a result file."""

    path: str
    transport: str
    memory: str
    bytes: int
    call: str
    text: str
    vendor: str
    plan: Mapping[str, Any]

    @property
    def title(self) -> str:
        where = f" in {self.call}" if self.call else ""
        return f"{self.path} hung{where} at {format_size(self.bytes)}"


def hangs(runs: Sequence[Run]) -> list[Hang]:
    """Every hang of these runs; each call of each path once."""
    found: dict[tuple[str, str], Hang] = {}
    for run in runs:
        for record in run.records:
            if record.get("kind") == "failure" and _hung(record):
                one = _hang(run, record)
                found.setdefault((one.path, one.call), one)
    return list(found.values())


def _hung(record: Record) -> bool:
    return record.get("what") == "hang" or " hung on a device pointer" in str(record.get("text"))


def _hang(run: Run, record: Record) -> Hang:
    from wirespeed.paths import all_paths

    name = str(record.get("path"))
    known = next((path for path in all_paths() if path.name == name), None)
    plan, size = part(run.head, "plan"), record.get("bytes")
    if size is None:
        sizes = plan.get("sizes")
        size = sizes[0] if isinstance(sizes, list) and sizes else 8
    step = run.step(name) or (run.steps[-1] if run.steps else {})
    return Hang(
        path=name,
        transport=known.transport if known else "",
        memory=known.memory if known else "",
        bytes=whole(size),
        call=str(record.get("call") or ""),
        text=str(record.get("text") or ""),
        vendor=str(part(step, "mpi").get("vendor") or ""),
        plan=plan,
    )


def finding(hang: Hang, nics: bool, vendor: str) -> Finding:
    """Remedies that may help, in the order of the table. `vendor`: of the MPI that hung."""
    return Finding(
        "hang",
        hang.title,
        Cost.BREAKS,
        (hang.text,),
        options=tuple(_option(one) for one in table("hang_remedies") if _fits(one, hang, nics, vendor)),
        source="wirespeed/doctor/hang_remedies.toml",
    )


def _fits(one: TableRow, hang: Hang, nics: bool, vendor: str) -> bool:
    wants_call, memories = one.get("call"), one.get("memory")
    return bool(
        (not wants_call or (hang.call and re.search(wants_call, hang.call)))
        and re.fullmatch(one.get("path", ".*"), hang.path)
        and re.fullmatch(one.get("transport", ".*"), hang.transport)
        and (not memories or hang.memory in memories)
        and (not one.get("mpi") or vendor in one["mpi"])
        and (one.get("needs") != "nics" or nics)
        and one.get("instead") != hang.path
    )


def _option(one: TableRow) -> RemedyOption:
    variables, instead = dict(one.get("variables", {})), one.get("instead", "")
    lines = (f"wirespeed pingpong --paths {instead}",) if instead else exports(variables)
    return RemedyOption(one["title"], Conditions(variables), lines, instead, one["source"])


def tried(found: Finding, hang: Hang, base: job.Base, say: Callable[[str], None]) -> Finding:
    """Tries the same transfer as it was, then with each remedy, each in a job step of its own."""
    base = _base(hang, base)
    words = pattern_words(hang.plan)
    say(f"once more as it was: {hang.path} at {format_size(hang.bytes)}")
    again = job.measure(hang.path, (hang.bytes,), base, pattern=words)
    evidence = (*found.evidence, f"once more as it was: {trying.outcome_of(again)}")
    options = []
    for option in found.options:
        say(f"trying: {option.title}")
        options.append(trying.try_option(option, hang.path, (hang.bytes,), base, words)[0])
    return dataclasses.replace(found, evidence=evidence, options=trying.compared(options))


def _base(hang: Hang, base: job.Base) -> job.Base:
    """The options of the run that hung, unless the command line gives others."""
    plan = hang.plan
    return dataclasses.replace(
        base,
        device=base.device if base.device != "auto" else str(plan.get("device") or "auto"),
        mpi=base.mpi or plan.get("mpi"),
        launcher=base.launcher if base.launcher != "auto" else str(plan.get("launcher") or "auto"),
        timeout=min(float(plan.get("timeout") or TIMEOUT_S), TIMEOUT_S),
    )


def pattern_words(plan: Mapping[str, Any]) -> list[str]:
    """The command and its options as they were given: ['groups', '--ranks', '4', '--group', '2']."""
    name = str(plan.get("pattern") or "pingpong")
    pattern = find_pattern(name)
    words = [name]
    if pattern.ranks is None and plan.get("ranks"):
        words += ["--ranks", str(plan["ranks"])]
    given = dict(plan.get("options") or ())
    for option in pattern.options:
        value = given.get(option.key)
        if value is not None and value != option.default:
            words += [f"--{option.name}"] if value is True else [f"--{option.name}", str(value)]
    for key in ("between", "hosts"):
        words += [f"--{key}", ",".join(map(str, plan[key]))] if plan.get(key) else []
    return words
