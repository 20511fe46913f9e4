"""A line of text on any width of terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def say(console: Console, text: Text, indent: int = 2) -> None:
    """A line that is continued further in, should the terminal be too narrow for it."""
    indent = min(indent, console.width // 3)
    first = text.wrap(console, console.width)[0]
    console.print(first)
    done = len(first.plain.rstrip())
    done += len(text.plain[done:]) - len(text.plain[done:].lstrip())
    if done < len(text.plain):
        for line in text[done:].wrap(console, console.width - indent):
            console.print(Text(" " * indent).append_text(line))
