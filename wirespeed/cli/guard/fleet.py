"""Find the slow nodes, GPUs, links and switches of a fleet."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, flag, option
from wirespeed.cli.common.streams import note, print_or_write, warn_of
from wirespeed.cli.guard.compare import SHARE
from wirespeed.errors import ExitCode, WirespeedError

if TYPE_CHECKING:
    from wirespeed.fleet.drift import FleetDrift
    from wirespeed.fleet.history import History
    from wirespeed.fleet.topology import Topology

FORMATS = ("table", "json", "prometheus", "slurm", "pbs")
BEFORE_DAYS = 28.0
"""Days before --since that the latest ones are compared with."""


def _date(word: str) -> datetime:
    try:
        return datetime.strptime(word, "%Y-%m-%d")
    except ValueError:
        raise ValueError("write a date, as in 2026-11-22") from None


def _days(word: str) -> float:
    days = float(word) if word.replace(".", "", 1).isdigit() else 0.0
    if not 0 < days <= 36500:
        raise ValueError("write a number of days above 0, as in 7 or 0.5")
    return days


def _rate(word: str) -> float:
    from wirespeed.units import parse_share

    share = parse_share(word)
    if not 0 < share < 1:
        raise ValueError("write a share above 0 and below 1, as in 1% or 0.01")
    return share


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Find the slow nodes, GPUs, links and switches of a fleet.

    They are found in the result files of all its nodes. Start with: wirespeed fleet show RESULTS/
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command()
@click.argument("folder", metavar="DIR")
@option("--last", words.Word("DAYS", _days), "Judge the latest days that have figures.", "7")
@option("--since", words.Word("DATE", _date), "Also print what became slower since a date, and what changed.")
@click.option("--topology", metavar="FILE", help="Switches and their nodes, as in Slurm's topology.conf.")
@option("--least", SHARE, "Ignore excess times up to this share.", "2%")
@option(
    "--fdr",
    words.Word("SHARE", _rate),
    "False discovery rate: this share of what is named may be wrong.",
    "1%",
)
@flag("--all", "Print every finding and all its figures.", "everything")
@option(
    "--format",
    words.choice(*FORMATS),
    "How to print: slurm and pbs print nodes to leave out.",
    "table",
    "style",
)
@option("--page", words.FILE, "Also write an HTML page with the map of the fleet.")
@debugging
def show(
    folder: str,
    last: float,
    since: datetime | None,
    topology: str | None,
    least: float,
    fdr: float,
    everything: bool,
    style: str,
    page: str | None,
) -> ExitCode:
    """Name what is slow, the most expensive first.

    DIR has the result files of all nodes, in any folders below it, and packed days. The exit code is 6 if
    anything stands out.
    """
    from wirespeed.fleet.history import read_history
    from wirespeed.fleet.judge import judge
    from wirespeed.fleet.topology import NO_TOPOLOGY, read_topology
    from wirespeed.report.fleet.shown import Shown
    from wirespeed.report.fleet.styles import print_as

    if page is not None and not page.endswith(".html"):
        raise WirespeedError(f"--page {page}: the name of a page ends in .html")
    switches = read_topology(topology) if topology else NO_TOPOLOGY
    history = read_history(folder)
    warn_of(folder, history.warnings)
    begin, end = history.last_days(last)
    verdict = judge(history.window(begin, end), switches, least, fdr)
    changes = _drift(history, since, last, switches, least, fdr) if since else None
    shown = Shown(folder, begin, end, verdict, switches, least, fdr, changes)
    if page is not None:
        from wirespeed.report.fleet.page import render

        print_or_write(render(shown), page)
        note(f"page: {page}")
    print_as(style, shown, everything=everything)
    return ExitCode.WORSE if verdict.findings or (changes and changes.verdict.findings) else ExitCode.OK


def _drift(
    history: History, since: datetime, last: float, topology: Topology, least: float, fdr: float
) -> FleetDrift:
    """The latest days against those before a date."""
    from wirespeed.fleet.drift import add_causes, drift

    begin, end = history.last_days(last)
    begin = max(begin, since)
    if begin >= end:
        raise WirespeedError(f"--since {since:%Y-%m-%d}: the last figure is of {history.newest:%Y-%m-%d}")
    earlier = since - timedelta(days=BEFORE_DAYS)
    before, now = history.window(earlier, since), history.window(begin, end)
    if not len(before):
        raise WirespeedError(
            f"--since {since:%Y-%m-%d}: no figure in the {BEFORE_DAYS:.0f} days before it to compare with"
        )
    found = drift(f"{since:%Y-%m-%d}", before, now, topology, least, fdr)
    shortly = since - timedelta(days=last)
    add_causes(found, history.facts(shortly, since), history.facts(begin, end))
    return found


@command.command()
@click.argument("folder", metavar="DIR")
@flag("--again", "Pack every day anew, from the result files that are there now.")
@debugging
def pack(folder: str, again: bool) -> ExitCode:
    """Make a Parquet file of each day, which 'show' reads fast.

    The result files below DIR stay as they are. DIR/YYYY-MM-DD.parquet gets the figures of those that are new
    or have changed. Needs DuckDB: pip install 'wirespeed[fleet]'.
    """
    from wirespeed.fleet import pack as packing

    done = packing.pack(folder, again=again)
    warn_of(folder, done.warnings)
    if done.files:
        print(f"packed {done.rows} figures of {done.files} result files into {done.days} days")
    else:
        print("all result files are packed already")
    return ExitCode.OK
