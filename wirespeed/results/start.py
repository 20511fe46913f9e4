"""Beginning of the samples that a barrier precedes, on all ranks."""

from __future__ import annotations

from wirespeed.results.parts import Amount, RecordPart, Whole

MUCH_SKEW = 0.05
"""Share of a figure, above which it is said how far apart the ranks began."""


class Start(RecordPart, frozen=True, kw_only=True):
    """Common beginning of samples, and the distance between the ranks of a host."""

    by: str = ""
    """agreed time: at one moment, from which every rank's sample counts; else the barrier that they left."""
    samples: Whole = 0
    """Number of samples that were looked at."""
    skew_s: Amount | None = None
    """Median over the samples of how long after the agreed moment, or after the first rank, the last rank of
    a host began; null: not known."""
    skew_max_s: Amount | None = None
    """The largest."""
    why: str | None = None
    """Why the ranks of a host could not agree on a moment."""
