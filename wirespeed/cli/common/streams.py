"""Whether a person's terminal is at the other end of stdout and stderr."""

from __future__ import annotations

import sys


def distrust_terminals() -> None:
    """Inside a launcher a terminal is one that the launcher made: colours would end up in files.

    Its width says nothing either.
    """
    from wirespeed.launch import launched_rank

    if launched_rank():
        for stream in (sys.stdout, sys.stderr):
            stream.isatty = lambda: False  # type: ignore[method-assign]
