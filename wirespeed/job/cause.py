"""What ended a path, or one size of it, as a value. The sentence beside it is for people alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CauseKind(str, Enum):
    """What happened. A failure's `what` says what that means for the run."""

    CRASH = "crash"
    HANG = "hang"
    STOPPED = "stopped"
    """A hang, because a signal or a debugger stopped the rank that is named."""
    DEATH = "death"
    ERROR = "error"
    NOT_STARTED = "not started"
    """The launcher did not start all ranks."""
    LACK = "lack"
    """The machine, or the pattern, lacks what the path needs."""
    MISMATCH = "mismatch"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class SharedAddress:
    """A network address that several hosts have."""

    address: str
    hosts: tuple[str, ...]
    interfaces: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.address} is on {' and '.join(self.hosts)} ({', '.join(self.interfaces)})"


@dataclass(frozen=True)
class Cause:
    """What happened, with its parts."""

    kind: str = ""
    """A CauseKind; a newer file may have others. Empty: not known."""
    pointer: bool = False
    """It came of the first device pointers that an MPI was handed."""
    mpi: str = ""
    """That MPI, such as Open MPI 5.0.11."""
    instead: str = ""
    """Another MPI that was measured with instead."""
    addresses: tuple[SharedAddress, ...] = ()
    """Addresses that keep ranks of several hosts from finding each other."""
    own: str = ""
    """Interface whose address no other host has, where others' are shared."""

    @property
    def hang(self) -> bool:
        """Did something make no progress?"""
        return self.kind in (CauseKind.HANG, CauseKind.STOPPED)


def kind_of(what: str) -> str:
    """The kind of what has no better one."""
    usual = {"ok": "", "unavailable": CauseKind.LACK.value}
    return usual.get(what, what)
