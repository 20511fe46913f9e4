"""A line of text on any width of terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.ascii_text import ascii_cell

MORE = " ..."


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
    indent = min(indent, console.width // 3)
    first = text.wrap(console, console.width)[0]
    done = len(first.plain.rstrip())
    done += len(text.plain[done:]) - len(text.plain[done:].lstrip())
    lines = [first]
    if done < len(text.plain):
        rest = text[done:].wrap(console, console.width - indent)
        lines += [Text(" " * indent).append_text(line) for line in rest]
    if most is not None and len(lines) > most:
        lines = lines[:most]
        lines[-1].rstrip()
        lines[-1].truncate(console.width - len(MORE))
        lines[-1].append(MORE)
    for line in lines:
        console.print(line)


def say_all(console: Console, lines: Sequence[str], style: str = "") -> None:
    """A blank line and each of the lines; nothing where there are none."""
    if lines:
        console.print()
    for line in lines:
        say(console, line, style)
