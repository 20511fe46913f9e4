"""The console that everything is printed on."""

from __future__ import annotations

import os
import re
import sys
from typing import IO, cast

from rich.console import Console

from wirespeed.report.console.ascii_text import AsciiStream, ascii_locale

MIN_WIDTH = 20

PIPE_WIDTH = 100


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
    return Console(
        file=stream,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        _environ=others,
    )
