"""Phases and sizes take turns; each has its own figure, and none waits for the set-up of all."""

from __future__ import annotations

import json
from pathlib import Path

from support.command import Measure


def test_phases_take_turns(measure: Measure, tmp_path: Path) -> None:
    """Protects a matrix of pairs from waiting, phase after phase, for the next moment of one figure."""
    timeline = tmp_path / "t.json"
    words = "pairs --paths host --ranks 4 --oversubscribe --sizes 8 --max-time 0.02 --device cpu --timeline"
    done = measure(words, timeline)
    (entry,) = done.entries
    assert sorted(team["name"] for team in entry["teams"]) == ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]
    names = [name for name in ranges(timeline) if name in ("warm-up", "batch")]
    assert names[:3] == ["warm-up"] * 3 and names.count("warm-up") == 3 and names.count("batch") >= 3


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
