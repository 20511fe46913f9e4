"""One rank and all others: a column of ranks for each path and direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wirespeed.report.facts.slowest_teams import SMALL, by_rank, describe
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import number, text
from wirespeed.results.runs import Entry
from wirespeed.statistics.samples import middle


def fans(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """One for each run and size whose figures are those of one rank and all others."""
    found = [_fan(measured, size) for measured in sets for size in measured.run.sizes]
    return [record for record in found if record["columns"]]


def _fan(measured: ReportRun, size: int) -> dict[str, Any]:
    paths = [entry for path in measured.run.paths for entry in measured.run.of_path(path)]
    entries = [entry for entry in paths if entry.bytes == size]
    columns = [column for entry in entries for column in _columns(entry)]
    return {
        "set": measured.number,
        "bytes": size,
        "small": size <= SMALL,
        "ranks": sorted({rank for column in columns for rank, _ in column["cells"]}),
        "columns": columns,
    }


def _columns(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "path": text(entry.path),
            "head": head,
            "moved": entry.amount,
            "usual": number(middle(sorted(team.seconds for team in teams.values()))),
            "answer": text(f"{entry.path} {head}: {describe(entry, teams.values())}"),
            "cells": [[rank, number(team.seconds)] for rank, team in sorted(teams.items())],
        }
        for head, teams in by_rank(entry).items()
    ]
