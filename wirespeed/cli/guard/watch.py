"""Repeat a short measurement, and say when the machine drifts.

Each repetition starts new ranks. The latest five are compared with the first ones: what is slower by more
than chance is named. All are in one result file, as launches for 'wirespeed compare'.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from wirespeed import interrupts
from wirespeed.cli.common import words
from wirespeed.cli.common.options import flag, measuring, option, plan_of, soaking, unlisted, where
from wirespeed.cli.common.streams import distrust_terminals, note, one_of_ranks
from wirespeed.errors import ExitCode, WirespeedError, gravest
from wirespeed.job.plan import Plan
from wirespeed.units import parse_sizes

if TYPE_CHECKING:
    from wirespeed.results.model import Event

SIZES = "8,64K,16M"
"""A latency, a message in the middle, a bandwidth."""
EVERY = 60.0
"""Seconds from the start of a repetition to the start of the next."""


@click.command(help=__doc__)
@option(
    "--every",
    words.TIME,
    "Start a repetition every 30s, 5m, 1h; 0 means at once. Default: 60s, with --for 0.",
)
@option("--count", words.count(1), "Number of repetitions. Default: until Ctrl-C.")
@option("--for lasts", words.TIME, "Start no repetition after this time: 30m, 12h.")
@option("--first", words.count(1, 1000), "The first N define what is usual.", "5")
@flag(
    "--fail",
    "Exit with code 6 if anything became slower, failed or throttled, or had new errors; 7 if impossible; "
    "8 if nothing did, but some of it cannot be told.",
)
@flag("--strict", "With --fail: what cannot be told fails as well (exit code 6).")
@measuring(SIZES)
@soaking
@where
def command(
    every: float | None,
    count: int | None,
    lasts: float | None,
    first: int,
    fail: bool,
    strict: bool,
    **given: Any,
) -> ExitCode:
    """Measures, compares and prints until it is stopped."""
    from wirespeed.report import cannot_tell
    from wirespeed.report.console.console import make_console
    from wirespeed.report.drift.detection import Drift
    from wirespeed.report.drift.terminal import Watching, print_summary
    from wirespeed.results.store import Store

    distrust_terminals()
    if one_of_ranks():
        raise WirespeedError("watch starts jobs of its own: not inside a launcher's job")
    if given["resume"]:
        raise WirespeedError("--resume: watch begins anew each time; name another file with --out")
    plan = plan_of({**given, "sizes": given["sizes"] or parse_sizes(SIZES)})
    drift = Drift(first)
    code = ExitCode.OK
    began = time.monotonic()
    over = math.inf if lasts is None else began + lasts
    each = every if every is not None else EVERY if lasts is None else 0.0
    console = make_console()
    store = Store(plan.out)
    try:
        with interrupts.deferred(), store, Watching(console, drift, over=over) as watching:
            while True:
                started = time.monotonic()
                code = _once(plan, store, drift, watching)
                drift.lasted = time.monotonic() - began
                again = max(started + each, time.monotonic())
                if code == ExitCode.INTERRUPTED or len(drift.runs) == count or again >= over:
                    break
                watching.waits(again)
                interrupts.sleep(max(0.0, again - time.monotonic()))
                watching.waits(None)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    print_summary(console, drift)
    note(f"results: {store.path}")
    if not fail:
        return code
    impossible = any(run.impossible for run in drift.runs)
    worse = ExitCode.WORSE if drift.harmed else ExitCode.OK
    told = cannot_tell.code(bool(drift.unjudged), strict=strict)
    return gravest(code, ExitCode.IMPOSSIBLE if impossible else worse, told)


def _once(plan: Plan, store: Any, drift: Any, watching: Any) -> ExitCode:
    """One repetition: measured, stored line by line, compared."""
    from wirespeed.frontend import session
    from wirespeed.frontend.bound import Bound
    from wirespeed.host.temporary import temporary_folder
    from wirespeed.results.parts import RunRecord
    from wirespeed.results.runs import Run

    repetition, code = Run(), ExitCode.OK

    def observe(event: Event) -> None:
        if isinstance(event, RunRecord):
            store.append(event)
            repetition.add(event)

    # A run has a file of its own: going on with one it would measure nothing twice.
    with temporary_folder("watch") as folder:
        for number, soak in enumerate(dict.fromkeys((None, plan.soak))):
            if code != ExitCode.INTERRUPTED:
                once = replace(plan, soak=soak, out=str(folder / f"{number}.jsonl"))
                code = gravest(code, session.measure(once, observe, Bound.from_now(plan.budget)))
    if code != ExitCode.INTERRUPTED:
        watching.measured(drift.add(repetition))
    return code


unlisted(command, "resume")
