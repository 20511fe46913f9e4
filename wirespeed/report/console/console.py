"""The console that everything is printed on; lines on it, and signs where a locale has only ASCII."""

from __future__ import annotations

import io
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any, cast

from rich.console import Console
from rich.text import Text

MIN_WIDTH, PIPE_WIDTH = 20, 100
_HEIGHT = 25
"""Lines of a console of a given width; rich would ask the system again and again."""
SIGNS = {"±": "+-", "≈": "=", "─": "-", "—": "-", "│": "|", "µ": "u", "…": "...", "→": "->"}
SIGNS |= zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True)
MORE = " ..."
PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
"""Texts are printed as they are."""


def make_console(stream: IO[str] | None = None) -> Console:
    """A console on the stream; one that is no terminal is plain, and wide enough for a table."""
    stream = sys.stdout if stream is None else stream
    wanted = os.environ.get("COLUMNS", "")
    # What is no width of a screen says nothing: rich would take 0, and a million.
    sensible = re.fullmatch("[0-9]{1,4}", wanted) is not None and int(wanted) >= MIN_WIDTH
    width = int(wanted) if sensible else None if stream.isatty() else PIPE_WIDTH
    others = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    if ascii_locale(stream):
        stream = cast("IO[str]", AsciiStream(stream))
    height = None if width is None else _HEIGHT
    return Console(file=stream, width=width, height=height, **PLAIN, _environ=others)


class Trial(Console):
    """A console that counts the lines that it would print, and can have them printed on another one."""

    def __init__(self, width: int, *, ascii_only: bool = False) -> None:
        # Signs that are printed as several letters of ASCII take the room of those.
        text = AsciiStream(io.StringIO()) if ascii_only else io.StringIO()
        super().__init__(file=cast("IO[str]", text), width=width, height=_HEIGHT, **PLAIN, _environ={})
        self.lines = 0
        self._printed: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def replay(self, console: Console) -> None:
        """Prints the same there."""
        for objects, how in self._printed:
            text = objects[0] if len(objects) == 1 else None
            if not console.is_terminal and isinstance(text, Text) and text.cell_len <= console.width:
                console.file.write(f"{text.plain}\n")  # rich would take long to find no style
            else:
                console.print(*objects, **how)

    def print(self, *objects: Any, **how: Any) -> None:
        """Counts: a table has lines of its own, a text those that it is folded to."""
        self._printed.append((objects, how))
        for each in objects or ("",):
            if isinstance(each, Text | str):
                text = Text(each) if isinstance(each, str) else each
                self.lines += 1 if text.cell_len <= self.width else len(text.wrap(self, self.width))
            else:
                self.lines += each.height


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


def say(
    console: Console, text: Text | str, style: str = "", indent: int = 2, most: int | None = None
) -> None:
    """Print a line, continued further in where the terminal is too narrow; `style` is for strings.

    `most`: lines of the terminal; what does not fit them ends in dots.
    """
    if isinstance(text, str):
        text = Text(text, style)
    if console.options.ascii_only:
        text = ascii_cell(text)
    if len(text) <= console.width and text.plain.isascii() and text.plain.isprintable():
        console.print(text)
        return
    indent = min(indent, console.width // 3)
    text = _parted(text, console.width - indent)
    first = text.wrap(console, console.width)[0]
    done = len(first.plain.rstrip())
    done += len(text.plain[done:]) - len(text.plain[done:].lstrip())
    lines = [first]
    if done < len(text.plain):
        rest = text[done:].wrap(console, console.width - indent)
        lines += [Text(" " * indent).append_text(line) for line in rest]
    if most is not None and len(lines) > most:
        lines = lines[:most]
        room = console.width - len(MORE)
        lines[-1].rstrip()
        if len(lines[-1]) > room:
            last_blank = lines[-1].plain.rfind(" ", 0, room + 1)
            lines[-1].truncate(last_blank if last_blank > room // 2 else room)
        lines[-1].append(MORE)
    for line in lines:
        line.rstrip()
        console.print(line)


def _parted(text: Text, width: int) -> Text:
    """With blanks after commas of a word that is longer than a line, so that no name in it is broken."""
    places = []
    for word in re.finditer(rf"\S{{{width + 1},}}", text.plain):
        start, end = word.span()
        while end - start > width and (comma := text.plain.rfind(",", start, start + width)) >= 0:
            places.append(start := comma + 1)
    return Text(" ").join(text.divide(places)) if places else text


BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], low: float, high: float) -> str:
    """One character a value, on a logarithmic scale from low to high; a blank where there is none."""
    span = math.log(high / low) if high > low > 0 else 0.0
    line = ""
    for value in values:
        if value is None or value <= 0:
            line += " "
            continue
        share = math.log(value / low) / span if span else 1.0
        line += BLOCKS[min(len(BLOCKS) - 1, max(0, int(share * len(BLOCKS))))]
    return line
