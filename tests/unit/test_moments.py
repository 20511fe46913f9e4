"""When batches begin: what disturbs a machine at a fixed rate must be in some of them, not in all or none."""

from __future__ import annotations

import random

import pytest

from wirespeed.statistics.stopping import MOMENT_S, until_next_moment


@pytest.mark.parametrize("period", [MOMENT_S, MOMENT_S / 2, 2 * MOMENT_S])
@pytest.mark.parametrize("phase", [0.0, 0.25, 0.5, 0.75])
def test_a_disturbance_at_a_fixed_rate_is_in_its_share_of_the_batches(period: float, phase: float) -> None:
    """One tenth of each period is disturbed; with batches every 25 ms that is in all of them or in none."""
    dice, start, disturbed = random.Random(1), 0.0, 0
    for _ in range(1000):
        disturbed += (start / period + phase) % 1 < 0.1
        start += until_next_moment(dice)
    assert 60 <= disturbed <= 140


def test_moments_are_as_far_apart_as_said() -> None:
    dice = random.Random(2)
    apart = [until_next_moment(dice) for _ in range(1000)]
    assert sum(apart) / len(apart) == pytest.approx(MOMENT_S, rel=0.03)
    assert min(apart) > 0.4 * MOMENT_S and max(apart) < 1.6 * MOMENT_S
