"""Compare result files: what became slower or faster, and why.

OLD and NEW are each a result file, a folder of them, or a quoted wildcard ('old-*.jsonl'). With files of
several launches per side, small changes can be told from chance. The exit code is 6 if anything is worse.
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, flag, option, table_or_json
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.units import parse_share


def _share(word: str) -> float:
    share = parse_share(word)
    if not 0 <= share < 1:
        raise ValueError("write a share from 0 to below 1, as in 1% or 0.01")
    return share


SHARE = words.Word("SHARE", _share)


@click.command(help=__doc__)
@click.argument("sides", metavar="OLD NEW", nargs=-1, required=True, type=words.ANY_FILE)
@click.option("--against", metavar="SYSTEM", help="Published figures of a system instead of OLD (summit).")
@option("--spread", SHARE, "Variation between launches of the same thing, where it is not known.", "1%")
@option("--least", SHARE, "Ignore changes of the time up to this share.", "0%")
@flag("--all", "Print every figure, changed or not.", "everything")
@table_or_json
@debugging
def command(
    sides: tuple[str, ...], against: str | None, spread: float, least: float, everything: bool, style: str
) -> ExitCode:
    """Compares and prints."""
    from wirespeed.cli.common.reading import read_side
    from wirespeed.report.compare.as_json import to_json
    from wirespeed.report.compare.comparison import compare, compare_published
    from wirespeed.report.compare.terminal import print_comparison
    from wirespeed.report.terminal.run_summary import make_console

    *olds, new = sides
    if against and olds:
        raise WirespeedError(f"--against {against} is the old side: give one new one, not {len(sides)}")
    if not against and len(olds) != 1:
        raise WirespeedError(
            f"two sides are compared, OLD and NEW, not {len(sides)}: put a side's files into a folder, "
            "or write a quoted wildcard, as in 'old-*.jsonl'"
        )
    theirs = read_side(new)
    if against:
        comparison = compare_published(against, theirs, new, spread, least)
    else:
        comparison = compare(read_side(olds[0]), theirs, (olds[0], new), spread, least)
    if style == "json":
        click.echo(to_json(comparison), nl=False)
    else:
        print_comparison(make_console(), comparison, everything=everything)
    return ExitCode.WORSE if comparison.harmful else ExitCode.OK
