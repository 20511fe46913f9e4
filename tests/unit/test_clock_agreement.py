"""Batches whose stamps explain less than the host's clock saw: a false clock, or a host without a CPU."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from wirespeed.rank.observe.clock_agreement import ClockAgreement
from wirespeed.rank.program import LONG_STAMPS, SHORT_STAMPS, Batch


@pytest.mark.parametrize(
    ("verdict", "waited_s", "counted"),
    [
        (SHORT_STAMPS, 0.0, 1),
        (SHORT_STAMPS, 2e-3, 1),
        (SHORT_STAMPS, 5e-3, 0),
        (SHORT_STAMPS, math.nan, 1),
        (LONG_STAMPS, 5e-3, 1),
    ],
)
def test_a_host_without_a_cpu_proves_nothing(verdict: int, waited_s: float, counted: int) -> None:
    """Protects a sound figure from being called impossible where another process had the rank's CPU."""
    agreement = ClockAgreement()
    agreement.add(Batch([1e-6], 6.64e-3, 6.6e-3, 0, 100))
    agreement.add(Batch([1e-6], 6.64e-3, 1.09e-3, verdict, 100), waited_s)
    alone: Any = SimpleNamespace(maximum=lambda share: share, first=lambda found: (0, found))
    told = agreement.worst(alone)
    assert told is not None and told["long"] + told["short"] == counted
