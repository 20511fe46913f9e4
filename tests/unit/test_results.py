"""Records against the published schema, and what reads and exports them."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support import measured as kept
from support.command import captured
from support.golden import Golden
from support.measured import measured
from support.results import entry, failure, line_of, read_entry, run, whole_file

import wirespeed
from wirespeed import inputs
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.results import export, model
from wirespeed.results.model import Entry
from wirespeed.results.parts import Rates, Times
from wirespeed.results.reading import decoded, read, record_of
from wirespeed.results.runs import collect
from wirespeed.results.schema import schema

SCHEMA = json.loads(files("wirespeed.results").joinpath("schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)


def errors(line: dict[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(line)]


def write(file: Path, *records: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    return file


# ---- records and their schema ---------------------------------------------------------------------------


def test_the_published_schema_is_the_model_s() -> None:
    """Protects other programs: what they are told of the file is what is written and read."""
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(schema())) == SCHEMA, "scripts/schema.py writes schema.json"
    assert SCHEMA["$schema"].endswith("2020-12/schema") and SCHEMA["$id"] == "urn:wirespeed:result:2"
    assert SCHEMA["$defs"]["Head"]["properties"]["schema"]["const"] == model.SCHEMA == 2


NO_MORE = {".plan.sizes_named"}
"""Members that had no part in a figure, and are not kept."""


@pytest.mark.parametrize("file", measured())
def test_kept_files_are_valid_and_nothing_of_them_is_lost(file: Path) -> None:
    """Protects measured files: each line fits the schema, and written again it says the same.

    It also holds both ways of reading a line against each other: as it is, and cleaned first.
    """
    lines = []
    for text in kept.lines(file):
        lines.append(line := json.loads(text))
        assert errors(line) == []
        record = decoded(text.encode())
        assert record == record_of(line)
        assert {*missing(line, json.loads(msgspec.json.encode(record)))} <= NO_MORE
    loaded = wirespeed.load(file)
    ended = [line for line in lines if line["kind"] == "end"]
    assert lines[0]["kind"] == "run" and ended and not loaded.warnings
    assert len(loaded.entries) == sum(line["entries"] for line in ended) and len(loaded.runs) == len(ended)
    early = file.parent.name == "ended-early"
    assert ("interrupted" in {line.get("status") for line in ended}) == early
    assert loaded.entries or any(line["kind"] == "soak" for line in lines)
    table, launches = loaded.table(), {entry.launch for entry in loaded.entries} or {1}
    each_rank = sum(bool(told) for told in table.get("others_copy", []))
    assert early or (len(table["bytes"]) - each_rank) * len(launches) == len(loaded.entries)


def missing(line: Any, written: Any, place: str = "") -> list[str]:
    """Places of what `written` does not say as `line` does; null and nothing at all are the same."""
    if isinstance(line, dict):
        said = [(name, one) for name, one in line.items() if one not in (None, {})]
        return [lost for name, one in said for lost in missing(one, written.get(name), f"{place}.{name}")]
    if isinstance(line, list) and len(line) == len(written):
        return [lost for one, other in zip(line, written, strict=True) for lost in missing(one, other, place)]
    return [] if line == written else [place]


def test_every_record_built_is_valid() -> None:
    kinds = set()
    for line in whole_file():
        assert errors(json.loads(json.dumps(line))) == []
        kinds.add(line["kind"])
    assert kinds == {"run", "step", "entry", "failure", "end"}


@pytest.mark.parametrize("batches", [1, 2, 3, 5, 6, 40])
def test_entries_are_valid_with_and_without_an_interval(batches: int) -> None:
    line = entry(batches=batches)
    assert errors(line) == []
    assert (line["seconds"]["low"] is None) == (line["precision"] is None) == (batches < 3)
    if batches >= 3:
        rate = line["bytes_per_second"]
        assert rate["low"] <= rate["median"] <= rate["high"]


@given(st.sampled_from(whole_file()), st.data())
def test_a_member_left_out_is_noticed(line: dict[str, Any], data: st.DataObject) -> None:
    needed = SCHEMA["$defs"][model.KINDS[line["kind"]].__name__]["required"]
    name = data.draw(st.sampled_from(sorted(set(needed) - {"kind"})))
    assert errors({key: value for key, value in line.items() if key != name})
    assert errors({**line, name: [object]})


def test_unknown_kinds_and_members_are_allowed() -> None:
    assert errors({"kind": "wire", "bytes": "many"}) == []
    assert errors({**entry(), "weather": ["rain"]}) == []
    assert errors({"run": "0" * 12})


# ---- the environment ------------------------------------------------------------------------------------


def test_the_command_line_shows_no_folder() -> None:
    assert run(command=["/opt/bin/wirespeed", "pingpong"])["command"] == ["wirespeed", "pingpong"]
    assert run(command=["/x/wirespeed/__main__.py"])["command"] == ["wirespeed"]


# ---- reading --------------------------------------------------------------------------------------------


def test_a_file_read_is_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    written = whole_file()
    write(file, *written)
    results = wirespeed.load(file)
    assert [line_of(one) for one in results.records] == written and results.warnings == []
    assert [len(x) for x in (results.runs, results.steps, results.failures, results.ends)] == [1, 1, 1, 1]
    assert [one.bytes for one in results.entries] == [8, 1024]


@given(st.data())
def test_a_file_cut_anywhere_gives_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = [json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in whole_file()]
    whole = b"".join(text)
    cut = data.draw(st.integers(0, len(whole)))
    file = tmp_path_factory.mktemp("cut") / "r.jsonl"
    file.write_bytes(whole[:cut])
    ends = [len(b"".join(text[: i + 1])) for i in range(len(text))]
    # Without its line feed a line is still whole.
    complete = sum(cut >= end - 1 for end in ends)
    results = read(file)
    assert len(results.records) == complete
    torn = cut - (ends[complete - 1] if complete else 0) > 0
    assert results.warnings == ([f"line {complete + 1}: cut off, left out"] if torn else [])


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.binary(max_size=40).map(lambda b: b.replace(b"\n", b""))), max_size=6
    )
)
@example([(0, b"[" * 100_000)])
@example([(0, b'{"kind":["entry"]}'), (1, b"null"), (2, b"\x00" * 40), (3, b"1" * 5000), (4, b"\r")])
def test_garbage_between_lines_costs_no_good_line(
    tmp_path_factory: pytest.TempPathFactory, garbage: list[tuple[int, bytes]]
) -> None:
    text = [json.dumps(line).encode() + b"\n" for line in whole_file()]
    good = len(text)
    for place, junk in garbage:
        text.insert(place, junk + b"\n")
    file = tmp_path_factory.mktemp("garbage") / "r.jsonl"
    file.write_bytes(b"".join(text))
    results = read(file)
    assert len(results.records) == good
    assert len(results.warnings) <= len(garbage)
    for warning in results.warnings:
        number = int(warning.split(":")[0].removeprefix("line "))
        assert text[number - 1][:-1] in [junk for _, junk in garbage]


def interval(median: float, low: float | None, high: float | None, precision: float | None) -> dict[str, Any]:
    return {"seconds": {"median": median, "low": low, "high": high}, "precision": precision}


def team(seconds: float, **ends: float) -> dict[str, Any]:
    return {"name": "0-1", "seconds": {"median": seconds, **ends}}


WRONG: tuple[dict[str, Any], ...] = (
    *({"bytes": bytes_} for bytes_ in (-1, "8", 10**30)),
    {"samples": True},
    {"teams": [{"seconds": {"median": 1.0}}]},
    {"teams": [team(0.0)]},
    {"teams": [team(1e-6, low=0.0, high=2e-6)]},
    {"teams": [team(1e-6, low=5e-7, high=0.0)]},
    {"memory": "a\n", "precision": "1 %"},
    *({"seconds": {"median": median}} for median in (None, 0.0)),
    interval(1e-6, 2e-6, 3e-6, 0.5),
    interval(1e-6, 4e-7, 8e-7, 0.2),
    interval(1e-6, 9e-7, 1.1e-6, 0.01),
    interval(1e-6, None, None, 0.01),
    {"run": None},
    {"kind": 7},
)


RIGHT: tuple[dict[str, Any], ...] = (
    interval(1.12e-5, 1.11e-5, 1.13e-5, 0.009),
    interval(1e-8, 0.0, 1e-7, 5.0),
    interval(1e-6, 9e-7, 1.1e-6, None),
    interval(1e-6, None, None, None),
    interval(1e-6, 1.0001e-6, 1.0002e-6, 0.0),
    {"bytes": 0},
    {"schema": 7},
)
"""Rounded figures, without an interval, a lower end that the clock leaves open, an empty message, a member of
another kind.
"""
LINES: tuple[Any, ...] = ("{}", "[1]", '{"kind":', '{"kind":"step","run":"a","step":true,"path":"host"}')


def test_a_record_that_says_nothing_is_named(tmp_path: Path, golden: Golden) -> None:
    """Protects good records beside bad ones, and the reason: a damaged file is no foreign one."""
    told, good = {}, json.dumps(entry())
    for wrong in (*LINES, *WRONG):
        text = wrong if isinstance(wrong, str) else json.dumps({**entry(), **wrong})
        (tmp_path / "r.jsonl").write_text(f"{json.dumps(run())}\n{text}\n{good}\n")
        results = read(tmp_path / "r.jsonl")
        assert len(results.entries) == 1
        told[str(wrong)] = "\n".join(results.warnings)
    golden("results/wrong_entries", told)
    results = read(write(tmp_path / "r.jsonl", run(), *({**entry(), **change} for change in RIGHT)))
    assert len(results.entries) == len(RIGHT) and not results.warnings


def test_a_newer_schema_is_read_with_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    results = read(write(file, {**run(), "schema": 3}, {"kind": "wire"}, entry()))
    assert len(results.runs) == len(results.entries) == 1
    assert results.warnings == [
        "line 1: written by a newer wirespeed (schema 3, known here: 2); read as far as it goes"
    ]


def test_an_older_schema_is_refused(tmp_path: Path) -> None:
    """Protects from figures under another name: members of version 1 are called otherwise."""
    file = tmp_path / "r.jsonl"
    write(file, {**run(), "schema": 1}, entry())
    with pytest.raises(WirespeedError) as caught:
        read(file)
    assert str(caught.value) == (
        f"{file}: written by an older wirespeed (schema 1); this version reads schema 2"
    )


@pytest.mark.parametrize(("depth", "words"), [("1", []), ("4", ["depth 4"]), ([1], ["depth [1]"])])
def test_an_option_that_is_no_more(tmp_path: Path, depth: Any, words: list[str]) -> None:
    """Protects files from before an option went: its usual value is no condition, another one is shown."""
    file, plan = tmp_path / "r.jsonl", Plan("jacobi", options=(("fp", "32"),))
    head = run(plan)
    head["plan"]["options"] = [["fp", "32"], ["depth", depth]]
    write(file, head)
    (found,) = collect(read(file).records)
    assert found.pattern_words == words
    assert (found.head.plan == plan) == (not words)


@pytest.mark.parametrize("options", [[], [["depth", "1"]]])
def test_an_older_plan_is_exported_as_it_is(tmp_path: Path, options: list[Any]) -> None:
    """Protects exported records from members that nobody said, because the file is older than they are."""
    file, head = tmp_path / "r.jsonl", run(Plan("jacobi"))
    plan = {name: value for name, value in head["plan"].items() if name not in ("budget", "soak")}
    write(file, {**head, "plan": {**plan, "options": options}})
    (found,) = read(file).runs
    assert json.loads(msgspec.json.encode(found))["plan"].keys() == plan.keys()
    assert found.plan.options == () and found.plan.soak is None


def test_what_a_newer_version_says_costs_nothing(tmp_path: Path) -> None:
    """Protects files of a newer version: members that are not known yet, and causes."""
    later = {**entry(), "colour": {"red": [1]}, "details": {"a\x1b": "\t"}}
    lost = {**failure(), "cause": {"kind": "earthquake", "strength": 7}}
    file = tmp_path / "r.jsonl"
    write(file, run(), later, lost)
    results = read(file)
    assert [one.details for one in results.entries] == [{"a ": " "}] and results.warnings == []
    assert [one.cause.kind for one in results.failures] == ["earthquake"]


def test_what_is_no_result_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("# Notes\n\nhello\n")
    told: dict[str, object] = {}
    for name in (".", "missing", "text", "/dev/zero", "a\0b"):
        with pytest.raises(WirespeedError) as caught:
            read(name)
        assert caught.value.code == ExitCode.CANNOT_WRITE
        told[repr(name)] = caught.value
    golden("results/no_result_files", told)


def test_an_empty_file_is_a_run_that_was_killed_at_once(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    assert read(tmp_path / "r.jsonl").records == []


def test_every_kind_has_its_list(tmp_path: Path) -> None:
    evidence = {"kind": "evidence", "run": "a", "path": "host", "bytes": 8, "verdict": "direct", "text": "t"}
    wires, end = {"kind": "wires", "run": "a", "path": "host"}, {"kind": "end", "run": "a"}
    results = read(write(tmp_path / "r.jsonl", run(), evidence, wires, end, {"kind": "later"}))
    (proof,), (told,), (last,) = results.evidence, results.wires, results.ends
    assert (proof.verdict, told.path, last.run) == ("direct", "host", "a")
    assert results.records[1:] == [proof, told, last] and len(results.runs) == 1


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


def test_a_file_cut_off_in_its_first_line_is_ours(tmp_path: Path) -> None:
    """Protects a run that was killed while it began; blank lines are no sign of another program."""
    file = tmp_path / "r.jsonl"
    file.write_bytes(b'{"kind":"run","run":"a","schema":2,"wire')
    results = read(file)
    assert (results.records, results.warnings) == ([], ["line 1: cut off, left out"])
    file.write_bytes(b"\n  \n" + json.dumps(entry()).encode())
    assert (len(read(file).entries), read(file).warnings) == (1, [])


# ---- tables ---------------------------------------------------------------------------------------------


def test_a_row_has_what_the_entry_says(tmp_path: Path) -> None:
    """Protects arrays from another column's value; the golden files have the text of each."""
    runs = collect([read_entry(8)])
    arrays, rows = export.to_arrays(runs), list(csv.DictReader(io.StringIO(export.to_csv(runs))))
    assert {name: str(arrays[name][0]) for name in export.COLUMNS} == {
        name: rows[0][name] or "nan" * (arrays[name].dtype.kind == "f") for name in export.COLUMNS
    }
    (tmp_path / "r.jsonl").touch()
    table = wirespeed.load(tmp_path / "r.jsonl").table()
    assert set(table) > set(export.COLUMNS) and all(len(column) == 0 for column in table.values())


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


def test_importing_the_package_loads_nothing() -> None:
    script = "import sys, wirespeed; print([m for m in sys.modules if m.startswith(('wirespeed.', 'numpy'))])"
    done = captured([sys.executable, "-c", script], ok=True)
    assert done.stdout.strip() == "[]"
    assert wirespeed.__version__
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        wirespeed.lode  # noqa: B018


def test_the_page_about_the_file_says_the_truth() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
    example = json.loads(page.split("```json\n")[1].split("```")[0])
    assert errors(example) == []
    columns = page.split("Columns: ")[1].split(".\n`wirespeed show")[0]
    assert re.findall(r"`(\w+)`", columns) == list(export.COLUMNS)
