"""Formats that `--format` takes, in which runs are written to stdout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, Any

import msgspec

from wirespeed.report.export.nccl_tests import to_nccl_tests
from wirespeed.report.export.osu import to_osu
from wirespeed.report.export.prometheus import to_prometheus
from wirespeed.report.export.reframe import to_reframe
from wirespeed.report.export.ticket import to_ticket
from wirespeed.report.export.tutorial import tutorial
from wirespeed.report.facts.doctor_findings import findings
from wirespeed.report.facts.summary import answer
from wirespeed.results import curves
from wirespeed.results.export import to_csv
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.launches import Combined
from wirespeed.results.runs import Entry, Run


def print_tables(
    runs: Sequence[Run],
    recorded: Sequence[RecordedFinding],
    stream: IO[str],
    against: str | None = None,
    *,
    explain: bool = False,
    all_sizes: bool = False,
) -> None:
    """As a terminal has them. `recorded`: the doctor's findings; `against`: the system to compare with."""
    from wirespeed.report.console.console import make_console, say
    from wirespeed.report.systems.published_curves import load_system, print_against
    from wirespeed.report.terminal.other_conditions import print_halves, print_ratios
    from wirespeed.report.terminal.run_summary import print_run

    console = make_console(stream)
    for number, run in enumerate(runs):
        if number:
            console.print()
            console.rule(style="dim")
        print_run(console, run, explain=explain, all_sizes=all_sizes)
        print_ratios(console, runs[:number], run)
        print_halves(console, runs[:number], run)
        if against and run.published:
            print_against(console, run, load_system(against))
    if found := findings(recorded):
        console.print()
    for finding in found:
        say(console, f"doctor: {finding.title}; {finding.gain or finding.cost}", "yellow")


def _json(runs: Sequence[Run], recorded: Sequence[RecordedFinding]) -> str:
    """The answer, and every record.

    Behind the records of a run are its figures of several launches, and findings about its curves.
    """
    records: list[Any] = []
    for run in runs:
        records += [run.judged(record) if isinstance(record, Entry) else record for record in run.records]
        records += [entry.to_builtins() for entry in run.figures.values() if isinstance(entry, Combined)]
        records += curves.as_records(run)
    lines = ",\n".join(msgspec.json.encode(record).decode() for record in records)
    told = msgspec.json.format(msgspec.json.encode(answer(runs, recorded)), indent=1).decode()
    return f'{{"summary": {told},\n"records": [\n{lines}\n]}}\n'


TEXTS: dict[str, Callable[[Sequence[Run], Sequence[RecordedFinding]], str]] = {
    "json": _json,
    "ticket": to_ticket,
    "csv": lambda runs, _: to_csv(runs),
    "tutorial": lambda runs, _: tutorial(runs),
    "osu": lambda runs, _: to_osu(runs),
    "nccl-tests": lambda runs, _: to_nccl_tests(runs),
    "prometheus": lambda runs, _: to_prometheus(runs),
    "reframe": lambda runs, _: to_reframe(runs),
}
"""All formats but the table, of runs and the doctor's findings."""
