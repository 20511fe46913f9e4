"""The table of a soak: messages checked by path and size, the wrong ones, and its message rate."""

from __future__ import annotations

from rich.text import Text

from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.facts import soaks
from wirespeed.results.runs import Run
from wirespeed.results.soak import Soak
from wirespeed.units import format_size

LEGEND = (
    "messages/s: of all ranks together; of timed: as a share of the rate of iterations that nobody checks. "
    "damaged: some bytes are wrong and stay so; late: right once the next message was there; "
    "stale: the bytes of an earlier iteration; lost: nothing arrived."
)


def build(run: Run) -> Table[Soak]:
    """A row for each path and size."""

    def wrong(soak: Soak) -> Text:
        return Text(soaks.wrong_words(soak), "bold red" if soak.wrong.total else "")

    columns: list[Column[Soak]] = [
        Column("path", lambda soak: Text(soak.path, "bold"), left=True),
        Column("size", lambda soak: format_size(soak.bytes), gap=2),
        Column("messages", lambda soak: f"{soak.messages:,}", gap=2),
        Column("wrong", wrong, gap=2, left=True),
        Column("messages/s", lambda soak: _rate(soak.messages_per_s), gap=2),
        Column("of timed", _share, gap=2),
    ]
    found = soaks.soaks(run)
    if any(soak.uncovered for soak in found):
        columns.append(Column("no soak of", lambda soak: Text(", ".join(soak.uncovered.values())), left=True))
    if any(soak.planted is not None for soak in found):
        columns.insert(3, Column("planted", lambda soak: f"{soak.planted or 0:,}", gap=2))
    return table(columns, found)


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _share(soak: Soak) -> str | None:
    return None if soak.rate_share is None else f"{100 * soak.rate_share:.0f} %"
