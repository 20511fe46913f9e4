"""wirespeed compare: what changed between result files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, flag, option
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.units import parse_share

ORDER = 42
FORMATS = ("table", "json")


@dataclass(frozen=True)
class _Sides:
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="OLD NEW",
            help="Each a result file, a folder of them, or a pattern in quotes ('old-*.jsonl').",
        ),
    ]


@dataclass(frozen=True)
class Options(Debugging, _Sides):
    """Of wirespeed compare."""

    against: Annotated[
        str | None, option("--against", "SYSTEM", "A system's published figures instead of OLD (summit).")
    ] = None
    spread: Annotated[
        str,
        option("--spread", "SHARE", "What launches of the same thing differ by, before any were seen."),
    ] = "1%"
    least: Annotated[
        str, option("--least", "SHARE", "Changes of the time up to this share count as none.")
    ] = "0%"
    everything: Annotated[bool, flag("--all", "Every figure, changed or not.")] = False
    format: Annotated[str, option("--format", "|".join(FORMATS), "How to print the comparison.")] = "table"


def run(options: Options) -> ExitCode:
    """Compare result files: what is slower, what is faster, and what may have caused it.

    Files of several launches a side tell small changes from chance. The exit code is 6 if anything is worse.
    """
    from wirespeed.cli.common.sides import read_side
    from wirespeed.report.compare.as_json import to_json
    from wirespeed.report.compare.comparison import compare, compare_published
    from wirespeed.report.compare.terminal import print_comparison
    from wirespeed.report.terminal.run_summary import make_console

    values.one_of("--format", options.format, FORMATS)
    spread, least = _share("--spread", options.spread), _share("--least", options.least)
    *olds, new = options.sides
    if len(olds) != (0 if options.against else 1):
        raise WirespeedError(_count(len(options.sides), options.against))
    theirs = read_side(new)
    if options.against:
        comparison = compare_published(options.against, theirs, new, spread, least)
    else:
        comparison = compare(read_side(olds[0]), theirs, (olds[0], new), spread, least)
    if options.format == "json":
        sys.stdout.write(to_json(comparison))
    else:
        print_comparison(make_console(), comparison, everything=options.everything)
    return ExitCode.WORSE if comparison.harmful else ExitCode.OK


def _count(given: int, against: str | None) -> str:
    """What is wrong with so many sides."""
    if against:
        return f"--against {against} is the old side: give one new one, not {given}"
    return (
        f"two sides are compared, OLD and NEW, not {given}: put a side's files into a folder, "
        "or write their pattern in quotes, as in 'old-*.jsonl'"
    )


def _share(name: str, word: str) -> float:
    share = values.named(name, word, parse_share)
    if not 0 <= share < 1:
        raise WirespeedError(
            f"{name} {values.shown(word)}: write a share from 0 to below 1, as in 1% or 0.01"
        )
    return share


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "compare", Options, run)
