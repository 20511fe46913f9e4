"""What a wire's counters rose by, of a payload of 1000 bytes each way."""

from __future__ import annotations

from wirespeed.evidence.verdict import Counted

DUE = 1000


def wire(kind: str, moved: int, received: int | None = None, *, noise: int = 0, name: str = "w") -> Counted:
    """One whose counters step by nothing; noise: of sent and received together."""
    back = moved if received is None else received
    return Counted(kind, name, "n1", moved, back, noise, 0, None, DUE, DUE)
