"""What every measuring command does with its plan: progress while it runs, the result when it is done."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wirespeed.cli.common.options import Reporting
from wirespeed.cli.common.streams import distrust_terminals
from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan

if TYPE_CHECKING:
    from wirespeed.results.model import Event, Head


@dataclass
class Measured:
    """What came of a plan."""

    code: ExitCode
    file: str
    records: list[Event] = field(default_factory=list)

    @property
    def here(self) -> bool:
        """False in a rank that has nothing to say."""
        return bool(self.records)


def measure_plan(plan: Plan, begin: Callable[[Head], None] | None = None) -> Measured:
    """Measures, showing progress on stderr; `begin` gets the run's own record before anything is shown.

    Ctrl-C keeps what was measured until then.
    """
    from wirespeed.frontend import background_load, session
    from wirespeed.job.path_selection import is_pattern
    from wirespeed.report.terminal.progress import make_progress
    from wirespeed.results.model import Head

    distrust_terminals()
    if plan.out is None:
        from wirespeed.results.store import default_name

        plan = dataclasses.replace(plan, out=str(default_name()))
    measured = Measured(ExitCode.INTERRUPTED, str(plan.out))
    before = _earlier(plan)

    # What a pattern means shows as its paths begin.
    named = () if any(map(is_pattern, plan.paths)) else plan.paths
    with make_progress(named, len(plan.sizes)) as progress:

        def observe(event: Event) -> None:
            if not measured.records:
                measured.records += before
            measured.records.append(event)
            if begin and isinstance(event, Head):
                begin(event)
            progress(event)

        try:
            with background_load.running(plan):
                measured.code = session.measure(plan, observe)
        except KeyboardInterrupt:
            # A second Ctrl-C, or one before the run could catch it: the table shows what there is.
            measured.code = ExitCode.INTERRUPTED
    return measured


def _earlier(plan: Plan) -> list[Event]:
    """Records of the file that --resume goes on with."""
    if not plan.resume or plan.out is None:
        return []
    from wirespeed.cli.common.reading import read_if_there

    return read_if_there(plan.out)


def measure_and_print(plan: Plan, reporting: Reporting, further: Sequence[Plan] = ()) -> ExitCode:
    """The whole of a simple measuring command; `further` plans go into the same file, if all went well."""
    reporting.check_report()
    measured = measure_plan(plan)
    # What programs read is one document: it comes at the end.
    at_once = not further or reporting.format in ("table", "tutorial")
    if measured.here and at_once:
        print_result(measured, plan, reporting)
    for one in further:
        if measured.code not in (ExitCode.OK, ExitCode.UNAVAILABLE):
            break
        following = dataclasses.replace(one, out=measured.file, resume=True)
        code, measured = measured.code, measure_plan(following)
        measured.code = measured.code if code == ExitCode.OK else code
        if measured.here and at_once:
            print()
            print_result(measured, following, reporting)
            if following.background:
                print_contention(measured, following)
    if measured.here and not at_once:
        print_all(measured, reporting)
    if measured.here:
        more = "; go on with --resume and this --out" if measured.code == ExitCode.INTERRUPTED else ""
        note(f"results: {measured.file}{more}")
    return measured.code


def print_all(measured: Measured, reporting: Reporting) -> None:
    """Every run of the file, in the format asked for."""
    from wirespeed.report.export.formats import FORMATS
    from wirespeed.results.runs import collect

    FORMATS[reporting.format](collect(measured.records), sys.stdout, reporting.against)
    sys.stdout.flush()


def print_contention(measured: Measured, plan: Plan) -> None:
    """What the other pattern cost this one."""
    from wirespeed.report.terminal.contention import print_ratios
    from wirespeed.report.terminal.run_summary import make_console
    from wirespeed.results.runs import collect

    runs = collect(measured.records)
    crowded = [run for run in runs if run.background == plan.background and run.entries]
    alone = [run for run in runs if not run.background and run.entries]
    if alone and crowded:
        print_ratios(make_console(), alone[-1], crowded[-1], str(plan.background))


def print_result(measured: Measured, plan: Plan, reporting: Reporting) -> None:
    """The result on stdout, in the format asked for."""
    from wirespeed.report.export.formats import FORMATS
    from wirespeed.results.runs import collect, joined

    runs = collect(measured.records)
    if plan.resume and reporting.format != "json":
        runs = [joined(runs)]
    FORMATS[reporting.format](runs, sys.stdout, reporting.against)
    sys.stdout.flush()


def note(text: str) -> None:
    """A line beside the result."""
    print(text, file=sys.stderr, flush=True)
