"""The interval over many launches, of which one is known: held against ten launches each of two machines."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest

import wirespeed
from wirespeed.judge.model import UNSEEN_SPREAD, LaunchMedian, over_launches
from wirespeed.paths import find_path
from wirespeed.results.launches import launch
from wirespeed.results.model import Entry

RESULTS = Path(__file__).resolve().parents[2] / "results"


def figures(pattern: str) -> list[list[Entry]]:
    """Of each path that CPUs move, and each size, one of each launch."""
    found: dict[tuple[str, int], list[Entry]] = {}
    for file in sorted(RESULTS.glob(pattern)):
        for each in wirespeed.load(file).entries:
            if find_path(each.path).cpu_moves:
                found.setdefault((each.path, each.bytes), []).append(each)
    return [*found.values()]


def holds(ends: tuple[float, float] | None, seconds: float) -> bool:
    return ends is not None and ends[0] <= seconds <= ends[1]


@pytest.mark.parametrize(
    "launches", ["default/h200-x2-launch-*.jsonl.gz", "two-cpus/vm-launch-*.jsonl.gz"], ids=["h200", "vm"]
)
def test_it_holds_the_median_of_ten_launches(launches: str) -> None:
    """Protects that a default run's figures are true of the machine; a launch's own intervals are not."""
    own, over = [], []
    for each in figures(launches):
        assert len(each) == 10
        common = statistics.median(one.seconds for one in each)
        for one in (one for one in each if not one.uncertain and one.precision is not None):
            own.append(holds((one.low, one.high), common))
            over.append(holds(over_launches(launch(one)), common))
    assert len(over) >= 300
    assert statistics.mean(over) >= 0.93 > statistics.mean(own)


def test_it_is_the_own_interval_and_the_launches() -> None:
    """Protects both parts: of a figure without noise the spread of launches is left; the wider one rules."""
    low, high = over_launches(LaunchMedian(1.0, 1.0, 1.0)) or (0.0, 0.0)
    assert math.isclose(math.log(high), 1.96 * UNSEEN_SPREAD, rel_tol=1e-3) and math.isclose(low * high, 1.0)
    low, high = over_launches(LaunchMedian(1.0, 0.5, 2.0)) or (0.0, 0.0)
    assert 0.49 < low < 0.5 and 2.0 < high < 2.02
    assert over_launches(LaunchMedian(1.0, None, None)) is None
