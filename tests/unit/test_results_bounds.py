"""The edges of reading and exporting: the line that is just short enough, the least size, the exact text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.results import entry, failure, read_entry, run

from wirespeed import inputs
from wirespeed.results import export
from wirespeed.results.decoding import fitted
from wirespeed.results.model import Entry
from wirespeed.results.parts import Rates, Times
from wirespeed.results.reading import read
from wirespeed.results.runs import collect


def write(file: Path, *records: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    return file


def test_a_message_of_no_bytes_is_an_entry(tmp_path: Path) -> None:
    """Protects the latency of an empty message, which is what a barrier costs."""
    results = read(write(tmp_path / "r.jsonl", run(), entry(0)))
    assert [one.bytes for one in results.entries] == [0] and results.warnings == []


def test_only_runs_have_a_schema(tmp_path: Path) -> None:
    """Protects from a warning about a member that another kind may have."""
    results = read(write(tmp_path / "r.jsonl", run(), {**entry(), "schema": 7}))
    assert (len(results.entries), results.warnings) == (1, [])


def test_every_kind_has_its_list(tmp_path: Path) -> None:
    evidence = {"kind": "evidence", "run": "a", "path": "host", "bytes": 8, "verdict": "direct", "text": "t"}
    wires, end = {"kind": "wires", "run": "a", "path": "host"}, {"kind": "end", "run": "a"}
    results = read(write(tmp_path / "r.jsonl", run(), evidence, wires, end, {"kind": "later"}))
    (proof,), (told,), (last,) = results.evidence, results.wires, results.ends
    assert (proof.verdict, told.path, last.run) == ("direct", "host", "a")
    assert results.records[1:] == [proof, told, last] and len(results.runs) == 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{}", "not a record"),
        ("[1]", "not a record"),
        ('{"kind":', "damaged"),
        (
            '{"kind":"step","run":"a","step":true,"path":"host"}',
            "step: Expected `int`, got `bool` - at `$.step`",
        ),
    ],
)
def test_a_record_that_is_none(tmp_path: Path, line: str, why: str) -> None:
    """Protects the reason, which tells a damaged file from a foreign one."""
    file = write(tmp_path / "r.jsonl", run())
    file.write_text(f"{file.read_text()}{line}\n")
    assert read(file).warnings == [f"line 2: {why}, left out"]


def test_a_line_just_short_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a whole line of the most bytes there may be; one more is too long, however long it goes on."""
    file = write(tmp_path / "r.jsonl", entry(), failure())
    lines = file.read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(inputs, "LONGEST_LINE", max(map(len, lines)) - 1)
    assert read(file).warnings == []
    torn = b'"' + b"x" * 5 * inputs.LONGEST_LINE
    file.write_bytes(lines[0] + torn + b"\n" + lines[1] + torn)
    results = read(file)
    assert (len(results.entries), len(results.failures)) == (1, 1)
    assert results.warnings == [
        f"line {line}: longer than {inputs.LONGEST_LINE} B, left out" for line in (2, 4)
    ]


def test_no_line_of_ours_is_too_long() -> None:
    """Protects records of many ranks: the longest in results/ have 3,100 B for each GPU."""
    assert inputs.LONGEST_LINE > 5_000 * 3_100


def test_a_file_cut_off_in_its_first_line_is_ours(tmp_path: Path) -> None:
    """Protects a run that was killed while it began; blank lines are no sign of another program."""
    file = tmp_path / "r.jsonl"
    file.write_bytes(b'{"kind":"run","run":"a","schema":2,"wire')
    results = read(file)
    assert (results.records, results.warnings) == ([], ["line 1: cut off, left out"])
    file.write_bytes(b"\n  \n" + json.dumps(entry()).encode())
    assert (len(read(file).entries), read(file).warnings) == (1, [])


# ---- tables ---------------------------------------------------------------------------------------------


def test_a_row_has_what_the_entry_says() -> None:
    """Protects each column from another member's value."""
    fields = {
        "run": "a",
        "step": 1,
        "pattern": "stream",
        "path": "host",
        "memory": "pageable",
        "bytes": 8,
        "bandwidth_bytes": 16,
        "seconds": {"median": 2.0, "low": 1.0, "high": 3.0, "min": 0.5, "max": 4.0, "p99": 3.5, "mean": 2.5},
        "bytes_per_second": {"median": 8.0, "low": 5.0, "high": 16.0},
        "baseline": {"name": "contiguous", "seconds": {"median": 1.5}},
        "confidence": 0.95,
        "precision": 0.5,
        "samples": 40,
        "batches": 4,
        "iterations_per_sample": 5,
        "iterations": 200,
        "stopped": "time",
        "checked": {"iterations": 2, "batches": 3, "bytes": 32},
        "cores": {"waited": 0.125},
        "elapsed_s": 0.25,
        "at": "now",
        "definition": "one way",
    }
    line = "a,1,stream,host,pageable,8,16,2.0,1.0,3.0,0.5,4.0,3.5,2.5,8.0,5.0,16.0,1.5,1,0.95,0.5"
    line += ",40,4,5,200,time,2,3,32,0.125"
    runs = collect([fitted(Entry, fields)])
    assert export.to_csv(runs).splitlines()[1].startswith(f"{line},0.25,now,one way,,")
    arrays = export.to_arrays(runs)
    assert [str(arrays[name][0]) for name in export.COLUMNS] == f"{line},0.25,now,one way,".split(",")


def test_a_frame_has_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects notebooks where no test has pandas: a stand-in takes what the real one is given."""
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    frame = export.to_frame(collect([read_entry(8), read_entry(64)]))
    assert list(frame)[: len(export.COLUMNS)] == list(export.COLUMNS) and frame["bytes"].tolist() == [8, 64]


def test_types_of_columns_with_gaps() -> None:
    """Protects numpy's types: whole numbers stay whole unless one is missing; nothing is no text."""
    place: dict[str, Any] = {"run": "a", "pattern": "p", "path": "q"}
    entries = [
        Entry(**place, bytes=3, times=Times(median=3.0), bandwidth_bytes=1, elapsed_s=1),
        Entry(**place, bytes=1 << 60, times=Times(median=1.0), bytes_per_second=Rates()),
    ]
    table = export.to_arrays(collect(entries))
    assert table["bytes"].dtype == np.int64 and table["bytes"].tolist() == [3, 1 << 60]
    assert table["bandwidth_bytes"].dtype == np.float64 and table["bandwidth_bytes"][0] == 1
    assert np.isnan(table["bandwidth_bytes"][1]) and table["stopped"].tolist() == ["", ""]
    assert table["elapsed_s"].dtype == np.float64 and table["elapsed_s"][0] == 1.0
    assert np.isnan(table["elapsed_s"][1]) and np.isnan(table["low_s"]).all()
    assert export.to_csv(collect(entries)).splitlines()[2].startswith(f"a,0,p,q,,{1 << 60},,1.0,,,,")
