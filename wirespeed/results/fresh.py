"""A record of messages from new memory: that they were right, and what the first use costs."""

from __future__ import annotations

from wirespeed.results.parts import Amount, Fact, Whole
from wirespeed.results.run_record import Moment, RunRecord


class Fresh(RunRecord, frozen=True, kw_only=True, tag="fresh"):
    """Messages of one size, each from memory that was allocated for it, all of them checked and right."""

    step: Whole = 0
    launch: Fact = 1
    pattern: str = ""
    path: str
    memory: str = ""
    bytes: Whole
    """Size of one message."""
    messages: Whole = 0
    """Allocations, each of both buffers of every rank."""
    seconds: Amount = 0.0
    """Median of the first message from new memory, by the definition of the figure of this path and size."""
    known_s: Amount = 0.0
    """Median of the message after it, from the same memory."""
    at: Moment = ""
