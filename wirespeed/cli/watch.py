"""wirespeed watch: a short check, again and again, to see a machine drift."""

from __future__ import annotations

import dataclasses
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, Measuring, flag, option
from wirespeed.cli.common.streams import distrust_terminals
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan

if TYPE_CHECKING:
    from wirespeed.results.model import Event

ORDER = 46
SIZES = "8,64K,16M"
"""A latency, a message in the middle, a bandwidth."""
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
_UNITS = {None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Options(Debugging, Measuring):
    """Of wirespeed watch: those of wirespeed pingpong, and how often."""

    sizes: Annotated[
        str, option("--sizes", "SIZES", "Bytes of a message: a list, or powers of two as in 8:1G.")
    ] = SIZES
    every: Annotated[
        str, option("--every", "TIME", "From the start of one to that of the next: 30s, 5m, 1h; 0: at once.")
    ] = "60s"
    count: Annotated[str | None, option("--count", "N", "How many. Default: until Ctrl-C.")] = None
    first: Annotated[str, option("--first", "N", "So many at the start say what is usual.")] = "5"
    fail: Annotated[bool, flag("--fail", "Exit code 6 if anything became slower or failed.")] = False


def run(options: Options) -> ExitCode:
    """Repeat a short check, and say when the machine drifts.

    Each repetition starts new ranks. The latest three are compared with the first ones: what is slower by
    more than chance is named. All are in one result file, as launches for 'wirespeed compare'.
    """
    from wirespeed.launch import place
    from wirespeed.report.drift.detection import Drift
    from wirespeed.report.drift.terminal import Watching
    from wirespeed.report.terminal.run_summary import make_console
    from wirespeed.results.store import Store, default_name

    distrust_terminals()
    if place():
        raise WirespeedError("watch starts jobs of its own: not inside a launcher's job")
    if options.resume:
        raise WirespeedError("--resume: watch begins anew each time; name another file with --out")
    plan = options.plan("pingpong", 2, debug=options.debug, test=options.test)
    every = interval(options.every)
    count = None if options.count is None else values.count("--count", options.count, least=1)
    drift = Drift(values.count("--first", options.first, least=1, most=1000))
    code = ExitCode.OK
    with Store(plan.out or default_name()) as store, Watching(make_console(), drift) as watching:
        try:
            while code != ExitCode.INTERRUPTED and (count is None or len(drift.runs) < count):
                began = time.monotonic()
                code = _once(plan, store, drift, watching)
                if code == ExitCode.INTERRUPTED or len(drift.runs) == count:
                    break
                watching.waits(began + every)
                time.sleep(max(0.0, began + every - time.monotonic()))
                watching.waits(None)
        except KeyboardInterrupt:
            code = ExitCode.INTERRUPTED
    print(f"results: {store.path}", file=sys.stderr, flush=True)
    if drift.ever and options.fail:
        return ExitCode.WORSE
    return code


def _once(plan: Plan, store: Any, drift: Any, watching: Any) -> ExitCode:
    """One repetition: measured, stored line by line, compared."""
    from wirespeed.frontend import session as entry
    from wirespeed.results.runs import Run

    repetition = Run()

    def observe(event: Event) -> None:
        if not isinstance(event, dict):
            store.append(event)
            repetition.add(event)

    # A run has a file of its own: going on with one it would measure nothing twice.
    with tempfile.TemporaryDirectory(prefix="wirespeed-watch-") as folder:
        code = entry.measure(dataclasses.replace(plan, out=str(Path(folder, "once.jsonl"))), observe)
    if code != ExitCode.INTERRUPTED:
        watching.measured(drift.add(repetition))
    return code


def interval(text: str) -> float:
    """Seconds of '30s', '5m', '1h', '0'. Raises WirespeedError."""
    match = _TIME.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else -1.0
    if not 0 <= seconds <= 86400:
        raise WirespeedError(f"--every {values.shown(text)}: write a time up to a day, as in 30s, 5m or 1h")
    return seconds


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "watch", Options, run)
