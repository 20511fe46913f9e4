"""A job step that has done its work: its processes leave MPI and end while the next one measures."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from threading import Thread

from wirespeed import interrupts
from wirespeed.frontend.job_step import JobStep
from wirespeed.frontend.rank_messages import Received
from wirespeed.frontend.run_steps import StepRecorder
from wirespeed.host.mpi import Mpi
from wirespeed.job.outcome import Outcome


class EndingStep:
    """Goes on watching the processes, in a thread of its own."""

    def __init__(
        self, step: StepRecorder, library: Mpi, watched: JobStep, messages: Iterator[Received]
    ) -> None:
        """`messages`: the rest of what `watched` says, in which there is nothing to record any more."""
        self.step, self.library, self._watched = step, library, watched
        self._thread = Thread(target=lambda: list(messages), name="ending step")
        self._thread.start()

    def outcome(self, hurry: bool = False, end: float = math.inf) -> Outcome:
        """Waits for the end: what became of the processes. `hurry`, a signal, or that the monotonic clock is
        beyond `end`: they are ended."""
        while self._thread.is_alive() and not (hurry or interrupts.asked() or time.monotonic() > end):
            self._thread.join(interrupts.POLL_S)
        if not self._thread.is_alive():
            return self._watched.outcome
        self._watched.hurry()
        self._thread.join()
        return Outcome()
