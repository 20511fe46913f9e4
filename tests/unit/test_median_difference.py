"""The median of all differences, of many values as of few."""

from __future__ import annotations

import random

import pytest

from wirespeed.statistics import differences
from wirespeed.statistics.differences import PRECISION, median_difference


@pytest.mark.parametrize(("old", "new"), [(1, 1), (1, 4), (7, 7), (12, 31), (40, 40)])
def test_same_without_sorting_all(old: int, new: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(old * new)
    for digits in (1, 9):  # many equal values, and none
        sides = [[round(chance.gauss(mean, 1), digits) for _ in range(n)] for mean, n in ((0, old), (2, new))]
        monkeypatch.setattr(differences, "MOST_SORTED", 10**9)
        exact = median_difference(*sides)
        monkeypatch.setattr(differences, "MOST_SORTED", 0)
        assert median_difference(*sides) == pytest.approx(exact, abs=10 * PRECISION)
