"""Messages of ranks whose bytes were damaged on their way: one line, and nothing a terminal obeys."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.rank_messages import MESSAGES

from wirespeed.frontend.job_step import JobStep
from wirespeed.frontend.rank_messages import MessageReader
from wirespeed.job.messages import MARK, MAX_PENDING, send


def read(message: Any) -> Any:
    return MessageReader().read(MARK + json.dumps(message))[1]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message["kind"]))
def test_every_kind_arrives_whole(message: dict[str, Any]) -> None:
    """Protects what recorders and diagnosis read of a message: nothing of it is left out."""

    def within(small: Any, large: Any) -> bool:
        if isinstance(small, dict):
            return all(name in large and within(small[name], large[name]) for name in small)
        if isinstance(small, list):
            return len(small) == len(large) and all(map(within, small, large))
        return bool(small == large)

    assert within(message, read(message))


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"kind": "entry", "bytes": 8}, "entry: pattern"),
        (
            {"kind": "failure", "what": "error", "text": 7, "rank": None, "bytes": 8, "fatal": True},
            "failure: text",
        ),
        ({"kind": "turn", "index": "1"}, "turn: index"),
        ({"kind": "stuck", "rank": -1}, "stuck: rank"),
        ({"kind": "\x1b[31mred"}, " [31mred: kind"),
        ({"kind": ["done"]}, "['done']: kind"),
    ],
)
def test_a_wrong_type_is_one_line(message: dict[str, Any], why: str) -> None:
    """Protects from 'unexpected TypeError', and says what is lost."""
    text = f"a damaged message of the ranks is left out ({why})"
    assert read(message) == {"kind": "note", "text": text}


def test_the_first_damaged_message_is_told() -> None:
    """Protects the terminal from a line for each."""
    reader = MessageReader()
    told = [reader.read(f'{MARK}{{"kind": "turn"}}')[1] for _ in range(3)]
    assert told[0] and told[1:] == [None, None]


def test_what_a_terminal_would_obey_is_gone() -> None:
    """Protects from text of a rank that moves the cursor or names the window."""
    found = read({"kind": "note", "text": "a\x1b]0;b\x07", "more": {"\x1b[2J": ["\x9b"]}})
    assert found == {"kind": "note", "text": "a ]0;b ", "more": {" [2J": [" "]}}


def test_numbers_that_cannot_be_reckoned_with() -> None:
    """Protects from an OverflowError: JSON's integers have any length, and it knows NaN."""
    found = read({"kind": "note", "text": "", "more": [10**400, -(10**400), float("nan"), float("inf"), 7]})
    assert found["more"] == [None, None, None, None, 7]


def test_nesting_without_end() -> None:
    """Protects from a stack overflow."""
    assert MessageReader().read(MARK + '{"kind":' + "[" * 100_000)[1] is None


def test_a_job_step_goes_on(tmp_path: Path) -> None:
    """Protects the figures beside a damaged message."""
    program = (
        "from wirespeed.job.messages import send\n"
        "send({'kind': 'hello', 'ranks': 'none'})\n"
        "send({'kind': 'progress', 'path': 7})\n"
        "send({'kind': 'measured'})\n"
        "send({'kind': 'done'})\n"
    )
    step = JobStep([sys.executable, "-c", program], os.environ, tmp_path, 2, 60)
    assert [message["kind"] for message in step.messages()] == ["note", "measured", "done"]
    assert step.outcome.what == "ok"


def _sent(message: dict[str, Any], tmp_path: Path) -> list[str]:
    """Its lines, as a rank writes them."""
    with (tmp_path / "lines").open("wb+", buffering=0) as file:
        send(message, file.fileno())
    return (tmp_path / "lines").read_text().split("\n")[:-1]


def test_long_messages_of_several_ranks_come_line_by_line(tmp_path: Path) -> None:
    """Protects a diagnosis under Slurm, which cuts long lines: a rank that had reported was named."""
    messages = [{"kind": "note", "text": f"{number} " + "frame\n" * 1000} for number in range(3)]
    lines = [_sent(message, tmp_path) for message in messages]
    assert all(len(line) <= 1023 for each in lines for line in each) and len(lines[0]) > 5
    reader = MessageReader()
    mixed = [line for turn in zip(*lines, strict=True) for line in turn]
    found = [message for line in mixed if (message := reader.read(line)[1])]
    assert [message["text"][0] for message in found] == ["0", "1", "2"]
    assert all(len(message["text"]) == len(messages[0]["text"]) for message in found)


def test_a_message_with_a_lost_part_is_no_message(tmp_path: Path) -> None:
    """Protects from two halves of different messages, and from memory of those that never end."""
    reader = MessageReader()
    first, _, *rest = _sent({"kind": "note", "text": "x" * 5000}, tmp_path)
    assert [reader.read(line)[1] for line in (first, *rest)] == [None] * (1 + len(rest))
    for number in range(2 * MAX_PENDING):
        assert reader.read(f"{MARK}{number} 1/2 x") == ("", None)
    assert len(reader._joined._pending) <= MAX_PENDING
    (short,) = _sent({"kind": "note", "text": "x"}, tmp_path)
    assert reader.read(short)[1] == {"kind": "note", "text": "x"}
