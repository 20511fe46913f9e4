"""Signs for terminals whose locale has only ASCII: '+-' for '±'."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Any

from rich.text import Text

SIGNS = {"±": "+-", "≈": "=", "─": "-", "—": "-", "│": "|", "µ": "u", "…": "...", "→": "->"}
SIGNS |= zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True)


def ascii_locale(stream: IO[str], environment: Mapping[str, str] = os.environ) -> bool:
    """True where only ASCII is readable at the stream's other end.

    Python itself writes UTF-8 in the locale C (PEP 540), which such a terminal does not show.
    """
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
    if not encoding.startswith("utf") or environment.get("PYTHONIOENCODING"):
        return not encoding.startswith("utf")
    named = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next(filter(None, named), "") in ("C", "POSIX")


def ascii_text(text: str) -> str:
    """With signs of ASCII; a letter that has none becomes a question mark."""
    if text.isascii():
        return text
    return "".join(SIGNS.get(letter, letter) for letter in text).encode("ascii", "replace").decode()


def ascii_cell(text: Text) -> Text:
    """The same with its styles."""
    if text.plain.isascii():
        return text
    made = Text(style=text.style)
    for letter in text.divide(range(1, len(text))):
        style = letter.spans[-1].style if letter.spans else ""
        made.append(ascii_text(letter.plain), style)
    return made


class AsciiStream:
    """A stream that gets ASCII only."""

    encoding = "ascii"

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """All of the text, with signs of ASCII."""
        return self._stream.write(ascii_text(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
