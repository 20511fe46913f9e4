"""All pairs of ranks: the cells of the heatmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wirespeed.report.facts.slowest_teams import SMALL, by_pair, describe
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import number, text
from wirespeed.results.runs import Entry
from wirespeed.statistics.samples import middle

FEWEST = 3
"""Ranks, below which there is but one pair."""


def matrices(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """One for each run, path and size whose figures are those of pairs."""
    figures = [
        (measured, entry)
        for measured in sets
        for path in measured.run.paths
        for entry in measured.run.of_path(path)
    ]
    return [_matrix(measured, entry) for measured, entry in figures if len(_ranks(entry)) >= FEWEST]


def _ranks(entry: Entry) -> list[int]:
    return sorted({rank for pair in by_pair(entry.teams) for rank in pair})


def _matrix(measured: ReportRun, entry: Entry) -> dict[str, Any]:
    pairs = by_pair(entry.teams)
    ranks = _ranks(entry)
    places = {rank: place for place, rank in enumerate(ranks)}
    return {
        "set": measured.number,
        "path": text(entry.path),
        "bytes": entry.bytes,
        "moved": entry.amount,
        "small": entry.bytes <= SMALL,
        "ranks": ranks,
        "usual": number(middle(sorted(member.seconds for member in pairs.values()))),
        "slowest": text(describe(entry)),
        "cells": [[places[a], places[b], number(member.seconds)] for (a, b), member in pairs.items()],
    }
