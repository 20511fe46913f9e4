"""Errors that a user can act on, and the exit codes that scripts can rely on."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """Codes that `wirespeed` returns to the shell; documented in docs/commands.md."""

    OK = 0
    FAILED_ENTRY = 1
    """At least one entry crashed, hung, died or moved wrong bytes; everything else was measured."""
    USAGE = 2
    """An option or a file is wrong; nothing was measured."""
    UNAVAILABLE = 3
    """Nothing asked for can be measured on this machine (no MPI, no such device, ...)."""
    CANNOT_WRITE = 4
    """The result file cannot be written or read."""
    WRONG_WORLD = 5
    """The ranks' MPI is not the launcher's, or the world has the wrong size."""
    WORSE = 6
    """Something is worse than before, or outside its bounds."""
    IMPOSSIBLE = 7
    """A figure cannot be true: another one of its run, or physics, contradicts it."""
    CANNOT_TELL = 8
    """Nothing was found wrong, but some of what was asked could not be judged."""
    HANG = 75
    """A rank inside somebody else's launcher gave up after a hang."""
    INTERRUPTED = 130
    """Ctrl-C; the result file holds everything measured until then."""


PRECEDENCE = (
    *(ExitCode.INTERRUPTED, ExitCode.HANG, ExitCode.USAGE, ExitCode.CANNOT_WRITE, ExitCode.WRONG_WORLD),
    *(ExitCode.IMPOSSIBLE, ExitCode.FAILED_ENTRY, ExitCode.WORSE, ExitCode.CANNOT_TELL),
    *(ExitCode.UNAVAILABLE, ExitCode.OK),
)
"""The order in which codes go before others: of several that fit, the first one is returned."""


def gravest(*codes: ExitCode) -> ExitCode:
    """The code that takes precedence."""
    return min(codes, key=PRECEDENCE.index)


class WirespeedError(Exception):
    """One line for the user: what is wrong, what is allowed, what to do."""

    def __init__(self, text: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(text)
        self.code = code
        self.results: Any = None
        """Of wirespeed.measure: what was measured all the same, as wirespeed.load has it; None: nothing."""


class AgreedError(WirespeedError):
    """One that every rank has: rank 0 says it for all."""
