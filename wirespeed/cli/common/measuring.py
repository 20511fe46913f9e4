"""Measuring as every command does it: progress while its plan runs, the result when it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from wirespeed.cli.common.options import Reporting
from wirespeed.cli.common.streams import distrust_terminals, note
from wirespeed.cli.common.traced import Traced
from wirespeed.cli.common.waking import wake_gpus
from wirespeed.errors import ExitCode, WirespeedError, gravest
from wirespeed.frontend.bound import LEAST_S, Bound
from wirespeed.job.plan import Plan

if TYPE_CHECKING:
    from wirespeed.report.export.field_picture import FieldPicture
    from wirespeed.results.model import Event, Head
    from wirespeed.results.runs import Run

FOLLOWED = 0.4
"""Part that what follows with another pattern has of the time of a plan."""
SHOWS = "wirespeed.report.terminal.run_summary"
"""Module that prints the result; its imports take a tenth of a second."""


@dataclass
class PlanResult:
    """Outcome of a plan."""

    plan: Plan
    code: ExitCode
    file: str
    """Result file; "" where none is given and none has been begun."""
    records: list[Event] = field(default_factory=list)
    """Records of the whole file; empty in a rank that has nothing to say."""
    picture: FieldPicture | None = None
    """Picture of a program's field, if it was asked for."""

    @property
    def runs(self) -> list[Run]:
        from wirespeed.results.runs import collect

        return collect(self.records)

    def print(self, reporting: Reporting) -> None:
        """Prints the result; a resumed run is shown as one."""
        from wirespeed.results.runs import joined

        runs = self.runs
        reporting.print([joined(runs)] if self.plan.resume and reporting.format != "json" else runs)

    def draw(self) -> None:
        """The picture that the plan asks for. Raises WirespeedError."""
        if self.plan.picture is None or self.picture is None:
            return
        if self.picture.complete:
            case = dict(self.plan.options).get("case")
            self.picture.draw(self.plan.picture, " ".join(filter(None, (self.plan.pattern, case))))
            note(f"picture: {self.plan.picture}")
        else:
            note("no picture: this run has measured nothing that could be drawn")


def measure_plan(
    plan: Plan,
    begin: Callable[[Head], None] | None = None,
    traced: Traced | None = None,
    bound: Bound | None = None,
) -> PlanResult:
    """Measures, showing progress on stderr; `begin` gets the run's own record before anything is shown.

    `bound`: the plan's part of the command's time.
    Ctrl-C keeps what was measured until then.
    """
    wake_gpus(plan.device)
    from wirespeed.frontend import background_load, session
    from wirespeed.job.messages import Picture
    from wirespeed.job.path_selection import is_pattern
    from wirespeed.launchers import launched_rank
    from wirespeed.report.terminal.progress import make_progress
    from wirespeed.results.model import Head

    distrust_terminals()
    measured = PlanResult(plan, ExitCode.INTERRUPTED, plan.out or "")
    if plan.picture:
        from wirespeed.report.export.field_picture import FieldPicture

        measured.picture = FieldPicture()
    before = _earlier(plan)

    # What a pattern means shows as its paths begin.
    named = () if any(map(is_pattern, plan.paths)) else plan.paths
    with make_progress(named) as progress:

        def observe(event: Event) -> None:
            if traced and traced.take(event):
                return
            if isinstance(event, Picture):
                if measured.picture:
                    measured.picture.take(event)
                return
            if not measured.records:
                measured.records += before
            measured.records.append(event)
            if isinstance(event, Head):
                measured.file = event.plan.out or ""
                if begin:
                    begin(event)
                # While the ranks start: nobody is to wait for it after the last figure. This is no rank.
                if not launched_rank():
                    Thread(target=_import_ahead, daemon=True).start()
            progress(event)

        # A second Ctrl-C, or one before the run could catch it: the table shows what there is.
        with suppress(KeyboardInterrupt), background_load.running(plan):
            measured.code = session.measure(plan, observe, bound)
    return measured


def _import_ahead() -> None:
    # What is wrong shows when the module is used.
    with suppress(Exception):
        import_module(SHOWS)


def _earlier(plan: Plan) -> list[Event]:
    """Records of the file that --resume goes on with."""
    # A pipe of that name would never end; the writer refuses it.
    if plan.resume and plan.out is not None and Path(plan.out).is_file():
        from wirespeed.results.reading import read

        # It may not exist yet, or not be a result file: the writer will say so.
        with suppress(WirespeedError):
            return [*read(plan.out).records]
    return []


GO_ON = (ExitCode.OK, ExitCode.UNAVAILABLE, ExitCode.FAILED_ENTRY, ExitCode.IMPOSSIBLE)
"""After which the next plan is measured all the same."""


def measure_and_print(plan: Plan, reporting: Reporting, further: Sequence[Plan] = ()) -> ExitCode:
    """The whole of a simple measuring command; `further` plans go into the same file.

    A path that fails costs its own figures, no others; what was interrupted or could not be written ends all.
    """
    from wirespeed.frontend.rank_limit import refuse_too_many

    refuse_too_many([plan, *further])
    bound = bound_of(plan)
    if plan.picture:
        from wirespeed.report.export.field_picture import refuse_picture

        refuse_picture(plan.picture)
        plan, *further = _last_draws([plan, *further])
    traced = Traced.of(plan)
    # What programs read is one document: it comes at the end.
    at_once = not further or reporting.format in ("table", "tutorial")
    alike = [variant for variant in (plan, *further) if _condition(variant) == _condition(plan)]
    measured: PlanResult | None = None
    codes: list[ExitCode] = []
    lacking: dict[str, WirespeedError] = {}
    late: list[str] = []
    for number, variant in enumerate((plan, *further)):
        if measured and variant.pattern != plan.pattern and not _pins(measured):
            continue
        if bound and number and bound.left < LEAST_S:
            late.append(_value(variant, (plan, *further)))
            continue
        if measured:
            variant = replace(variant, out=measured.file, resume=True)
        elif lacking and _condition(variant) != _condition(plan):
            break
        try:
            # What follows with another pattern may turn out to tell nothing here, and has what is left.
            later = [other.pattern == variant.pattern for other in further[number:]]
            coming = 1 + sum(later) + FOLLOWED * (not all(later))
            part = bound.part(coming) if bound else None
            measured = measure_plan(variant, traced=traced, bound=part)
        except WirespeedError as error:
            # Of the values of a list those are measured that can be.
            if (
                error.code != ExitCode.UNAVAILABLE
                or len(alike) == 1
                or _condition(variant) != _condition(plan)
            ):
                raise
            lacking[_value(variant, alike)] = error
            continue
        if measured.records and at_once:
            if codes:
                print()
                if variant.pattern != plan.pattern and reporting.format == "table":
                    print("what pinned memory is worth to messages between two ranks:")
            measured.print(reporting)
            if codes:
                _print_comparison(measured)
        codes.append(measured.code)
        if measured.code not in GO_ON:
            break
    if measured is None:
        raise next(iter(lacking.values()))
    for value, why in lacking.items():
        note(f"{value} is left out: {why}")
    if late:
        note(f"left out for {bound}: {'; '.join(late)}")
    if measured.code in GO_ON:
        able = [code for code in codes if code != ExitCode.UNAVAILABLE or len(alike) == 1]
        measured.code = gravest(*(able or codes))
    if measured.records:
        if not at_once:
            reporting.print(measured.runs)
        resumes = measured.code == ExitCode.INTERRUPTED and not plan.soak
        more = "; go on with --resume and this --out" if resumes else ""
        note(f"results: {measured.file}{more}")
        measured.draw()
        traced.finish(reporting.console())
        tell_missed(bound)
    return measured.code


def bound_of(plan: Plan) -> Bound | None:
    """The bound of the command that measures the plan. Raises WirespeedError where it is too short."""
    return Bound.of(plan.budget, click.get_current_context().obj)


def tell_missed(bound: Bound | None) -> None:
    """The command's last line, where it has taken longer than it was to."""
    if bound and (missed := bound.missed()):
        note(missed)


def _pins(measured: PlanResult) -> bool:
    """Was there a GPU? Without one no memory is pinned, and nothing shows what that is worth to messages."""
    return any(run.head.environment.devices for run in measured.runs)


def _condition(plan: Plan) -> tuple[str, str | None]:
    """What plans for the values of one list have in common."""
    return plan.pattern, plan.background


def _value(plan: Plan, others: Sequence[Plan]) -> str:
    """'operation load': how the plan differs from the others."""
    own, *rest = (
        {
            "pattern": variant.pattern,
            "with": variant.background,
            "ranks": variant.ranks,
            **dict(variant.options),
        }
        for variant in (plan, *others)
    )
    return ", ".join(
        f"{name} {value}" for name, value in own.items() if any(other.get(name) != value for other in rest)
    )


def _last_draws(plans: Sequence[Plan]) -> list[Plan]:
    return [*(replace(plan, picture=None) for plan in plans[:-1]), plans[-1]]


def _print_comparison(measured: PlanResult) -> None:
    """What another pattern cost this one, or more hosts than one, if there were any."""
    from wirespeed.report.console.console import make_console
    from wirespeed.report.terminal.other_conditions import print_halves, print_ratios
    from wirespeed.results.runs import resumed

    runs = [run for run in resumed(measured.runs) if run.entries]
    crowded = [run for run in runs if run.background == measured.plan.background]
    if crowded:
        print_ratios(make_console(), runs, crowded[-1])
        print_halves(make_console(), runs, crowded[-1])
