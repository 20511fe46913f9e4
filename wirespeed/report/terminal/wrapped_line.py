"""A line of text on any width of terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.report.terminal.ascii_text import ascii_cell


def say(console: Console, text: Text | str, style: str = "", indent: int = 2) -> None:
    """Print a line, continued further in where the terminal is too narrow; `style` is for strings."""
    if isinstance(text, str):
        text = Text(text, style)
    if console.options.ascii_only:
        text = ascii_cell(text)
    indent = min(indent, console.width // 3)
    first = text.wrap(console, console.width)[0]
    console.print(first)
    done = len(first.plain.rstrip())
    done += len(text.plain[done:]) - len(text.plain[done:].lstrip())
    if done < len(text.plain):
        for line in text[done:].wrap(console, console.width - indent):
            console.print(Text(" " * indent).append_text(line))


def say_all(console: Console, lines: Sequence[str], style: str = "") -> None:
    """A blank line and each of the lines; nothing where there are none."""
    if lines:
        console.print()
    for line in lines:
        say(console, line, style)
