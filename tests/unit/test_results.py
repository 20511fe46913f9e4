"""Records against the published schema, and what reads and exports them."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support import measured as kept
from support.command import captured
from support.golden import Golden
from support.measured import measured
from support.results import STEP_PATH, entry, failure, line_of, run, whole_file

import wirespeed
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.paths import Switch, TransferPath
from wirespeed.results import environment, export, model, recorder
from wirespeed.results.reading import decoded, read, record_of
from wirespeed.results.runs import collect
from wirespeed.results.schema import schema
from wirespeed.statistics.samples import Samples
from wirespeed.statistics.stopping import Stopping

SCHEMA = json.loads(files("wirespeed.results").joinpath("schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)


def errors(line: dict[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(line)]


def lines(data: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(line).encode() + b"\n" for line in data]


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
    for text in kept.lines(file):
        line = json.loads(text)
        assert errors(line) == []
        record = decoded(text.encode())
        assert record == record_of(line)
        assert {*missing(line, json.loads(msgspec.json.encode(record)))} <= NO_MORE


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


def test_a_step_carries_its_counterpart() -> None:
    """Protects readers of result files: which path this one is with something switched off."""
    switch = Switch({"NCCL_P2P_DISABLE": "1"}, without="nccl")
    off = TransferPath("nccl-nop2p", "", "ccl", "device", switch=switch)
    made = line_of(recorder.step("0" * 12, 0, off, recorder.StepJob(switch.variables)))
    assert made["without"] == "nccl" and not errors(made)
    alone = line_of(recorder.step("0" * 12, 0, STEP_PATH, recorder.StepJob({})))
    assert alone["without"] is None and not errors(alone)


@pytest.mark.parametrize("batches", [1, 2, 3, 5, 6, 40])
def test_entries_are_valid_with_and_without_an_interval(batches: int) -> None:
    line = entry(batches=batches)
    assert errors(line) == []
    assert (line["seconds"]["low"] is None) == (line["precision"] is None) == (batches < 3)
    if batches >= 3:
        rate = line["bytes_per_second"]
        assert rate["low"] <= rate["median"] <= rate["high"]


def test_a_clock_that_shows_zero_still_gives_a_record() -> None:
    samples = Samples()
    samples.add([0.0])
    line = entry(samples=samples)
    assert errors(line) == [] and line["bytes_per_second"]["median"] is None


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


def test_the_environment_says_where() -> None:
    found = environment.environment()
    assert found["host"] == os.uname().nodename and found["kernel"].startswith("Linux ")
    assert found["cpu"].model and found["memory_bytes"] > 1 << 20
    assert "numpy" in found["packages"]


def test_the_command_line_shows_no_folder() -> None:
    assert run(command=["/opt/bin/wirespeed", "pingpong"])["command"] == ["wirespeed", "pingpong"]
    assert run(command=["/x/wirespeed/__main__.py"])["command"] == ["wirespeed"]


# ---- reading --------------------------------------------------------------------------------------------


def test_a_file_read_is_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    written = whole_file()
    file.write_bytes(b"".join(lines(written)))
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
    text = lines(whole_file())
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


def team(seconds: float) -> dict[str, Any]:
    return {"name": "0-1", "seconds": {"median": seconds}}


WRONG: tuple[dict[str, Any], ...] = (
    *({"bytes": bytes_} for bytes_ in (-1, "8", 10**30)),
    {"samples": True},
    {"teams": [{"seconds": {"median": 1.0}}]},
    {"teams": [team(0.0)]},
    {"memory": "a\n", "precision": "1 %"},
    *({"seconds": {"median": median}} for median in (None, 0.0)),
    interval(1e-6, 2e-6, 3e-6, 0.5),
    interval(1e-6, 4e-7, 8e-7, 0.2),
    interval(1e-6, 9e-7, 1.1e-6, 0.01),
    interval(1e-6, None, None, 0.01),
    {"run": None},
    {"kind": 7},
)


def test_a_record_that_says_nothing_is_named(tmp_path: Path, golden: Golden) -> None:
    told = {}
    for change in WRONG:
        file = tmp_path / "r.jsonl"
        file.write_bytes(b"".join(lines([run(), {**entry(), **change}, entry()])))
        results = read(file)
        assert len(results.entries) == 1
        told[str(change)] = "\n".join(results.warnings)
    golden("results/wrong_entries", told)


@pytest.mark.parametrize(
    "change",
    [
        interval(1.12e-5, 1.11e-5, 1.13e-5, 0.009),
        interval(1e-8, 0.0, 1e-7, 5.0),
        interval(1e-6, 9e-7, 1.1e-6, None),
        interval(1e-6, None, None, None),
        interval(1e-6, 1.0001e-6, 1.0002e-6, 0.0),
    ],
)
def test_an_interval_as_it_can_be(tmp_path: Path, change: dict[str, Any]) -> None:
    """Protects rounded figures, those without an interval, and one whose lower end the clock leaves open."""
    file = tmp_path / "r.jsonl"
    file.write_bytes(b"".join(lines([run(), {**entry(), **change}])))
    assert len(read(file).entries) == 1 and not read(file).warnings


def test_a_newer_schema_is_read_with_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_bytes(b"".join(lines([{**run(), "schema": 3}, {"kind": "wire"}, entry()])))
    results = read(file)
    assert len(results.runs) == len(results.entries) == 1
    assert results.warnings == [
        "line 1: written by a newer wirespeed (schema 3, known here: 2); read as far as it goes"
    ]


def test_an_older_schema_is_refused(tmp_path: Path) -> None:
    """Protects from figures under another name: members of version 1 are called otherwise."""
    file = tmp_path / "r.jsonl"
    file.write_bytes(b"".join(lines([{**run(), "schema": 1}, entry()])))
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
    file.write_bytes(b"".join(lines([head])))
    (found,) = collect(read(file).records)
    assert found.pattern_words == words
    assert (found.head.plan == plan) == (not words)


@pytest.mark.parametrize("options", [[], [["depth", "1"]]])
def test_an_older_plan_is_exported_as_it_is(tmp_path: Path, options: list[Any]) -> None:
    """Protects exported records from members that nobody said, because the file is older than they are."""
    file, head = tmp_path / "r.jsonl", run(Plan("jacobi"))
    plan = {name: value for name, value in head["plan"].items() if name not in ("budget", "soak")}
    file.write_bytes(b"".join(lines([{**head, "plan": {**plan, "options": options}}])))
    (found,) = read(file).runs
    assert json.loads(msgspec.json.encode(found))["plan"].keys() == plan.keys()
    assert found.plan.options == () and found.plan.soak is None


def test_what_a_newer_version_says_costs_nothing(tmp_path: Path) -> None:
    """Protects files of a newer version: members that are not known yet, and causes."""
    later = {**entry(), "colour": {"red": [1]}, "details": {"a\x1b": "\t"}}
    lost = {**failure(), "cause": {"kind": "earthquake", "strength": 7}}
    file = tmp_path / "r.jsonl"
    file.write_bytes(b"".join(lines([run(), later, lost])))
    results = read(file)
    assert [one.details for one in results.entries] == [{"a ": " "}] and results.warnings == []
    assert [one.cause.kind for one in results.failures] == ["earthquake"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "cannot read .: Is a directory"),
        ("missing", "cannot read missing: No such file or directory"),
        ("text", "text is not a result file of wirespeed"),
        ("/dev/zero", "cannot read /dev/zero: it is a device"),
        ("a\0b", "cannot read 'a\\x00b': embedded null byte"),
    ],
)
def test_what_is_no_result_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("# Notes\n\nhello\n")
    with pytest.raises(WirespeedError) as caught:
        read(name)
    assert str(caught.value) == why and caught.value.code == ExitCode.CANNOT_WRITE


def test_an_empty_file_is_a_run_that_was_killed_at_once(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    assert read(tmp_path / "r.jsonl").records == []


# ---- tables ---------------------------------------------------------------------------------------------


def test_a_table_of_nothing_is_empty(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    table = wirespeed.load(tmp_path / "r.jsonl").table()
    assert set(table) > set(export.COLUMNS) and all(len(column) == 0 for column in table.values())


def test_importing_the_package_loads_nothing() -> None:
    script = "import sys, wirespeed; print([m for m in sys.modules if m.startswith(('wirespeed.', 'numpy'))])"
    done = captured([sys.executable, "-c", script], ok=True)
    assert done.stdout.strip() == "[]"
    assert wirespeed.__version__
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        wirespeed.lode  # noqa: B018


def test_a_plan_survives_the_record() -> None:
    plan = Plan(paths=("host",), stopping=Stopping(loops=50))
    assert msgspec.convert(json.loads(json.dumps(run(plan=plan)))["plan"], Plan) == plan


def test_the_page_about_the_file_says_the_truth() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
    example = json.loads(page.split("```json\n")[1].split("```")[0])
    assert errors(example) == []
    columns = page.split("Columns: ")[1].split(".\n`wirespeed show")[0]
    assert re.findall(r"`(\w+)`", columns) == list(export.COLUMNS)
