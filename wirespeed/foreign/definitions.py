"""Definitions of tools' figures, in words."""

from __future__ import annotations

from wirespeed.foreign.shapes import Curve

_TIMES = {
    "pingpong": "one way, half of a round trip",
    "sendrecv": "one iteration, average of the ranks",
    "exchange": "one iteration, average of the ranks",
    "barrier": "one barrier, average of the ranks",
    "rma": "one operation until its completion",
}
_RATES = {
    ("pingpong", "one"): "bytes of one message over its one-way time",
    ("both-ways", "both"): "the sum of both directions: halve it for one direction",
    ("sendrecv", "both"): "bytes sent and received, so both directions: halve it for one direction",
    (
        "exchange",
        "both",
    ): "two messages out and two in, so both directions: halve it for one direction",
    ("groups", "both"): "what one group sends and receives, so both directions: halve it for one direction",
    ("local-copy", "one"): "each byte copied counts once, though it is read and written",
    ("local-copy", "both"): "bytes read and bytes written together",
    ("copy", "both"): "the sum of both directions: halve it for one direction",
}
_DIRECTIONS = {
    "one": "bytes sent in one direction over time",
    "unknown": "as the tool counts them, which the text does not say",
    "both": "the sum of both directions: halve it for one direction",
    "algorithm": "algorithm bandwidth: a rank's bytes over time",
    "bus": "bus bandwidth: algorithm bandwidth times the share that must move, comparable with a link",
}


_MEMORY = {"H": "host", "D": "device", "M": "managed memory"}


def between(memory: str) -> str:
    """'host to device' of 'H D'."""
    return " to ".join(_MEMORY.get(end, end) for end in memory.split())


def definition(curve: Curve) -> str:
    """'time: one way, half of a round trip; GB/s: ...', as far as the curve has them."""
    parts = []
    if any(point.seconds is not None for point in curve.points):
        parts.append(f"time: {_TIMES.get(curve.operation, 'one operation')}")
    if rates_of(curve):
        words = _RATES.get((curve.operation, curve.direction), _DIRECTIONS.get(curve.direction, ""))
        words += ", of all pairs together" * ("pairs" in curve.placement)
        printed = curve.unit_words and any(point.rate is not None for point in curve.points)
        unit = f"the tool's {curve.unit_words}, " if printed and curve.unit_words != "GB = 1e9 B" else ""
        parts.append(f"GB/s: {words} ({unit}GB = 1e9 B)")
    return "; ".join(parts)


def entry_definition(curve: Curve) -> str:
    """The same as our figures have it: 'one way: half of a round trip; GB/s: ...'."""
    if any(point.seconds is not None for point in curve.points):
        label, _, rest = _TIMES.get(curve.operation, "one operation").partition(", ")
        time = f"{label}: {rest or 'its time'}"
    else:
        time = "a message: its bytes over the bandwidth"
    rates = definition(curve).partition("GB/s: ")[2]
    return f"{time}; GB/s: {rates}" if rates else time


def rate_of(curve: Curve, index: int) -> float | None:
    """Bytes per second of a point: as printed, or of a ping-pong's time."""
    point = curve.points[index]
    if point.rate is not None:
        return point.rate
    if curve.operation == "pingpong" and curve.direction == "one" and point.seconds and point.bytes > 0:
        return point.bytes / point.seconds
    return None


def rates_of(curve: Curve) -> list[float]:
    """Rates of all points that have one."""
    found = (rate_of(curve, index) for index in range(len(curve.points)))
    return [rate for rate in found if rate is not None]
