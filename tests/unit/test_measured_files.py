"""The result files in results/ were measured: they stay valid, complete and readable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.measured import RESULTS, lines, measured, name_of

import wirespeed

ENDED_EARLY = "ended-early"


@pytest.mark.parametrize("file", [each for each in measured() if ENDED_EARLY not in str(each.values[0])])
def test_a_measured_file(file: Path) -> None:
    """Protects users' old files: a reader that no longer takes them is a breaking change."""
    records = [json.loads(line) for line in lines(file)]
    # A doctor may have added what he found.
    measured = [record for record in records if record["kind"] != "doctor"]
    assert measured[0]["kind"] == "run" and measured[-1]["kind"] == "end"
    loaded = wirespeed.load(file)
    assert not loaded.warnings
    ends = [record["entries"] for record in records if record["kind"] == "end"]
    assert len(loaded.entries) == sum(ends) and len(loaded.runs) == len(ends)
    assert loaded.entries or any(record["kind"] == "soak" for record in records)
    table = loaded.table()
    launches = {entry.launch for entry in loaded.entries} or {1}
    each_rank = sum(bool(told) for told in table.get("others_copy", []))
    assert (len(table["bytes"]) - each_rank) * len(launches) == len(loaded.entries)


@pytest.mark.parametrize("file", sorted((RESULTS / ENDED_EARLY).glob("*.jsonl*")), ids=name_of)
def test_a_file_whose_run_was_ended(file: Path) -> None:
    """Protects what was measured before a time limit ended the run."""
    records = [json.loads(line) for line in lines(file)]
    loaded = wirespeed.load(file)
    assert records[-1].get("status") == "interrupted"
    assert len(loaded.entries) == sum(record["kind"] == "entry" for record in records) > 0
