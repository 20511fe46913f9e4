"""What is said beside the result, and whether a person's terminal is at the other end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

MOST_WARNINGS = 5


def note(text: str) -> None:
    """A line on stderr."""
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """A warning on stderr."""
    note(f"wirespeed: warning: {text}")


def warn_of(file: str, warnings: Sequence[str]) -> None:
    """The first warnings about a file, and how many more there are."""
    for warning in warnings[:MOST_WARNINGS]:
        warn(f"{file}: {warning}")
    if len(warnings) > MOST_WARNINGS:
        warn(f"{file}: {len(warnings) - MOST_WARNINGS} more of this kind")


def write_new(text: str, output: str | None) -> None:
    """The text on stdout, or in a new file. Raises WirespeedError for one that exists."""
    from wirespeed.results.reading import cannot, shown, why

    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with Path(output).open("x", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        kept = ", and is not overwritten" if isinstance(error, FileExistsError) else ""
        raise cannot(f"cannot write {shown(output)}: {why(error)}{kept}") from None


def distrust_terminals() -> None:
    """Inside a launcher a terminal is one that the launcher made: colours would end up in files.

    Its width says nothing either.
    """
    from wirespeed.launch import launched_rank

    if launched_rank():
        for stream in (sys.stdout, sys.stderr):
            stream.isatty = lambda: False  # type: ignore[method-assign]
