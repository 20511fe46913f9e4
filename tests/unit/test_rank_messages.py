"""Messages of ranks: whole when they arrive; what was damaged is one line, and nothing a terminal obeys."""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs
from support.examples import examples
from support.golden import Golden
from support.rank_messages import MESSAGES, RECORDS, STUCK, rank_place

from wirespeed.frontend.job_step import JobStep
from wirespeed.frontend.rank_messages import MAX_SIZES, MessageReader, received
from wirespeed.job import records
from wirespeed.job.message_lines import MARK, MAX_PENDING, members, send
from wirespeed.job.messages import (
    NAMES,
    Accepted,
    ClockPlace,
    Done,
    Hello,
    Measured,
    Message,
    Note,
    Progress,
    RankError,
    RankRanges,
    RankReport,
    Told,
)
from wirespeed.results import model, parts
from wirespeed.results.contradiction import BatchClock
from wirespeed.results.model import OF_RANKS, Fresh
from wirespeed.results.parts import RunRecord, Start
from wirespeed.results.soak import Soak
from wirespeed.statistics import samples
from wirespeed.statistics.histogram import HistogramCounts
from wirespeed.statistics.samples import Samples


def read(given: Any) -> Any:
    return MessageReader().read(MARK + json.dumps(given))[1]


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=60), st.booleans(), st.floats(0, 1e-3))
@example([1e-7] * 4 + [1e-3, 0.1, 3.0, 60.0], False, 0.0)
@example([1e-9, 1e5, 1e5], False, 0.0)
@example([1e-9, 1.0, 1e5] * 4, True, 1e-6)
def test_no_scatter_of_batches_makes_numbers_that_nobody_takes(
    batches: list[float], drifting: bool, step_s: float
) -> None:
    """Protects figures of a busy machine: an interval that reaches further than times can be."""
    samples = Samples()
    samples.step_s = step_s
    for batch in sorted(batches) if drifting else batches:
        samples.add([batch])
        progress = Progress("host", 8, 0, 1, samples.count, samples.precision(), seconds=samples.median())
        assert read(members(progress)) == progress
    assert not isinstance(read({**RECORDS[0], **samples.summary()}), Note)


def _sent(message: Message, tmp_path: Path) -> list[str]:
    """Its lines, as a rank writes them."""
    with (tmp_path / "lines").open("wb+", buffering=0) as file:
        send(message, file.fileno())
    return (tmp_path / "lines").read_text().split("\n")[:-1]


TEXTS = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "), max_size=200)
NUMBERS = st.integers(1, (1 << 63) - 1)
FACTS = st.dictionaries(TEXTS, st.none() | st.booleans() | NUMBERS | TEXTS | st.lists(TEXTS), max_size=3)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: NUMBERS,
    bool: st.booleans(),
    type(None): st.none(),
    float: st.floats(0, 1e18),
    dict[str, Any]: FACTS,
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """All values of a member's type."""
    if hint in PLAIN:
        return PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([values(part) for part in inner])
    if origin is tuple and inner[-1] is not ...:
        return st.tuples(*map(values, inner))
    if origin is tuple:
        return st.lists(values(inner[0]), max_size=3).map(tuple)
    if origin is list:
        return st.lists(values(inner[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(values(inner[0]), values(inner[1]), max_size=3)
    assert is_typeddict(hint), hint
    return st.fixed_dictionaries({name: values(of) for name, of in get_type_hints(hint).items()})


def messages(kind: type[Told]) -> st.SearchStrategy[Told]:
    """All messages of a kind."""
    parts = {name: values(hint) for name, hint in get_type_hints(kind).items()}
    if kind is RankReport:
        parts |= {"kind": st.sampled_from(["stuck", "crash"]), "peer": st.integers(-1, 99)}
    if "of" in parts:
        parts["of"] = st.integers(1, MAX_SIZES)
    return st.builds(kind, **parts)


@pytest.mark.parametrize("kind", NAMES, ids=lambda kind: str(kind.__name__))
def test_every_message_arrives_whole(kind: type[Told], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Protects what recorders and diagnosis read of a message: nothing of it is left out or changed."""
    folder = tmp_path_factory.mktemp("sent")

    @examples(30)
    @given(messages(kind))
    def check(message: Told) -> None:
        reader = MessageReader()
        found = [reader.read(line)[1] for line in _sent(message, folder)]
        assert found == [*[None] * (len(found) - 1), received(message)]
        assert isinstance(found[-1], type(received(message)))

    check()


@pytest.mark.parametrize(
    ("told", "kept", "added"),
    [
        (records.Figure, model.Entry, "run step launch impossible at"),
        (records.Wires, model.Wires, "run step at"),
        (records.Evidence, model.Evidence, "run step at nics_differ"),
        (records.Health, model.Health, "run step at"),
        (records.Fresh, Fresh, "run step launch at"),
        (records.Soak, Soak, "run step launch at"),
        (samples.Times, parts.Times, ""),
        (HistogramCounts, parts.RecordedHistogram, ""),
        (records.Interval, parts.Interval, ""),
        (records.Rates, parts.Rates, ""),
        (records.Derived, parts.DerivedFigure, ""),
        (records.Checked, parts.Checked, ""),
        (records.Cores, parts.Cores, "shared"),
        (records.BatchClock, BatchClock, ""),
        (records.Start, Start, ""),
        (records.TeamFigure, parts.TeamFigure, ""),
        (records.Baseline, parts.Baseline, ""),
        (records.ProgramTimes, parts.ProgramTimes, ""),
        (records.Constant, parts.MeasuredConstant, ""),
        (records.Converged, parts.Converged, ""),
    ],
)
def test_the_file_has_what_ranks_tell(told: type[Any], kept: type[Any], added: str) -> None:
    """Protects from a member that ranks make and nobody keeps, and from one that nobody makes."""
    names = {field.encode_name for field in structs.fields(kept)}
    assert {*get_type_hints(told)} - {"kind"} == names - {*added.split()}


@pytest.mark.parametrize(
    ("unit", "amount", "seconds", "expected"),
    [
        ("GB/s", 4000.0, 2e-6, 2.0),
        ("messages/s", 64.0, 2e-6, 32e6),
        ("s", 3.0, 2e-6, 6e-6),
        ("GB/s", 4000.0, None, None),
        ("GB/s", 4000.0, 0.0, None),
        ("sites/s", 1e9, 1e-15, None),
        ("s", 3.0, None, None),
    ],
)
def test_other_figures_of_the_samples(
    unit: str, amount: float, seconds: float | None, expected: float | None
) -> None:
    """Protects from a rate that is no number, or too large to be reckoned with."""
    found = records.in_unit(unit, amount, seconds)
    assert found == (None if expected is None else pytest.approx(expected))


def test_there_is_an_example_of_each_kind() -> None:
    """Protects the fuzzer (tests/fuzz) from leaving a kind out."""
    told = [message for message in MESSAGES if not isinstance(message, dict)]
    assert {type(message) for message in told} == set(NAMES)
    assert {record["kind"] for record in RECORDS} == set(OF_RANKS)
    assert [type(read(members(message))) for message in MESSAGES] == [
        type(received(message)) for message in MESSAGES
    ]


def ranks(places: Any) -> dict[str, Any]:
    return {**members(Hello((), {}, 0.1)), "ranks": places}


PROGRESS = members(Progress("host", 8, 0, 3))
NO_ROOM = members(RankError(1, "no room"))
WRONG: tuple[dict[str, Any], ...] = (
    {"kind": "entry", "bytes": 8},
    {"kind": "run", "run": "r"},
    {**members(STUCK), "kind": "failure"},
    *({"kind": "turn", "place": place} for place in ("1", -1, True, 10**40)),
    {"kind": "turn"},
    *({**PROGRESS, **wrong} for wrong in ({"of": 0}, {"of": 10**15}, {"samples": None})),
    *({**members(STUCK), **wrong} for wrong in ({"rank": -1}, {"native": "f"})),
    *({**NO_ROOM, "lost": lost} for lost in ([0, "1"], [0, -1])),
    *(ranks(places) for places in ([{**rank_place(0), "pid": "7"}], {"0": rank_place(0)})),
    ranks([{**rank_place(0), "cpu_quota": -1}]),
    {"kind": "\x1b[31mred"},
    {"kind": ["done"]},
)


HOSTILE = {"\x1b[2J": ["\x9b"], "more": [10**400, -(10**400), float("nan"), float("inf"), 7]}
BEHIND = ClockPlace(same=False, ahead=-5, uncertainty=1)
ODD: tuple[dict[str, Any], ...] = (
    {"kind": "note", "text": "a\x1b]0;b\x07", "more": 1},
    members(Accepted(HOSTILE, [{"\x1b": 1}], ())),
    members(RankRanges("host", 1, "n1", (("size", "8 B", -3, -2, {}),), 0, {}, BEHIND, "c", -1)),
)
"""What a terminal would obey, members that nobody knows, numbers that are none, a clock that is behind."""


def test_a_wrong_type_is_one_line(golden: Golden) -> None:
    """Protects from 'unexpected TypeError', and says what is lost; and good messages beside it."""
    told = [read(message) for message in WRONG]
    assert all(isinstance(note, Note) for note in told)
    texts = {"left out": "\n".join(note.text for note in told), "kept": "\n".join(map(str, map(read, ODD)))}
    golden("frontend/damaged_messages", texts)


def test_the_first_damaged_message_is_told() -> None:
    """Protects the terminal from a line for each."""
    reader = MessageReader()
    told = [reader.read(f'{MARK}{{"kind": "turn"}}')[1] for _ in range(3)]
    assert isinstance(told[0], Note) and told[1:] == [None, None]


@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_a_line(content: bytes) -> None:
    """Protects from a stranger who writes to the pipe: nothing is raised, whatever stands behind the mark."""
    found = MessageReader().read(MARK + content.decode(errors="replace").replace("\n", ""))[1]
    assert found is None or isinstance(found, tuple | RunRecord)


@given(st.recursive(st.none() | NUMBERS | st.floats() | TEXTS, lambda inner: st.lists(inner)), st.data())
def test_any_member_of_any_kind(value: Any, data: st.DataObject) -> None:
    """Protects each type of a member from any JSON in its place."""
    whole = members(data.draw(st.sampled_from(MESSAGES)))
    whole[data.draw(st.sampled_from([*whole]))] = value
    assert isinstance(read(whole), (type(None), tuple, RunRecord))


def test_nesting_without_end() -> None:
    """Protects from a stack overflow."""
    assert MessageReader().read(MARK + '{"kind":' + "[" * 100_000)[1] is None


def test_a_job_step_goes_on(tmp_path: Path) -> None:
    """Protects the figures beside a damaged message."""
    program = (
        "import json\n"
        "from wirespeed.job.message_lines import MARK, send\n"
        "from wirespeed.job.messages import Done, Measured\n"
        "for wrong in ({'kind': 'hello', 'ranks': 'none'}, {'kind': 'progress', 'path': 7}):\n"
        "    print(MARK + json.dumps(wrong), flush=True)\n"
        "send(Measured())\n"
        "send(Done())\n"
    )
    step = JobStep([sys.executable, "-c", program], os.environ, tmp_path, 2, 60)
    assert [type(message) for message in step.messages()] == [Note, Measured, Done]
    assert step.outcome.what == "ok"


def test_long_messages_of_several_ranks_come_line_by_line(tmp_path: Path) -> None:
    """Protects a diagnosis under Slurm, which cuts long lines: a rank that had reported was named."""
    sent = [Note(f"{number} " + "frame\n" * 1000) for number in range(3)]
    lines = [_sent(message, tmp_path) for message in sent]
    assert all(len(line) <= 1023 for each in lines for line in each) and len(lines[0]) > 5
    reader = MessageReader()
    mixed = [line for turn in zip(*lines, strict=True) for line in turn]
    found = [message for line in mixed if isinstance(message := reader.read(line)[1], Note)]
    assert [message.text[0] for message in found] == ["0", "1", "2"]
    assert all(len(message.text) == len(sent[0].text) for message in found)


def test_a_message_with_a_lost_part_is_no_message(tmp_path: Path) -> None:
    """Protects from two halves of different messages, and from memory of those that never end."""
    reader = MessageReader()
    first, _, *rest = _sent(Note("x" * 5000), tmp_path)
    assert [reader.read(line)[1] for line in (first, *rest)] == [None] * (1 + len(rest))
    for number in range(2 * MAX_PENDING):
        assert reader.read(f"{MARK}{number} 1/2 x") == ("", None)
    assert len(reader._joined._pending) <= MAX_PENDING
    assert reader.read(f"{MARK}k 1/100000 x")[0] and "k" not in reader._joined._pending
    (short,) = _sent(Note("x"), tmp_path)
    assert reader.read(short)[1] == Note("x")
