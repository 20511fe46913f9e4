"""The result files in results/ were measured: they stay valid, complete and readable."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import wirespeed

RESULTS = Path(__file__).parents[2] / "results"
ENDED_EARLY = sorted((RESULTS / "ended-early").glob("*.jsonl"))
MEASURED = sorted(set(RESULTS.rglob("*.jsonl")) - set(ENDED_EARLY))


@pytest.mark.parametrize("file", MEASURED, ids=[file.stem for file in MEASURED])
def test_a_measured_file(file: Path) -> None:
    """Protects users' old files: a schema or a reader that no longer takes them is a breaking change."""
    schema = json.loads(files("wirespeed.results").joinpath("schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records:
        validator.validate(record)
    # A doctor may have added what he found.
    measured = [record for record in records if record["kind"] != "doctor"]
    assert measured[0]["kind"] == "run" and measured[-1]["kind"] == "end"
    loaded = wirespeed.load(file)
    assert not loaded.warnings
    ends = [record["entries"] for record in records if record["kind"] == "end"]
    assert len(loaded.entries) == sum(ends) > 0 and len(loaded.runs) == len(ends)
    table = loaded.table()
    assert len(table["bytes"]) == len(loaded.entries)


@pytest.mark.parametrize("file", ENDED_EARLY, ids=[file.stem for file in ENDED_EARLY])
def test_a_file_whose_run_was_ended(file: Path) -> None:
    """Protects what was measured before a time limit ended the run."""
    records = [json.loads(line) for line in file.read_text().splitlines()]
    loaded = wirespeed.load(file)
    assert records[-1].get("status") == "interrupted"
    assert len(loaded.entries) == sum(record["kind"] == "entry" for record in records) > 0
