"""All pairs of ranks: the cells of the heatmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wirespeed.report.page.sources import Measured
from wirespeed.report.terminal.pair_matrix import SMALL
from wirespeed.report.terminal.slowest_teams import by_pair, describe
from wirespeed.results.coerce import number, text
from wirespeed.statistics.samples import middle

FEWEST = 3
"""Ranks, below which there is but one pair."""


def matrices(sets: Sequence[Measured]) -> list[dict[str, Any]]:
    """One for each run, path and size whose figures are those of pairs."""
    found = []
    for one in sets:
        for path in one.run.paths:
            for entry in one.run.of_path(path):
                pairs = by_pair(entry.teams)
                ranks = sorted({rank for pair in pairs for rank in pair})
                if len(ranks) < FEWEST or one.run.view != "matrix":
                    continue
                places = {rank: place for place, rank in enumerate(ranks)}
                found.append(
                    {
                        "set": one.number,
                        "path": text(path),
                        "bytes": entry.bytes,
                        "moved": entry.amount,
                        "small": entry.bytes <= SMALL,
                        "ranks": ranks,
                        "usual": number(middle(sorted(member.seconds for member in pairs.values()))),
                        "slowest": text(describe(entry)),
                        "cells": [
                            [places[first], places[second], number(member.seconds)]
                            for (first, second), member in pairs.items()
                        ],
                    }
                )
    return found
