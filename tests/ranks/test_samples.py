"""What becomes of samples: fixed counts, phases and sizes that take turns, a coarse clock, pairs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.builds import program
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi

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


def test_phases_take_turns(measure: Measure, tmp_path: Path) -> None:
    """Protects a matrix of pairs from waiting, phase after phase, for the next moment of one figure."""
    timeline = tmp_path / "t.json"
    words = "pairs --paths host --ranks 4 --oversubscribe --sizes 8 --max-time 0.02 --device cpu --timeline"
    done = measure(words, timeline)
    (entry,) = done.entries
    assert sorted(team["name"] for team in entry["teams"]) == ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]
    names = [name for name in ranges(timeline) if name in ("warm-up", "batch")]
    assert names[:3] == ["warm-up"] * 3 and names.count("warm-up") == 3 and names.count("batch") >= 3


@pytest.mark.slow
def test_the_first_size_does_not_wait_for_the_set_up_of_all(measure: Measure, tmp_path: Path) -> None:
    """Protects the first row of a run: sizes that take turns begin a few at a time."""
    timeline = tmp_path / "t.json"
    done = measure("pingpong --paths host --sizes 1:4K --max-time 0.02 --device cpu --timeline", timeline)
    assert len(done.entries) == 13
    names = [name for name in ranges(timeline) if name in ("warm-up", "batch")]
    assert names.count("warm-up") == 13
    assert "warm-up" in names[names.index("batch") :]


def ranges(timeline: Path) -> list[str]:
    """First words of rank 0's ranges, in the order begun."""
    events = json.loads(timeline.read_text())["traceEvents"]
    own = [event for event in events if event.get("ph") == "X" and event["tid"] == 2]
    return [event["name"].split()[0] for event in sorted(own, key=lambda event: event["ts"])]


SOURCE = Path(__file__).parents[1] / "support" / "coarse_clock.cpp"
FAST = ("--max-time", "0.05", "--no-evidence")


@pytest.mark.slow(after=1)
@pytest.mark.usefixtures("quiet_machine")
@pytest.mark.parametrize("step", [1000, 40, 10000], ids="{} ns".format)
@pytest.mark.parametrize(
    "words",
    [
        ("pairs", "--ranks", "3", "--paths", "host-shared,host-tcp", "--sizes", "8"),
        ("pairs", "--ranks", "3", "--paths", "ipc-write,gpu", "--sizes", "8", "--device", "emulated"),
        ("rma", "--paths", "rma-host", "--operation", "put", "--sizes", "8"),
    ],
    ids=["pairs", "pairs of GPUs", "rma"],
)
def test_ranks_without_a_part_have_no_samples(
    words: tuple[str, ...], step: int, builds: Path, measure: Measure
) -> None:
    """Protects figures from a rank that has nothing to do, and for which the clock stands still."""
    library = program(builds, "coarse_clock.so", "-shared", "-fPIC", SOURCE)
    environment = {"LD_PRELOAD": str(library), "CLOCK_STEP": str(step), "WIRESPEED_EMULATED": "count=3"}
    done: Done = measure(*words, *FAST, environment=environment)
    assert (done.code, done.failures) == (0, []), done.err
    assert done.entries and all(entry["seconds"]["median"] > 0 for entry in done.entries)


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_pair_among_idle_ranks_has_a_figure_of_its_own(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the fleet: who was measured is known even of one pair alone, and whether it had CPUs."""
    done = measure(
        "pairing --ranks 3 --rank-pairs 2-0 --paths host --sizes 8 --max-time 0.02 --device cpu", mpi=mpi
    ).ok()
    (entry,) = done.entries
    (team,) = entry["teams"]
    assert (team["name"], team["first"], team["ranks"]) == ("0-2", 0, 2)
    assert team["seconds"]["median"] == entry["seconds"]["median"] > 0
    assert 0 <= team["waited"] <= 1
