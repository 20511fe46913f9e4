"""Two figures of a run that cannot both be true, as a record holds them."""

from __future__ import annotations

from typing import Annotated

from wirespeed.results.parts import Amount, RecordPart, Whole, one_of
from wirespeed.units import format_rate, format_seconds, format_size

GIVEN = "given"
"""Rule of contradictions that the reader of another tool's output found: no record of the run shows them."""


class BatchClock(RecordPart, frozen=True, kw_only=True):
    """The host's clock around each batch, held against the sum of the batch's samples."""

    of: str = ""
    """Whose batches they are, if not the figure's own: its computation, the driver's copy."""
    batches: Whole
    """Batches compared."""
    long: Whole = 0
    """Batches whose samples count more seconds than passed on the host's clock."""
    short: Whole = 0
    """Batches whose time on the host's clock neither the samples nor an allowance explain."""
    host_s: Amount = 0.0
    """Seconds of the worst batch, by the host's clock."""
    stamped_s: Amount = 0.0
    """Seconds of the same batch, by its samples."""


class Quantity(RecordPart, frozen=True, kw_only=True):
    """A figure of a contradiction."""

    name: str
    unit: Annotated[str, one_of("s", "B/s", "B")]
    value: Amount
    low: Amount | None = None
    """Lower end of its interval; null: it has none."""
    high: Amount | None = None

    def __str__(self) -> str:
        """'80.1 us (79.0 us to 81.2 us)'."""
        ends = [self._words(end) for end in (self.low, self.high) if end is not None]
        return self._words(self.value) + (f" ({' to '.join(ends)})" if len(ends) == 2 else "")

    def _words(self, value: float) -> str:
        if self.unit == "B":
            return format_size(int(value))
        return format_seconds(value) if self.unit == "s" else f"{format_rate(value)} GB/s"


class Contradiction(RecordPart, frozen=True, kw_only=True):
    """Two figures that cannot both be true."""

    rule: Annotated[str, one_of("computation", "limit", "one rank", "clock", "nothing", GIVEN)]
    figure: Quantity
    """The entry's own."""
    other: Quantity
    text: str
    """One line."""
