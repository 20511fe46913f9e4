"""Messages of ranks as the front end takes them: of the types that it counts on, and fit for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from msgspec import NODEFAULT, Struct, defstruct, structs

from wirespeed.job.message_lines import MessageAssembler, parse
from wirespeed.job.messages import KINDS, Accepted, Hello, Message, Note, Told
from wirespeed.job.records import LARGEST
from wirespeed.results.decoding import DoesNotFit, fitted, printable
from wirespeed.results.model import OF_RANKS, RankRecord, StepRecord

Received = Told | RankRecord
_LEAST = {"of": 1, "phases": 1, "grid": 1, "cell": 1, "peer": -1, "now": -LARGEST, "shift": -LARGEST}
"""Least values of members with numbers; of all others 0."""
MAX_SIZES = 1 << 20
"""Most sizes of a path, or rows of a picture."""


def received(message: Message) -> Received:
    """What a rank in this very process tells. Raises DoesNotFit."""
    return _decoded(message) if isinstance(message, dict) else message


@cache
def _struct(kind: str) -> type[Struct]:
    """A type with the members of the messages of a kind: msgspec takes a named tuple for a list."""
    defaults: dict[str, Any] = KINDS[kind]._field_defaults
    hints = get_type_hints(KINDS[kind]).items()
    return defstruct(kind, [(name, hint, defaults.get(name, NODEFAULT)) for name, hint in hints])


def _decoded(members: Mapping[str, object]) -> Received:
    """Raises DoesNotFit, with the name of the member that is wrong."""
    kind = members.get("kind")
    if isinstance(kind, str) and kind in OF_RANKS:
        return fitted(OF_RANKS[kind], {**members, "run": ""})
    if not isinstance(kind, str) or kind not in KINDS:
        raise DoesNotFit("kind")
    message = KINDS[kind](*structs.astuple(fitted(_struct(kind), members)))
    for name, value in message._asdict().items():
        numbers = value if isinstance(value, tuple) else (value,)
        least = _LEAST.get(name, 0)
        if any(isinstance(number, (int, float)) and number < least for number in numbers):
            raise DoesNotFit(name)
        if name == "of" and value > MAX_SIZES:
            raise DoesNotFit(name)
    if isinstance(message, Hello | Accepted):
        # They say what goes into the record of their job step.
        fitted(StepRecord, {"kind": "step", "run": "", "step": 0, "path": "", **message._asdict()})
    return message


class MessageReader:
    """Takes lines of ranks; of the damaged messages among them the first is told."""

    def __init__(self) -> None:
        self._told = False
        self._joined = MessageAssembler()

    def read(self, line: str) -> tuple[str, Received | None]:
        """Text that a library printed before the mark, and the message behind it."""
        whole = self._joined.whole(line)
        if whole is None:
            return "", None
        printed, members = parse(whole)
        if members is None:
            return printed, None
        try:
            return printed, _decoded(members)
        except (DoesNotFit, RecursionError) as why:
            if self._told:
                return printed, None
            self._told = True
            what = printable(str(members.get("kind")))[:40] + (f": {why}" if str(why) else "")
            return printed, Note(f"a damaged message of the ranks is left out ({what})")
