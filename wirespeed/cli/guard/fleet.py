"""Find the slow nodes, GPUs, links and switches of a fleet."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wirespeed import interrupts
from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, flag, formatted, option, plan_of, together, where, within
from wirespeed.cli.common.streams import note, one_of_ranks, print_or_write, warn_of
from wirespeed.errors import ExitCode, WirespeedError, gravest

if TYPE_CHECKING:
    from wirespeed.fleet.again import Suspected
    from wirespeed.fleet.drift import FleetDrift
    from wirespeed.fleet.history import History
    from wirespeed.fleet.topology import Topology
    from wirespeed.job.plan import Plan
    from wirespeed.results.recorder import Observer

SCHEDULERS = ("slurm", "pbs")
FORMATS = ("table", "json", "prometheus", *SCHEDULERS)
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

    They are found in the result files of all its nodes. 'run' measures them, 'show' reads what is there.
    Start with: wirespeed fleet run, inside an allocation of all nodes.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_TOPOLOGY = "Switches and their nodes, as in Slurm's topology.conf."
_judging = together(
    click.option("--topology", metavar="FILE", help=_TOPOLOGY),
    option("--least", words.PART, "Ignore excess times up to this share.", "2%"),
    option(
        "--fdr",
        words.Word("SHARE", _rate),
        "False discovery rate: this share of what is named may be wrong.",
        "1%",
    ),
    flag("--contended", "Also judge pairs whose ranks waited for CPUs, which is less sure."),
    flag("--strict", "Exit with 6 instead of 8 where something cannot be told."),
    option("--page", words.FILE, "Also write an HTML page with the findings and all nodes by switch."),
)


@command.command()
@click.argument("folder", metavar="DIR")
@option("--last", words.Word("DAYS", _days), "Judge the latest days that have figures.", "7")
@option("--since", words.Word("DATE", _date), "Also print what became slower since a date, and what changed.")
@_judging
@flag("--all everything", "Print every finding and all its figures.")
@formatted(words.choice(*FORMATS), "How to print: slurm and pbs print nodes to leave out.", "json")
@debugging
def show(folder: str, everything: bool, style: str, page: str | None, **judging: Any) -> ExitCode:
    """Name what is slow, the most expensive first.

    DIR has the result files of all nodes, in any folders below it, and packed days. The exit code is 6 if
    anything stands out, 8 if something cannot be told.
    """
    return _answer(folder, Judging(**judging), everything, style, page)


@dataclass(frozen=True)
class Judging:
    """Records that are judged, and how strictly."""

    topology: str | None
    least: float
    fdr: float
    """False discovery rate."""
    contended: bool
    """Also judge pairs whose ranks waited for CPUs."""
    strict: bool
    """Is what cannot be told a failure?"""
    last: float | None = None
    """Latest days; None: all."""
    since: datetime | None = None


def _answer(
    folder: str, how: Judging, everything: bool = False, style: str = "table", page: str | None = None
) -> ExitCode:
    """Prints what stands out, and writes the page. Raises WirespeedError."""
    from wirespeed.fleet.history import read_history
    from wirespeed.fleet.judge import judge
    from wirespeed.fleet.software import groups_apart, unlike_most
    from wirespeed.fleet.topology import NO_TOPOLOGY, read_topology
    from wirespeed.report.fleet.shown import Shown
    from wirespeed.report.fleet.styles import print_as

    _check_page(page)
    switches = read_topology(how.topology) if how.topology else NO_TOPOLOGY
    history = read_history(folder, contended=how.contended)
    try:
        begin, end = history.last_days(how.last)
        verdict = judge(history.window(begin, end), switches, how.least, how.fdr)
        changes = _drift(history, how.since, how, switches) if how.since else None
        found = (history.silent(begin), history.unjudged(begin, end))
        facts = history.facts(begin, end)
        software = unlike_most(verdict.findings, facts) if verdict.findings else []
        software += groups_apart(verdict.distances, facts, how.least)
    finally:
        warn_of(folder, history.warnings)
    doubts = history.ahead, history.unfinished(begin, end)
    shown = Shown(
        folder, begin, end, verdict, switches, how.least, how.fdr, changes, *found, *doubts, software
    )
    if page is not None:
        from wirespeed.report.fleet.styles import to_page

        print_or_write(to_page(shown), page)
        note(f"page: {page}")
    print_as(style, shown, everything=everything)
    code = shown.code(how.strict)
    if style in SCHEDULERS and code != ExitCode.OK and not shown.excluded:
        note(f"wirespeed: {shown.answer}; no node is left out; 'wirespeed fleet show {folder}' says why")
    return code


def _suspects(folder: str, how: Judging) -> Suspected:
    """What looks slow, but in too few launches to be named; nothing where nothing can be judged."""
    from wirespeed.fleet.again import SUSPICIOUS, Suspected, suspected
    from wirespeed.fleet.history import read_history
    from wirespeed.fleet.judge import judge
    from wirespeed.fleet.topology import NO_TOPOLOGY, read_topology

    switches = read_topology(how.topology) if how.topology else NO_TOPOLOGY
    history = read_history(folder, contended=how.contended)
    try:
        window = history.window(*history.last_days(None))
    except WirespeedError:
        return Suspected()
    verdict = judge(window, switches, how.least, max(how.fdr, SUSPICIOUS))
    known = {(finding.kind, finding.name) for finding in judge(window, switches, how.least, how.fdr).findings}
    return suspected(
        [
            *verdict.suspects,
            *(finding for finding in verdict.findings if (finding.kind, finding.name) not in known),
        ]
    )


def _check_page(page: str | None) -> None:
    """Raises WirespeedError for the name of another kind of file."""
    if page is not None and not page.endswith(".html"):
        raise WirespeedError(f"--page {page}: the name of a page ends in .html")


def _drift(history: History, since: datetime, how: Judging, topology: Topology) -> FleetDrift:
    """The latest days against those before a date."""
    from wirespeed.fleet.drift import add_causes, drift

    begin, end = history.last_days(how.last)
    begin = max(begin, since)
    if begin >= end:
        raise WirespeedError(f"--since {since:%Y-%m-%d}: the last figure is of {history.newest:%Y-%m-%d}")
    earlier = since - timedelta(days=BEFORE_DAYS)
    before, now = history.window(earlier, since), history.window(begin, end)
    if not len(before):
        raise WirespeedError(
            f"--since {since:%Y-%m-%d}: no figure in the {BEFORE_DAYS:.0f} days before it to compare with"
        )
    found = drift(f"{since:%Y-%m-%d}", before, now, topology, how.least, how.fdr)
    shortly = since - timedelta(days=how.last or BEFORE_DAYS)
    add_causes(found, history.facts(shortly, since), history.facts(begin, end))
    return found


def _hosts(word: str) -> tuple[str, ...]:
    from wirespeed.fleet.allocation import named_hosts

    return named_hosts(word)


HOSTS = words.Word("FILE|NAME,...", _hosts)
_PATHS = "Paths between nodes. Default: host, with GPUs also aware."
_NODE_PATHS = "Paths within a node. Default: host, with GPUs also aware and gpu."


@command.command()
@option("--hosts", HOSTS, "The nodes: a file with one in each line, or n1,n[2-9]. Default: the allocation's.")
@option("--out", words.FILE, "Folder for the result files. Default: ./fleet-<time>.")
@option(
    "--rounds",
    words.count(0, 10_000),
    "Rounds of pairs: every node is measured with so many others. Default: 8, of up to 16 nodes 12.",
)
@option("--at-once", words.count(1, 1_000_000), "At most N pairs at the same time. Default: all of a round.")
@option("--seed", words.count(), "Seed of the random pairs.", "1")
@flag("--resume", "Measure only what the folder of --out lacks.")
@option("--paths", words.PATHS, _PATHS)
@option("--sizes", words.SIZES, "Message sizes between nodes.", "8,16M")
@option("--node-paths", words.PATHS, _NODE_PATHS)
@option("--node-sizes", words.SIZES, "Sizes of messages within a node; copies from 4K on.", "8,64M")
@option("--precision", words.SHARE, "Stop when the median's 95 % interval is within ± this share.", "1%")
@option("--max-time", words.SECONDS, "Time per size; up to three times that where it helps.", "0.05")
@option("--timeout", words.SECONDS, "Time without progress that counts as a hang. Default: by size.")
@flag(
    "--no-evidence",
    "Count no bytes on the links and do not read the hosts' health.",
    envvar="WIRESPEED_NO_EVIDENCE",
)
@within(
    "Time of the whole command: 30m, 2h; 0: none. Launches that it leaves no time for are named, and "
    "--resume measures them. Default: 0."
)
@_judging
@where
def run(
    hosts: tuple[str, ...] | None,
    out: str | None,
    rounds: int | None,
    at_once: int | None,
    seed: int,
    resume: bool,
    node_paths: tuple[str, ...] | None,
    node_sizes: tuple[int, ...],
    topology: str | None,
    least: float,
    fdr: float,
    contended: bool,
    strict: bool,
    page: str | None,
    **given: Any,
) -> ExitCode:
    """Measure every node by itself, then pairs of nodes in random rounds, and name what is slow.

    In a round, disjoint pairs do a ping-pong at the same time. Each round is one launch of the batch system
    or of mpiexec. One that dies is repeated without the nodes that do not answer, which are named. The
    result files in the folder are what 'show' reads. The exit code is 6 if anything stands out or a node is
    silent, 1 if figures are missing.

    \b
    Examples:
      wirespeed fleet run                     # inside an allocation: all its nodes
      wirespeed fleet run --hosts hosts.txt --rounds 12 --page fleet.html
      wirespeed fleet run --hosts n[001-064] --at-once 4 --out fleet-monday
      wirespeed fleet run --out fleet-monday --hosts n[001-064] --at-once 4 --resume
    """
    from wirespeed.cli.common.measuring import bound_of, tell_missed
    from wirespeed.fleet.allocation import allocated_hosts
    from wirespeed.fleet.campaign import Campaign
    from wirespeed.fleet.parts import FleetPlan, usual_rounds
    from wirespeed.fleet.state import begin
    from wirespeed.frontend import session
    from wirespeed.frontend.bound import LEAST_S
    from wirespeed.report.console.status_line import StatusLine
    from wirespeed.units import counted, format_rate

    if one_of_ranks():
        raise WirespeedError("fleet run starts jobs of its own: not inside a launcher's job")
    if resume and not out:
        raise WirespeedError("--resume goes on with a folder: name it with --out DIR")
    _check_page(page)
    hosts = hosts or allocated_hosts(os.environ)
    common = plan_of({**given, "hosts": hosts})
    bound = bound_of(common)
    found = session.discover(common)
    gpus = len(found.devices)
    common = replace(common, paths=common.paths or (("host", "aware") if gpus else ("host",)))
    inside = node_paths or (("host", "aware", "gpu") if gpus else ("host",))
    rounds = usual_rounds(len(hosts)) if rounds is None else rounds
    how = Judging(topology, least, fdr, contended, strict)
    plan = FleetPlan(hosts, common, rounds, at_once, seed, inside, node_sizes, gpus)
    folder = Path(out or f"fleet-{datetime.now():%Y%m%d-%H%M%S}")
    state = begin(folder, plan.figures, resume=resume)
    most = counted(plan.most_at_once, "pair")
    load = f"at most {most} at the same time, each with one message under way (--at-once)"
    note(f"{counted(len(hosts), 'node')}, {counted(rounds, 'round')}; load on the network: {load}")

    def measure(plan: Plan, observe: Observer) -> ExitCode:
        return session.measure(plan, observe, bound.part(campaign.coming) if bound else None)

    try:
        with interrupts.deferred(), StatusLine() as status:
            campaign = Campaign(
                plan, state, measure, status.say, lambda: _suspects(str(folder), how), status.now
            )
            if bound:
                campaign.has_time = lambda: bound.left > LEAST_S
            code = campaign.run()
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    note(f"results: {folder}")
    if code == ExitCode.INTERRUPTED:
        note(f"go on with --resume --out {folder}")
        return code
    if campaign.late:
        first, *others = campaign.late
        more = f" and {len(others)} more of the launches" if others else ""
        note(f"left out for {bound}: {first}{more}; --resume --out {folder} measures what is missing")
    answer = _answer(str(folder), how, page=page)
    if campaign.fastest:
        fastest = format_rate(campaign.fastest)
        note(f"load on the network: at most {most} at the same time, the fastest at {fastest} GB/s")
    tell_missed(bound)
    return gravest(code, answer)


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
    elif done.unread:
        print("no new result file can be read; nothing is packed")
    else:
        print("all result files are packed already")
    return ExitCode.OK
