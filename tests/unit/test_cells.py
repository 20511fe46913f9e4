"""A wide interval in words, and beside the bars of a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import report_files as made

from wirespeed.report.facts import figures
from wirespeed.report.page import read_sources, render


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


def test_bars_show_how_wide_an_interval_is(tmp_path: Path) -> None:
    """Protects the page's bars, beside which no interval stands."""
    records = [record | {"stopped": "max-time", "precision": 0.2} for record in made.groups([(8, 4)])]
    for record in records:
        if record["kind"] == "entry":
            middle = record["seconds"]["median"]
            record["seconds"] |= {"low": 0.8 * middle, "high": 1.2 * middle}
    sources, lost = read_sources([made.write(tmp_path / "a.jsonl", *records)])
    (note,) = re.findall(r'class="figure">([^<]*)', render(sources, lost))
    assert re.match(r"\d+-\d+ GB/s", note)
