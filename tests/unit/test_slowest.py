"""The slowest of many teams: which one it is, is chance, and its interval leaves room for that."""

from __future__ import annotations

import random
from statistics import median
from typing import Any

import pytest

from wirespeed.statistics.samples import Samples, Summary
from wirespeed.statistics.slowest import of_the_slowest


def slowest(dice: random.Random, teams: int, batches: int, apart: float) -> Summary:
    """The summary of the team with the largest median; `apart`: what the slowest team takes longer."""
    every = [
        [dice.lognormvariate(0, 0.01) * (1 + apart * (team == 0)) for _ in range(batches)]
        for team in range(teams)
    ]
    samples = Samples()
    for value in max(every, key=median):
        samples.add([value])
    return samples.summary()


@pytest.mark.parametrize("apart", [0.0, 0.01])
@pytest.mark.parametrize("batches", [4, 14])
def test_the_slowest_of_256_teams_holds(batches: int, apart: float) -> None:
    """Protects from a slowest group that no group is: equal teams, and one that is slower."""
    dice, held, runs = random.Random(3), 0, 50
    for _ in range(runs):
        times = of_the_slowest(slowest(dice, 256, batches, apart), 256)["seconds"]
        held += (times["low"] or 2) <= 1 + apart <= (times["high"] or 0)
    # 93 %, and two sigma of so many runs.
    assert held >= 0.93 * runs - 4


def test_one_team_and_no_interval_stay_as_they_are() -> None:
    summary = slowest(random.Random(1), 1, 14, 0.0)
    assert of_the_slowest(summary, 1) == summary
    bare: Any = {"seconds": {"median": 1.0, "low": None, "high": None}, "batches": 2, "precision": None}
    assert of_the_slowest(bare, 256) == bare


def test_by_how_much_the_lower_end_is_lower() -> None:
    """z(0.025 / 256) / z(0.025) = 3.7247 / 1.9600; the precision is half the new width."""
    summary: Any = {"seconds": {"median": 1.0, "low": 0.99, "high": 1.01}, "batches": 14, "precision": 0.01}
    found: Any = of_the_slowest(summary, 256)
    assert found["seconds"]["low"] == pytest.approx(0.99 ** (3.7247 / 1.95996), rel=1e-5)
    assert found["seconds"]["high"] == 1.01
    assert found["precision"] == pytest.approx((1.01 - found["seconds"]["low"]) / 2)
