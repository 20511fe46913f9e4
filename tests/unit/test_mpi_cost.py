"""Differences between paths in words; tests/golden/report/below.transcript has what is said of MPI's."""

from __future__ import annotations

import pytest

from wirespeed.report.facts.contrasts import difference


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.2e-8, "32 ns"), (-1e-7, "-100 ns"), (1.2e-6, "1.20 us"), (-1e-12, "0 ns")]
)
def test_differences_in_words(seconds: float, text: str) -> None:
    """Protects signs and units."""
    assert difference(seconds) == text
