"""Messages as ranks write them: one JSON object per line on standard output, after a mark.

Launchers forward standard output from any host; the mark tells our lines from what a library prints. A
longer message goes in parts, each a line: "MARK KEY PART/PARTS TEXT".
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

from wirespeed.job.messages import NAMES, Facts, Message

MARK = "\x1e"
MAX_LINE = 1000
"""Bytes: Slurm cuts a line after 1,024 of them, and other ranks' lines come between
(native/measure/report_line.cpp has the same number)."""
MAX_PENDING = 4096
"""Messages whose parts have not all come: of ranks that died as they spoke, the oldest are dropped."""
_PART = re.compile(r"([\w.]{1,40}) (\d{1,5})/(\d{1,5}) ")
"""At most 96 MB in all: 100,000 ranges have 6."""


def members(message: Message) -> Facts:
    """As a line has them: its kind is among them."""
    return {**message} if isinstance(message, dict) else {"kind": NAMES[type(message)], **message._asdict()}


def send(message: Message, descriptor: int = 1) -> None:
    """Writes one message; each of its lines in one piece."""
    for line in _lines(json.dumps(members(message), separators=(",", ":"))):
        data = f"{MARK}{line}\n".encode()
        while data:
            data = data[os.write(descriptor, data) :]


def _lines(text: str) -> Iterator[str]:
    """ASCII, as JSON is."""
    if len(text) <= MAX_LINE:
        yield text
        return
    key, room = os.urandom(6).hex(), MAX_LINE - 40
    parts = [text[at : at + room] for at in range(0, len(text), room)]
    for number, part in enumerate(parts, 1):
        yield f"{key} {number}/{len(parts)} {part}"


class MessageAssembler:
    """Puts messages together whose parts come between those of others."""

    def __init__(self) -> None:
        self._pending: dict[str, list[str]] = {}

    def whole(self, line: str) -> str | None:
        """The line itself, or the one of which it is the last part; None: more is to come."""
        before, mark, after = line.partition(MARK)
        found = _PART.match(after)
        if not mark or found is None:
            return line
        key, number, count = found[1], int(found[2]), int(found[3])
        parts = self._pending.setdefault(key, [])
        parts.append(after[found.end() :])
        # A sender's parts come in their order. Where one is missing, nothing of the message can be read.
        if len(parts) != number or number == count:
            del self._pending[key]
        if len(self._pending) > MAX_PENDING:
            del self._pending[next(iter(self._pending))]
        if len(parts) == number == count:
            return before + MARK + "".join(parts)
        return before or None


def parse(line: str) -> tuple[str, Facts | None]:
    """Splits a line into what a library printed before the mark and the members behind it."""
    before, mark, after = line.partition(MARK)
    if not mark:
        return line, None
    try:
        message = json.loads(after)
    except (ValueError, RecursionError):
        return line, None
    return before, message if isinstance(message, dict) else None
