"""A finding with the trial of its remedy: what is wrong, how it is known, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wirespeed.results.findings import (
    AS_IT_IS,
    COSTS,
    Conditions,
    Cost,
    Improvement,
    RecordedFinding,
    RemedyPoint,
)

__all__ = ["Conditions", "Cost", "Finding", "Improvement", "RemedyPoint", "Trial", "ordered"]

TRIAL_SIZES = (8, 64 << 10, 16 << 20)
"""Bytes of the messages of a trial; the last size shows whether copies go through the host."""


class Trial(Struct, frozen=True):
    """Safe trial of a remedy: the same path before and after."""

    path: str
    sizes: Sequence[int]
    after: Conditions = AS_IT_IS
    """Conditions with the remedy; with options, each option's own conditions instead."""
    before: Conditions = AS_IT_IS
    left: str = ""
    """Path that remains where this one does not work at all."""
    pattern: Sequence[str] = ()
    """Words of another pattern than a ping-pong of two ranks."""


class Finding(RecordedFinding, frozen=True):
    """A finding, with what is not recorded."""

    trial: Trial | None = None


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Most expensive first; within a class, the largest measured improvement first. Refuted ones are last."""
    order = list(COSTS)

    def key(finding: Finding) -> tuple[bool, int, float]:
        gain = finding.best.ratio if finding.best else None
        return finding.refuted, order.index(finding.measured_cost), -(gain or 0.0)

    return sorted(findings, key=key)
