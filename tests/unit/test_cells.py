"""A wide interval in words."""

from __future__ import annotations

import pytest

from wirespeed.report.facts import figures


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (17.6, 23.4, "18-23"),
        (0.71, 0.996, "0.71-1.0"),
        (0.0712, 0.0996, "0.071-0.10"),
        (0.00123, 0.00996, "0.0012-0.010"),
        (0.0004, 0.0013, "<0.001-0.0013"),
        (0.0004, 0.0007, "<0.001"),
        (0.0, 0.5, "0-0.50"),
    ],
)
def test_a_range_has_two_figures(low: float, high: float, words: str) -> None:
    """Protects from '0.00-0.00' GB/s of short messages."""
    assert figures.between(low, high) == words
