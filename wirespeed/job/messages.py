"""How ranks talk to their front end: one JSON object per line on standard output, after a mark.

Launchers forward standard output from any host; the mark tells our lines from what a library prints.
"""

from __future__ import annotations

import json
import os
from typing import Any

MARK = "\x1e"
Message = dict[str, Any]


def send(message: Message, descriptor: int = 1) -> None:
    """Writes one message, in one piece."""
    data = (MARK + json.dumps(message, separators=(",", ":")) + "\n").encode()
    while data:
        data = data[os.write(descriptor, data) :]


def parse(line: str) -> tuple[str, Message | None]:
    """Splits a line into what a library printed before the mark and the message behind it."""
    before, mark, after = line.partition(MARK)
    if not mark:
        return line, None
    try:
        message = json.loads(after)
    except (ValueError, RecursionError):
        return line, None
    return before, message if isinstance(message, dict) else None
