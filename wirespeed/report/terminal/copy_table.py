"""Copies inside ranks: each rank alone, and all at once, a row for each way and size."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from wirespeed.limits.ceilings import Ceiling
from wirespeed.report.facts.markers import grade, share_style
from wirespeed.report.terminal.size_table import add_columns, new_table
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

ALONE, TOGETHER = "alone", "with all"


def build(run: Run) -> Table:
    """GB/s of the slowest rank alone, of the slowest one while all copy, and of all together."""
    table = new_table()
    table.add_column("\nway", no_wrap=True)
    limited = any(run.ceiling(path) for path in run.paths)
    heads = [
        "\nsize",
        "  slowest\n  rank alone",
        "  slowest\n  with all",
        "  all\n  at once",
        "  share\n  kept",
    ]
    add_columns(table, heads + ["  of\n  limit"] * limited)
    for path in run.paths:
        limit = run.ceiling(path)
        for number, entry in enumerate(run.of_path(path)):
            cells = _cells(entry) + [_share(entry, limit)] * limited
            table.add_row(Text("" if number else path), Text(format_size(entry.bytes)), *cells)
    return table


def _cells(entry: Entry) -> list[Text]:
    alone, together = slowest(entry, ALONE), slowest(entry, TOGETHER)
    none = Text("-", style="dim")
    if not entry.amount or alone is None or together is None:
        return [none] * 4
    count = sum(member.name.endswith(TOGETHER) for member in entry.members)
    kept = alone / together
    return [
        Text(f"  {format_rate(entry.amount / alone)}"),
        Text.assemble("  ", (grade(entry), "yellow"), format_rate(entry.amount / together)),
        Text(f"  {format_rate(count * entry.amount / together)}"),
        Text(f"  {100 * kept:.0f} %", style="yellow" if kept < 0.9 else ""),
    ]


def _share(entry: Entry, limit: Ceiling | None) -> Text:
    """Of the slowest rank alone."""
    alone = slowest(entry, ALONE)
    if limit is None or alone is None or not entry.amount:
        return Text("-", style="dim")
    share = entry.amount / alone / limit.rate
    return Text(f"  {100 * share:.0f} %", style=share_style(share))


def slowest(entry: Entry, how: str) -> float | None:
    """Seconds of the slowest rank that copied so."""
    return max((member.seconds for member in entry.members if member.name.endswith(how)), default=None)


LEGEND = (
    "GB/s of one rank, the slowest one, alone and while all copy; all at once: ranks x the latter; share "
    "kept: what is left of a rank's rate when all copy; of limit: the slowest rank alone"
)
