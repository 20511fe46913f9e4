"""The check of loads: where a chain leads, which the transport compares after each of its launches."""

from __future__ import annotations

from wirespeed.host.core import NativeError
from wirespeed.patterns.rma import WORD
from wirespeed.rank.check.payload_check import Check, PayloadMismatch, WrongData
from wirespeed.rank.program import Program
from wirespeed.rank.world import World

MAX_LINKS = 4096
"""Loads of a checked iteration at most: a longer chain is checked as far as they lead."""


class LoadCheck(Check):
    """Follows the chain once round, so that a wrong link of it leads elsewhere."""

    def __init__(self, comm: World, links: int) -> None:
        self._comm, self._loads = comm, min(links, MAX_LINKS)

    def checked_iteration(self, program: Program) -> float:
        """Collective. Seconds of one load. Raises PayloadMismatch on every rank."""
        self._comm.barrier()
        seconds, wrong = 0.0, None
        try:
            seconds = program.run(self._loads)
        except NativeError as error:
            # After any other one the target still waits for the origin.
            if not str(error).startswith("wrong data"):
                raise
            wrong = WrongData(self._comm.rank, str(error))
        if found := self._comm.first(wrong):
            raise PayloadMismatch(found[1])
        self.iterations += self._loads
        self.bytes += self._loads * WORD
        return seconds

    def begin_batch(self, program: Program) -> None:
        """The chain stays."""

    def end_batch(self, program: Program, iterations: int) -> None:
        """The transport itself has compared where the loads of the batch led."""
        self.batches += 1
