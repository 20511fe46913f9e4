"""A soak's record: messages that were checked on their way, and the wrong ones by kind."""

from __future__ import annotations

from typing import Annotated

from wirespeed.job.soaking import WRONG_KINDS
from wirespeed.results.parts import Amount, Fact, Moment, Rate, RecordPart, RunRecord, Texts, Whole, one_of

Kind = Annotated[str, one_of(*WRONG_KINDS)]


class WrongMessages(RecordPart, frozen=True, kw_only=True):
    """Messages that were not as sent when they were complete, each of one kind."""

    damaged: Whole = 0
    """Some of its bytes are wrong, and stay so."""
    late: Whole = 0
    """Right once the next message had arrived: its completion came before its last byte."""
    stale: Whole = 0
    """The bytes of an earlier iteration."""
    lost: Whole = 0
    """Nothing arrived."""

    @property
    def total(self) -> int:
        """Sum of all kinds."""
        return self.damaged + self.late + self.stale + self.lost


class FirstWrong(RecordPart, frozen=True, kw_only=True):
    """The wrong message of the earliest iteration."""

    rank: Whole
    """That received it."""
    sender: Whole
    kind: Kind
    iteration: Whole
    """Counts from 0 for each size; the first iterations to try a path out are not counted."""
    offset: Whole
    """Place of its first wrong byte or 8-byte word, in bytes from the message's start."""
    lag: Whole = 0
    """Age of a stale message, in iterations."""
    expected: str = ""
    found: str = ""
    """The 8 bytes there, hexadecimal, as a number; one byte where the message has no whole word."""


class Soak(RunRecord, frozen=True, kw_only=True, tag="soak"):
    """Messages that were checked on their way, while iterations ran without anybody in between."""

    step: Whole = 0
    launch: Fact = 1
    pattern: str
    path: str
    memory: str = ""
    bytes: Whole
    """Size of one message."""
    complete: bool = False
    """Is it all of the time asked for? A later record of the same path and size replaces this one."""
    fresh: Fact | None = None
    """Times that the memory was freed and allocated again; null: it stayed."""
    asked_s: Amount = 0.0
    elapsed_s: Amount = 0.0
    """In iterations that were checked."""
    iterations: Whole = 0
    messages: Whole = 0
    """Checked, all ranks together; those that were wrong, too."""
    wrong: WrongMessages = WrongMessages()
    first: FirstWrong | None = None
    """null: none was wrong."""
    messages_per_s: Rate | None = None
    """All ranks together."""
    timed_messages_per_s: Rate | None = None
    """The same of iterations that nobody checks, just before."""
    planted: Whole | None = None
    """Faults planted on purpose; null: this is no test."""
    details: Texts = {}
    """Choices of the transport."""
    uncovered: Texts = {}
    """What the timed messages went by and those of the soak could not, which no soak checks."""
    at: Moment = ""

    @property
    def rate_share(self) -> float | None:
        """Its message rate as a share of the timed one."""
        if self.messages_per_s is None or self.timed_messages_per_s is None:
            return None
        return self.messages_per_s / self.timed_messages_per_s
