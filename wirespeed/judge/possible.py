"""Figures that are none: wrong data, more than any wire or memory carries, less time than anything takes."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.judge.given import Curve, Finding, Point, finding
from wirespeed.judge.moments import rate_of
from wirespeed.judge.series import SEPARATE, is_collective, is_wrong, on_gpu, seconds_words, times, usable
from wirespeed.units import format_rate, format_size

MEMORY = 20e12
"""Bytes per second, beyond the memory of any device: reads and writes of the fastest add up to 16e12."""
WIRE, HOST_WIRE = 2.5e12, 1e12
"""The same between two processes, one way: NVLink 6 has 1.8e12; CPU cores exchange less than HOST_WIRE."""
MESSAGES = ("pingpong", "bandwidth", "both-ways", "sendrecv", "exchange", "rma")
BETWEEN_CORES_S = 20e-9
"""Less than a message between two processes takes: a cache line goes from core to core in 30 ns or more."""
LAUNCH_S = 0.5e-6
"""Less than a call takes that starts work on a GPU."""
LONGEST_S = 86400
"""No test measures one size so long."""
FLOOR_S, FLAT, MORE = 2e-3, 2.0, 8
"""Time of an operation of all ranks that no network within a site needs for its smallest size, if it takes
less than FLAT times as long for MORE times the bytes."""
TOLERANCE = 1.02
NARROW = 0.6
"""Share of its slot's rate below which a copy has fewer lanes, or an older generation."""
SMALL, SLOW_S, SLOW_RDMA_S = 1024, 200e-6, 100e-6
"""Bytes of a small message, and seconds that it takes over long distances alone; the same by RDMA."""
DRIVER_COPY_S = 8e-6
"""More than a first byte costs that a CPU or a NIC reads by itself; a copy by the driver takes some 10 us."""
RDMA = ("ucx", "perftest", "ib_", "fabtests")
MANY = 0.5
"""Share of the figures that are impossible, from which on none of the curve can be used."""


def wrong_data(curve: Curve) -> Iterator[Finding]:
    """Figures of transfers whose data were wrong."""
    failed = [point for point in curve.points if is_wrong(point)]
    if not failed:
        return
    ways = {True: " in place", False: " out of place", None: ""}
    sizes = ", ".join(f"{_size(point)}{ways[point.in_place]} ({point.wrong:.3g})" for point in failed[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    sound = len(curve.points) - len(failed)
    rest = f"; {sound} other{'s stand' if sound > 1 else ' stands'}" if sound else ""
    whose = "their figures are" if len(failed) > 1 else "its figure is"
    seen = f"wrong data at {sizes}{more}: {whose} none{rest}"
    yield finding("wrong-data", 3, seen, curve)


def alone(curve: Curve) -> Iterator[Finding]:
    """An operation of all ranks that has one, or several jobs that print one table."""
    if SEPARATE in curve.placement:
        jobs = curve.placement.rpartition(", ")[2]
        seen = f"rank 0 is listed several times: {jobs} ran side by side, of {curve.ranks} ranks each"
        yield finding("alone", 2, seen, curve)
    elif curve.ranks == 1 and (is_collective(curve) or "ccl" in curve.tool):
        seen = "one rank by itself: no byte went to another GPU, so that no figure of this table is a wire's"
        yield finding("alone", 2, seen, curve)


def impossible(curve: Curve, limit: float | None = None) -> Iterator[Finding]:
    """`limit`: the most that the rate can be over its wire, bytes per second."""
    reasons = [(point, reason) for point in curve.points if (reason := why_impossible(curve, point, limit))]
    if not reasons:
        return
    point, reason = max(reasons, key=lambda item: rate_of(item[0]) or 0.0)
    seen = f"impossible: at {_size(point)}, {reason}"
    if len(reasons) > 1:
        seen += f"; {len(reasons)} figures in all"
    if not any(why_impossible(curve, point) for point, _ in reasons):
        # Another wire may carry as much.
        yield finding("impossible", 3, seen, curve, "impossible-wire")
        return
    if (count := point.repetitions) and _of_all(point):
        seconds = seconds_words((point.seconds or 0.0) / count)
        seen += ": no figure of this table can be used" * spoils_all(curve, len(reasons))
        yield finding("impossible", 3, seen, curve, "impossible-sum", count=f"{count}", seconds=seconds)
        return
    if spoils_all(curve, len(reasons)):
        seen += ": no figure of this table can be used"
    rate = rate_of(point)
    words = {"count": f"{count}", "rate": format_rate(rate / count) if rate and count else ""}
    # Of stretches, the number of iterations is that since the beginning.
    each = words["rate"] and count != 1 and point.overall is None
    advice = "impossible-iterations" if each else "impossible"
    yield finding("impossible", 3, seen, curve, advice, **words)


def spoils_all(curve: Curve, impossible_figures: int) -> bool:
    figures = sum(1 for point in curve.points if usable(rate_of(point)) or usable(point.seconds))
    return impossible_figures > MANY * figures


def why_impossible(curve: Curve, point: Point, limit: float | None = None) -> str:
    """In words; '': it may be true."""
    rate, seconds = rate_of(point), point.seconds
    if _of_all(point):
        days = (seconds or 0.0) * (point.repetitions or 0) / 86400
        return f"{point.repetitions} iterations of {seconds_words(seconds or 0.0)} each take {days:.3g} days"
    if rate and rate > MEMORY:
        return f"{format_rate(rate)} GB/s is beyond every memory and wire"
    if rate and rate > (most := _between_two(curve)):
        carried = f"what any wire carries between two processes ({format_rate(most)} GB/s)"
        return f"{format_rate(rate)} GB/s is beyond {carried}"
    if rate and limit and rate > TOLERANCE * limit:
        ratio = times(rate / limit)
        return f"{format_rate(rate)} GB/s is {ratio} times what its wire carries ({format_rate(limit)} GB/s)"
    if point.bytes <= 0 or (curve.ranks or 2) < 2 or _pipelined(curve):
        return ""
    if seconds == 0 and not rate:
        return "a time of 0 is none"
    if seconds is None or not usable(seconds):
        seconds = point.bytes / rate if rate else None
    if seconds and seconds < BETWEEN_CORES_S:
        return f"{seconds_words(seconds)} is less than a cache line takes between two cores"
    if seconds and seconds < LAUNCH_S and on_gpu(curve) and "ccl" in curve.tool.lower():
        return f"{seconds_words(seconds)} is less than the launch of a kernel takes"
    return ""


def _of_all(point: Point) -> bool:
    """Is it the time of all iterations, given as that of one?"""
    return bool(point.seconds and point.repetitions and point.seconds * point.repetitions > LONGEST_S)


def _between_two(curve: Curve) -> float:
    """The most between two processes that exchange messages; MEMORY of anything else."""
    if curve.operation not in MESSAGES or (curve.ranks or 2) != 2:
        return MEMORY
    one_way = HOST_WIRE if curve.memory == "H H" else WIRE
    return one_way * (2 if curve.direction == "both" else 1)


def _pipelined(curve: Curve) -> bool:
    """Many messages at once, of many pairs perhaps: the time of one of them is no time that passes."""
    return curve.operation in ("copy", "local-copy") or "pairs" in curve.placement


def narrow(curve: Curve, limit: float | None) -> Iterator[Finding]:
    """Copies between pinned host memory and a GPU that are far below what its slot carries."""
    pinned = (
        curve.memory in ("H D", "D H")
        and curve.operation == "copy"
        and not any(words in curve.placement for words in ("pageable", "at once"))
    )
    rates = [rate for point in curve.points if (rate := rate_of(point))]
    if limit and pinned and curve.direction == "one" and rates and max(rates) < NARROW * limit:
        share = f"{100 * max(rates) / limit:.0f} % of {format_rate(limit)} GB/s"
        yield finding(
            "narrow", 1, f"{format_rate(max(rates))} GB/s are {share}, which the slot carries", curve
        )


def slow_message(curve: Curve) -> Iterator[Finding]:
    """Small messages that take far longer than any network within a site needs."""
    if curve.operation not in ("pingpong", "latency", "rma"):
        return
    rdma = any(word in curve.tool.lower() for word in RDMA)
    small = [point for point in curve.points if usable(point.seconds) and _bytes(point) <= SMALL]
    seconds = sorted(point.seconds or 0.0 for point in small)
    if not small or seconds[0] <= (SLOW_RDMA_S if rdma else SLOW_S):
        return
    if all(point.bytes < 0 for point in small):
        most = max(map(_bytes, small))
        size = "a few bytes" + (f" (by its rates at most some {float(f'{most:.1g}'):.0f} B)" if most else "")
    else:
        size = f"up to {_size(max(small, key=lambda point: point.bytes))}"
    seen = f"{' to '.join(dict.fromkeys(map(seconds_words, (seconds[0], seconds[-1]))))} for {size}"
    if rdma:
        seen += f": {times(seconds[0] / 5e-6)} to {times(seconds[-1] / 1e-6)} times the 1 to 5 us of a NIC"
    advice = "slow-peer" if "P2P=Enabled" in curve.name else "slow-host" if curve.memory == "H H" else "slow"
    yield finding("slow", 2, seen, curve, advice)


def floor(curve: Curve) -> Iterator[Finding]:
    """An operation of all ranks that takes long, whatever its size."""
    rows = sorted({point.bytes: point for point in reversed(curve.points)}.items())
    rows = [(size, point) for size, point in rows if size > 0 and usable(point.seconds)]
    if not is_collective(curve) or not rows:
        return
    (size, first), *larger = rows
    seconds = first.seconds or 0.0
    flat = [
        (large, point.seconds or 0.0)
        for large, point in larger
        if large >= MORE * size and (point.seconds or 0.0) < FLAT * seconds
    ]
    if seconds > FLOOR_S and flat:
        large, longer = flat[-1]
        seen = (
            f"{format_size(size)} takes {seconds_words(seconds)}, {format_size(large)} "
            f"{seconds_words(longer)}: {times(longer / seconds)} times as long for "
            f"{times(large / size)} times the bytes"
        )
        yield finding("floor", 2, seen, curve, seconds=seconds_words(min(seconds, longer)))


def driver_copies(curve: Curve) -> Iterator[Finding]:
    """Messages of GPU memory of which the first byte costs far more than an empty message."""
    times = {point.bytes: point.seconds for point in curve.points if usable(point.seconds)}
    empty = times.get(0)
    first = min((size for size in times if 0 < size <= SMALL), default=0)
    if curve.operation != "pingpong" or not on_gpu(curve) or not empty or not first:
        return
    more = (times[first] or 0.0) - empty
    if DRIVER_COPY_S < more < SLOW_RDMA_S:
        seen = f"0 B take {seconds_words(empty)}, {format_size(first)} {seconds_words(empty + more)}"
        yield finding("driver-copy", 1, f"{seen}: {seconds_words(more)} for the first byte", curve)


def _bytes(point: Point) -> float:
    """Of a row without a size, by its rate and time."""
    return point.bytes if point.bytes >= 0 else (point.rate or 0.0) * (point.seconds or 0.0)


def _size(point: Point) -> str:
    return format_size(point.bytes) if point.bytes >= 0 else "an unknown size"
