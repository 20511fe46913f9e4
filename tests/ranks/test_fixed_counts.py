"""A fixed count of iterations, as the ping-pong tutorial has it, from the ranks to the printed line."""

from __future__ import annotations

import re

import pytest
from support.command import Measure, wirespeed

LINE = re.compile(
    r"Transfer size \(B\): +(\d+), Transfer Time \(s\): +([\d.]+), Bandwidth \(GB/s\): +([\d.]+)"
)


@pytest.mark.slow
def test_the_tutorials_line(measure: Measure) -> None:
    """Protects --format tutorial with --loops: a figure without an interval is shown all the same."""
    done = measure("pingpong --paths host --sizes 8,1M --loops 50 --warmup 5 --format tutorial").ok()
    found = LINE.findall(done.out)
    assert len(done.out.splitlines()) == len(found)
    assert [int(size) for size, _, _ in found] == [8, 1 << 20]
    for (size, seconds, rate), entry in zip(found, done.entries, strict=True):
        assert entry["iterations"] == 50 and entry["seconds"]["low"] is None
        assert abs(float(seconds) - entry["seconds"]["median"]) < 1e-9
        assert abs(float(rate) - int(size) / 2**30 / entry["seconds"]["median"]) < 1e-6
    shown = wirespeed("show", measure.out)
    assert shown.code == 0 and "mean of a fixed count" in shown.out
    assert "cannot show" not in done.err + shown.err
    said = " ".join(shown.out.split())
    assert "trust: no" in said and "2 of 2 figures are without an interval: --loops gives none" in said


def test_a_barrier_begins_each_of_the_iterations(measure: Measure) -> None:
    """Protects the bisection tester's way: --loops N are N iterations that all ranks begin together."""
    done = measure("groups --ranks 2 --paths host --sizes 1K --loops 20 --warmup 3").ok()
    (figure,) = done.entries
    assert (figure["samples"], figure["iterations_per_sample"], figure["iterations"]) == (20, 1, 20)
    assert figure["start"]["samples"] == 20 and figure["stopped"] == "fixed"
    assert "median of a fixed count" in done.out
