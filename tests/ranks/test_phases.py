"""Patterns of several phases: they take turns, and each has its own figure."""

from __future__ import annotations

import json
from pathlib import Path

from support.command import wirespeed


def test_phases_take_turns(tmp_path: Path) -> None:
    """Protects a matrix of pairs from waiting, phase after phase, for the next moment of one figure."""
    timeline = tmp_path / "t.json"
    options = ("--ranks", "4", "--oversubscribe", "--sizes", "8", "--max-time", "0.02", "--device", "cpu")
    done = wirespeed("pairs", "--paths", "host", *options, "--timeline", timeline, out=tmp_path / "p.jsonl")
    (entry,) = done.entries
    assert sorted(team["name"] for team in entry["teams"]) == ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]
    events = json.loads(timeline.read_text())["traceEvents"]
    begun = sorted(
        (event["ts"], event["name"].split()[0])
        for event in events
        if event.get("ph") == "X" and event["tid"] == 2
    )
    names = [name for _, name in begun if name in ("warm-up", "batch")]
    assert names[:3] == ["warm-up"] * 3 and names.count("warm-up") == 3 and names.count("batch") >= 3
