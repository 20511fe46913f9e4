"""What `--format` takes: how runs are written to stdout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO

import msgspec

from wirespeed.results.runs import Entry, Run

Writer = Callable[[Sequence[Run], IO[str], "str | None"], None]


def _table(runs: Sequence[Run], stream: IO[str], against: str | None) -> None:
    from wirespeed.report.terminal.run_summary import make_console, print_run

    console = make_console(stream)
    for number, run in enumerate(runs):
        if number:
            console.print()
            console.rule(style="dim")
        print_run(console, run)
        if run.background and number and runs[number - 1].entries:
            from wirespeed.report.terminal.contention import print_ratios

            print_ratios(console, runs[number - 1], run, run.background)
        if against and run.published:
            from wirespeed.report.systems.published_curves import load_system, print_against

            print_against(console, run, load_system(against))


def _json(runs: Sequence[Run], stream: IO[str], against: str | None) -> None:
    records = [record for run in runs for record in run.records]
    lines = ",\n".join(msgspec.json.encode(record).decode() for record in records)
    _write(stream, f"[\n{lines}\n]\n" if lines else "[]\n")


def _csv(runs: Sequence[Run], stream: IO[str], against: str | None) -> None:
    from wirespeed.results.export import to_csv

    entries = [record for run in runs for record in run.records if isinstance(record, Entry)]
    _write(stream, to_csv(entries))


def _tutorial(runs: Sequence[Run], stream: IO[str], against: str | None) -> None:
    from wirespeed.report.export.tutorial import tutorial

    text = tutorial(runs)
    _write(stream, f"{text}\n" if text else "")


def _prometheus(runs: Sequence[Run], stream: IO[str], against: str | None) -> None:
    from wirespeed.report.export.prometheus import to_prometheus

    _write(stream, to_prometheus(runs))


def _osu(runs: Sequence[Run], stream: IO[str], against: str | None) -> None:
    from wirespeed.report.export.osu import to_osu

    _write(stream, to_osu(runs))


def _reframe(runs: Sequence[Run], stream: IO[str], against: str | None) -> None:
    from wirespeed.report.export.reframe import to_reframe

    _write(stream, to_reframe(runs))


def _write(stream: IO[str], text: str) -> None:
    """Line by line: with PYTHONUNBUFFERED, Python drops the rest of a long text when a write falls short."""
    stream.writelines(text.splitlines(keepends=True))


FORMATS: dict[str, Writer] = {
    "table": _table,
    "json": _json,
    "csv": _csv,
    "tutorial": _tutorial,
    "osu": _osu,
    "prometheus": _prometheus,
    "reframe": _reframe,
}
