"""Outputs of other tools for the commands that read them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wirespeed import inputs
from wirespeed.cli.common.words import shown
from wirespeed.errors import WirespeedError

if TYPE_CHECKING:
    from wirespeed.foreign.shapes import Log


def read_logs(files: Sequence[str]) -> Log:
    """All that is understood of the files, as one text. Raises WirespeedError where that is nothing."""
    from wirespeed.foreign.reading import read

    log = read(line for file in files for line in _lines(file))
    if not log:
        names = ", ".join("standard input" if file == "-" else shown(file) for file in files)
        raise WirespeedError(
            f"{names}: nothing in it is known; docs/explain.md lists the tools whose output is read"
        )
    return log


def _lines(file: str) -> Iterator[bytes]:
    try:
        if file == "-":
            yield from iter(lambda: sys.stdin.buffer.readline(inputs.LONGEST_LINE), b"")
        else:
            yield from inputs.lines(file)
    except inputs.CutOff:
        return
    except (OSError, ValueError) as error:
        raise WirespeedError(f"cannot read {shown(file)}: {inputs.why(error)}") from None
