"""Compare result files: what became slower or faster, and why.

OLD and NEW are each a result file, a folder of them, a quoted wildcard ('old-*.jsonl'), or another tool's
output. Three to five launches per side (--launches) tell small changes from chance. The exit code is 6 if
anything is worse, 7 if impossible figures were left out, and 8 if nothing is worse but some could not be
told.
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, flag, option, table_or_json
from wirespeed.errors import ExitCode, WirespeedError

SHARE = words.PART


@click.command(help=__doc__)
@click.argument("sides", metavar="OLD NEW", nargs=-1, required=True, type=words.ANY_FILE)
@click.option("--against", metavar="SYSTEM", help="Published figures of a system instead of OLD (summit).")
@option("--spread", words.PART, "Standard deviation between launches of the same thing, if you know it.")
@option("--least", words.PART, "Ignore changes of the time up to this share.", "0%")
@flag("--all", "Print every figure, changed or not.", "everything")
@flag("--strict", "What cannot be told fails as well (exit code 6).")
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
) -> ExitCode:
    """Compares and prints."""
    from wirespeed.cli.common.reading import read_beside, read_side
    from wirespeed.report.compare.as_json import to_json
    from wirespeed.report.compare.comparison import compare, compare_published
    from wirespeed.report.compare.terminal import print_comparison
    from wirespeed.report.console.console import make_console
    from wirespeed.report.console.status_line import StatusLine

    *olds, new = sides
    if against and olds:
        raise WirespeedError(f"--against {against} is the old side: give one new one, not {len(sides)}")
    if not against and len(olds) != 1:
        raise WirespeedError(
            f"two sides are compared, OLD and NEW, not {len(sides)}: put a side's files into a folder, "
            "or write a quoted wildcard, as in 'old-*.jsonl'"
        )
    with StatusLine(live=False) as status:
        status.now(f"{words.shown(new)} is read")
        theirs = read_side(new)
        ours = []
        for old in olds:
            status.now(f"{words.shown(old)} is read")
            ours = read_side(old)
        status.now("the two sides are compared")
        if against:
            comparison = compare_published(against, theirs, new, spread, least)
        else:
            single = max(sum(run.launches for run in side) for side in (ours, theirs)) == 1
            earlier = []
            if single and spread is None:
                earlier = read_beside(olds[0], new, say=status.now)
            comparison = compare(ours, theirs, (olds[0], new), spread, least, earlier=earlier)
    if style == "json":
        click.echo(to_json(comparison), nl=False)
    else:
        print_comparison(make_console(), comparison, everything=everything)
    return comparison.code(strict=strict)
