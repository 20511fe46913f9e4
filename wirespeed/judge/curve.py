"""All findings about curves, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from wirespeed.judge.between import Links, between, odd_copies
from wirespeed.judge.given import Curve, Finding
from wirespeed.judge.moments import few_repetitions, in_place_apart, peaks, two_speeds, uneven, unsteady
from wirespeed.judge.possible import alone, driver_copies, floor, impossible, narrow, slow_message, wrong_data
from wirespeed.judge.series import series_of
from wirespeed.judge.shape import shape
from wirespeed.units import counted

BY_INTERRUPTION = ("cliff", "hump", "fall", "uneven", "scattered")
"""Kinds that few repetitions may explain."""
OF_A_MOMENT = ("in-place", "hump", "scattered")


def find(
    curves: Sequence[Curve], links: Links | None = None, limits: Mapping[int, float] | None = None
) -> list[Finding]:
    """`limits`: number of a curve -> the most that its rate can be over its wire, bytes per second."""
    known = limits or {}
    found = [finding for at, curve in enumerate(curves) for finding in of_curve(curve, known.get(at))]
    together = list(between(curves, links))
    if any(finding.kind == "one-stalls" for finding in together):
        found = [finding for finding in found if finding.kind != "peak-average"]
    odd = {id(curve) for group in odd_copies(curves).values() for curve in group}
    found = [finding for finding in found if finding.kind != "narrow" or id(finding.curve) not in odd]
    return ordered([*_once(found), *together])


def _once(found: Iterable[Finding]) -> Iterator[Finding]:
    """Of the pairs of a matrix that have the same kind of finding, the first stands for all."""
    groups: dict[tuple[str, str, str, int], list[Finding]] = {}
    for at, one in enumerate(found):
        curve = one.curve or Curve()
        groups.setdefault((one.kind, curve.tool, curve.name, 0 if curve.pair else at + 1), []).append(one)
    for first, *others in groups.values():
        pair = first.curve.pair if first.curve else ""
        whose = f"{pair}: " if pair and pair not in first.seen else ""
        more = f"; {counted(len(others), 'more pair')} like it" if others else ""
        yield replace(first, seen=f"{whose}{first.seen}{more}")


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Worst first; of equal ones those that one interruption cannot explain."""

    def key(finding: Finding) -> tuple[bool, bool, int, bool]:
        return not finding.impossible, not finding.wrong, -finding.severity, finding.kind in OF_A_MOMENT

    return sorted(found, key=key)


def of_curve(curve: Curve, limit: float | None = None) -> list[Finding]:
    """Findings of one curve by itself, worst first."""
    beyond = list(impossible(curve, limit))
    if beyond and "no figure of this table" in beyond[0].seen:
        return beyond
    if by_itself := list(alone(curve)):
        return by_itself
    speeds = list(two_speeds(curve)) or list(unsteady(curve))
    found = [
        *wrong_data(curve),
        *beyond,
        *speeds,
        *peaks(curve),
        *in_place_apart(curve),
        *slow_message(curve),
        *floor(curve),
        *driver_copies(curve),
        *narrow(curve, limit),
    ]
    # Figures that cannot be have no shape.
    found += [*([] if speeds or beyond else of_shape(curve)), *uneven(curve)]
    if any(finding.kind in BY_INTERRUPTION for finding in found):
        found += [finding for series in series_of(curve)[:1] for finding in few_repetitions(series)]
    return ordered(found)


def of_shape(curve: Curve) -> Iterator[Finding]:
    """Cliffs, humps and falls. Of a kind that stands in place and out of place, those of the first."""
    seen: set[str] = set()
    for series in series_of(curve):
        found = [finding for finding in shape(series) if finding.kind not in seen]
        yield from found
        seen |= {finding.kind for finding in found}
