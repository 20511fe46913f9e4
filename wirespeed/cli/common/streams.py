"""Notes and warnings beside the result, and whether a person's terminal is at the other end."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

MAX_WARNINGS = 5
LONGEST_WORD = 200
"""Letters; what a user has typed may have thousands."""


def one_line(text: str) -> str:
    """The text on one line, without what a terminal would obey, its words cut where they are very long."""
    words = "".join(letter if letter.isprintable() else " " for letter in text).split()
    return " ".join(word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}..." for word in words)


def note(text: str) -> None:
    """A line on stderr, or several, with blanks for what a terminal would obey."""
    shown = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
    print(shown, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """A warning on stderr."""
    note(f"wirespeed: warning: {one_line(text)}")


def warn_of(file: str, warnings: Sequence[str]) -> None:
    """The first warnings about a file, and how many more there are."""
    for warning in warnings[:MAX_WARNINGS]:
        warn(f"{file}: {warning}")
    if len(warnings) > MAX_WARNINGS:
        warn(f"{file}: {len(warnings) - MAX_WARNINGS} more of this kind")


def print_or_write(text: str, output: str | None) -> None:
    """The text on stdout, or in a file, whose earlier content it replaces. Raises WirespeedError."""
    from wirespeed.results.whole_file import write_whole

    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text)


def one_of_ranks() -> bool:
    """Has a launcher started this process as one of several ranks?

    Other variables of a launcher are named, and forgotten. Raises WirespeedError for contradictory ones.
    """
    from wirespeed.launchers import forget_one_rank, launched_rank

    if launched_rank():
        return True
    if line := forget_one_rank(os.environ):
        warn(line)
    return False


def distrust_terminals() -> None:
    """Inside a launcher a terminal is one that the launcher made: colours would end up in files.

    Its width says nothing either.
    """
    from wirespeed.launchers import launched_rank

    if launched_rank():
        for stream in (sys.stdout, sys.stderr):
            stream.isatty = lambda: False  # type: ignore[method-assign]
