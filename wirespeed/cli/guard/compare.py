"""Compare result files: what became slower or faster, and why.

OLD and NEW are each a result file, a folder of them, a quoted wildcard ('old-*.jsonl'), or another tool's
output. Three to five launches per side (--launches) tell small changes from chance. The exit code is 6 if
anything is worse, 7 if impossible figures were left out, and 8 if nothing is worse but some could not be
told.

With --measure a side, or both, are measured now: as many launches as decide, ten at most.

\b
Examples:
  wirespeed compare before.jsonl after.jsonl
  wirespeed compare --measure before.jsonl         # measure the same now, and compare
  wirespeed compare --measure --mpi /opt/a,/opt/b  # two MPIs, launches by turns
  wirespeed compare --measure --env-file a.env,b.env --paths aware
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, flag, goes_with, option, table_or_json, within
from wirespeed.cli.common.streams import note, one_of_ranks
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan

if TYPE_CHECKING:
    from wirespeed.cli.common.sides import MeasuredSide
    from wirespeed.report.compare.comparison import Comparison

OF_MEASURE = ("mpi", "env_file", "paths", "sizes", "device", "launcher", "budget", "out")
"""Options that go with --measure."""
PER_LAUNCH_S = 60.0
"""Seconds of a launch, unless OLD says how long it took."""


@click.command(help=__doc__)
@click.argument("sides", metavar="OLD NEW", nargs=-1, type=words.ANY_FILE)
@click.option("--against", metavar="SYSTEM", help="Published figures of a system instead of OLD (summit).")
@option("--spread", words.PART, "Standard deviation between launches of the same thing, if you know it.")
@option("--least", words.PART, "Ignore changes of the time up to this share.", "0%")
@flag("--all everything", "Print every figure, changed or not.")
@flag("--strict", "What cannot be told fails as well (exit code 6).")
@flag("--measure", "Measure the new side now, as OLD was; or both, with two values of --mpi or --env-file.")
@option("--mpi", words.several(words.MPI, "PATH[,PATH]"), "With --measure: MPI of the new side, or of each.")
@option(
    "--env-file",
    words.several(words.FILE, "FILE[,FILE]"),
    "With --measure: NAME=VALUE lines, variables of the new side, or of each.",
)
@option("--paths", words.PATHS, "With --measure: paths to measure. Default: those of OLD, or that fit.")
@option("--sizes", words.SIZES, "With --measure: message sizes. Default: those of OLD, or 1:1G.")
@option("--device", words.DEVICE, "With --measure: as for 'wirespeed pingpong'. Default: as OLD, or auto.")
@option("--launcher", words.LAUNCHER, "With --measure: what starts the ranks. Default: as OLD, or auto.")
@option("--out", words.FILE, "Result file of --measure; of two sides FILE-1 and FILE-2.")
@within("With --measure: time of the whole command, as 5m. Default: 0, none.")
@table_or_json
@debugging
def command(
    sides: tuple[str, ...],
    against: str | None,
    spread: float | None,
    least: float,
    everything: bool,
    strict: bool,
    style: str,
    measure: bool,
    **given: Any,
) -> ExitCode:
    """Compares and prints."""
    from wirespeed.report.compare.as_json import to_json
    from wirespeed.report.compare.terminal import print_comparison
    from wirespeed.report.console.console import make_console

    interrupted = False
    if measure:
        if against:
            raise WirespeedError(f"--against {against} is read: leave out --measure")
        comparison, interrupted = _measured(sides, spread, least, given)
    else:
        goes_with("--measure", *OF_MEASURE)
        comparison = _read(sides, against, spread, least)
    if style == "json":
        click.echo(to_json(comparison), nl=False)
    else:
        print_comparison(make_console(), comparison, everything=everything)
    return ExitCode.INTERRUPTED if interrupted else comparison.code(strict=strict)


def _read(sides: tuple[str, ...], against: str | None, spread: float | None, least: float) -> Comparison:
    """Of files, or of a file and published figures."""
    from wirespeed.cli.common.reading import read_beside, read_side
    from wirespeed.report.compare.comparison import NOTHING_BESIDE, compare, compare_published
    from wirespeed.report.console.status_line import StatusLine

    if against and len(sides) != 1:
        raise WirespeedError(f"--against {against} is the old side: give one new one, not {len(sides)}")
    if not against and len(sides) != 2:
        raise WirespeedError(
            f"two sides are compared, OLD and NEW, not {len(sides)}: put a side's files into a folder, "
            "or write a quoted wildcard, as in 'old-*.jsonl'"
        )
    *olds, new = sides
    with StatusLine(live=False) as status:
        status.now(f"{words.shown(new)} is read")
        theirs = read_side(new)
        ours = []
        for old in olds:
            status.now(f"{words.shown(old)} is read")
            ours = read_side(old)
        status.now("the two sides are compared")
        if against:
            return compare_published(against, theirs, new, spread, least)
        single = max(sum(run.launches for run in side) for side in (ours, theirs)) == 1
        alone = single and spread is None
        beside = read_beside(olds[0], new, say=status.now) if alone else NOTHING_BESIDE
        return compare(ours, theirs, (olds[0], new), spread, least, beside=beside)


def _measured(
    files: tuple[str, ...], spread: float | None, least: float, given: dict[str, Any]
) -> tuple[Comparison, bool]:
    """A file and a side that is measured, or two sides by turns; also whether Ctrl-C came."""
    from wirespeed.cli.common.measuring import bound_of, tell_missed
    from wirespeed.cli.common.reading import read_side
    from wirespeed.cli.common.sides import measure_until_decided, planned_like
    from wirespeed.report.compare.comparison import compare
    from wirespeed.report.console.status_line import StatusLine

    if one_of_ranks():
        raise WirespeedError(
            "--measure starts jobs of its own: not inside a launcher's job; give two files instead"
        )
    if len(files) > 1:
        raise WirespeedError(f"--measure measures the new side: give OLD alone, not {len(files)} files")
    kinds = {name: given[name] for name in ("mpi", "env_file") if given[name] is not None}
    by_turns = any(len(values) == 2 for values in kinds.values())
    if any(len(values) > 2 for values in kinds.values()):
        raise WirespeedError("two sides are compared: give --mpi and --env-file one value, or two")
    if not (files or by_turns):
        raise WirespeedError("--measure compares with OLD, or two values: --mpi A,B or --env-file A,B")
    old = read_side(files[0]) if files else []
    plans = planned_like(old, files[0]) if files else [Plan(budget=PER_LAUNCH_S)]
    if len({plan.mpi for plan in plans}) > 1 and "mpi" not in kinds:
        raise WirespeedError(f"{files[0]}: it was measured with more than one MPI: choose with --mpi")
    names = ("sizes", "device", "launcher", "paths")
    chosen = {name: given[name] for name in names if given[name] is not None}
    plans = [replace(plan, **chosen) for plan in plans]
    bound = bound_of(replace(plans[0], budget=given["budget"] or 0.0))
    sides = _sides(plans, kinds, 1 + by_turns, given["out"])
    side_names = (sides[0].name, sides[-1].name) if by_turns else (files[0], sides[0].name)

    def judged(false_alarms: float) -> Comparison:
        new = sides[-1].runs
        return compare(
            sides[0].runs if by_turns else old,
            new,
            side_names,
            spread,
            least,
            share_of_alarms=false_alarms,
            fixed_old=not by_turns,
        )

    with StatusLine() as status:
        found = measure_until_decided(sides, judged, bound, status.now)
    for side in sides:
        note(f"results: {side.file}")
    tell_missed(bound)
    return found


def _sides(
    plans: list[Plan], kinds: dict[str, tuple[str, ...]], many: int, out: str | None
) -> list[MeasuredSide]:
    """One for each value of what differs; a value that is alone holds for both."""
    from wirespeed.cli.common.sides import MeasuredSide, variables
    from wirespeed.results.store import default_names

    file = Path(out) if out else next(name for name in default_names() if not name.exists())
    sides = []
    for number in range(many):
        values = {name: each[number % len(each)] for name, each in kinds.items()}
        told = [value for name, value in values.items() if many == 1 or len(kinds[name]) == 2]
        own = [replace(plan, mpi=values.get("mpi", plan.mpi)) for plan in plans]
        env = variables(values["env_file"]) if "env_file" in values else {}
        place = file.with_stem(f"{file.stem}-{number + 1}") if many == 2 else file
        name = ", ".join(told) or "now"
        sides.append(MeasuredSide(name, own, str(place), env))
    return sides
