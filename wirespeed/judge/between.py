"""Findings that two curves of one text show: direct and staged, near and far, one way and both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter, itemgetter

from wirespeed.grouping import ends, grouped
from wirespeed.judge.given import Curve, Finding, finding
from wirespeed.judge.moments import PEAK, are_near, bits, near_sizes, rate_of
from wirespeed.judge.series import STAGED, is_collective, is_wrong, on_gpu, series_of, times, usable
from wirespeed.units import counted, format_rate, format_seconds, format_size

Rated = Sequence[tuple[Curve, float]]
"""Curves with their largest sizes' rates, without copies inside a device."""
Links = Mapping[tuple[str, str], str]
"""(GPU, GPU) -> 'PIX'."""
SLOWER = 1.1
"""Ratio of a rate that should be lower to one that should be higher."""
BOTH_WAYS = 0.8
"""Rate of both ways over that of one way, at most: less means that they hinder each other."""
LONG = 64 << 10
"""Bytes from which a rate is that of wires, not of calls."""
DIFFER = 1.5
"""Ratio of two tables of one test, or of host memory's rate to GPU memory's, that is no matter of chance."""
LAUNCHES = 3.3
"""Ratio of two launches, at most: of host memory on a virtual machine (results/default/h200-x2-apart-*)."""
ALIKE = 1.1
"""Ratio of peaks that are alike, at most."""
ODD = 0.6
"""Rate of a GPU's copies over the quickest one's, at most: from the other socket's memory it is 0.7."""
ODD_PAIR, FEWEST_ALIKE = 0.8, 6
"""Rate of a pair of GPUs over the quickest one's, at most, where at least so many are alike."""
SUM, MOST_PAIRS = (1.9, 2.1), 300
"""Ratio of a sum to one of its parts, and curves of which each is held against each."""
NEAR = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")
"""Nearest first, as nvidia-smi topo -m calls them."""
REPEATED = ("bandwidth", "both-ways", "sendrecv", "exchange")
"""Operations of which two tables of the same size are alike."""
_PEER = re.compile(r"P2P ?= ?(Enabled|Disabled)", re.IGNORECASE)


def between(curves: Sequence[Curve], links: Links | None = None) -> Iterator[Finding]:
    """`links`: as far as the text tells."""
    rated = [(curve, rate) for curve in curves if curve.operation != "local-copy" and (rate := _rate(curve))]
    yield from _staged_faster(rated)
    yield from _staged_faster_by_nccl(rated)
    yield from _near_slower(rated, links or {})
    yield from _odd_one(curves)
    yield from _odd_pair(rated, links or {})
    yield from _both_ways(rated)
    yield from _same_test(rated)
    yield from _same_times(curves)
    yield from _gpu_slower(rated)
    yield from _one_stalls(curves)
    yield from _near_sizes(curves)
    yield from _sum(rated)


def _rate(curve: Curve) -> float | None:
    """The largest size's rate."""
    for point in sorted(curve.points, key=attrgetter("bytes"), reverse=True):
        if (rate := rate_of(point)) and not is_wrong(point):
            return rate
    return None


def _span(rates: Iterable[float]) -> str:
    """'12.2 to 24.5 GB/s'."""
    return f"{ends([*rates], format_rate)} GB/s"


def _pair(curve: Curve) -> str:
    return " ".join(sorted(curve.pair.split()))


def _test(curve: Curve) -> tuple[str, str, str, str]:
    """Equal of what one test measures between different ends."""
    return curve.tool, curve.name, curve.direction, curve.placement


def _link(curve: Curve, links: Links) -> str:
    """Kind of link between a pair of GPUs; '': not known."""
    ends = curve.pair.split()
    known = (links.get((ends[at], ends[at - 1])) for at in (0, 1)) if len(ends) == 2 else ()
    return next(filter(None, known), "")


def _staged_faster(rated: Rated) -> Iterator[Finding]:
    """Direct copies between GPUs that are slower than those through the host."""
    pairs: dict[tuple[str, str], dict[str, list[float]]] = {}
    for curve, rate in rated:
        if found := _PEER.search(f"{curve.name} {curve.placement}"):
            pairs.setdefault((curve.direction, curve.pair), {}).setdefault(found[1].lower(), []).append(rate)
    both = [way for way in pairs.values() if len(way) == 2]
    slower = [way for way in both if min(way["disabled"]) > SLOWER * max(way["enabled"])]
    if slower:
        direct, staged = (_span(chain(*(way[name] for way in slower))) for name in ("enabled", "disabled"))
        whose = "for every pair" if len(slower) == len(both) else f"for {len(slower)} of {len(both)} pairs"
        yield finding(
            "staged-faster", 2, f"direct ({direct}) is slower than through the host ({staged}), {whose}"
        )


def _staged_faster_by_nccl(rated: Rated) -> Iterator[Finding]:
    """The same of an operation of NCCL, measured with direct copies and without."""
    tests: dict[tuple[str, str, int | None], dict[bool, list[float]]] = {}
    for curve, rate in rated:
        if curve.direction == "bus":
            ways = tests.setdefault((curve.tool, curve.name, curve.ranks), {})
            ways.setdefault(STAGED in curve.placement, []).append(rate)
    for (_, name, _), ways in tests.items():
        if len(ways) == 2 and min(ways[True]) > SLOWER * max(ways[False]):
            seen = f"direct ({_span(ways[False])}) is slower than through the host ({_span(ways[True])})"
            yield finding("staged-faster", 2, f"{name}: {seen}, which {STAGED} forces")


def _near_slower(rated: Rated, links: Links) -> Iterator[Finding]:
    """Pairs below one switch that are slower than pairs far apart, by the same test."""
    tests: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for curve, rate in rated:
        if kind := next(filter(_link(curve, links).startswith, NEAR), None):
            test = tests.setdefault((curve.tool, curve.name, curve.direction), {})
            test.setdefault(kind, []).append(rate)
    for (_, name, _), rates in tests.items():
        for near, far in pairwise(kind for kind in NEAR if kind in rates):
            if min(rates[far]) > SLOWER * max(rates[near]):
                slow, fast = _span(rates[near]), _span(rates[far])
                seen = f"{name}: {near} pairs ({slow}) are slower than {far} pairs ({fast})"
                yield finding("near-slower", 2, f"{seen}, which are farther apart", near=near)


def odd_copies(curves: Iterable[Curve]) -> dict[tuple[str, ...], list[Curve]]:
    """Of each test of copies from or to the host, those that are slower than others, slowest first."""
    copies = (one for one in curves if one.operation == "copy" and one.memory in ("H D", "D H") and one.pair)
    tests = grouped(((*_test(one), one.memory), (rate, one)) for one in copies if (rate := _rate(one)))
    found: dict[tuple[str, ...], list[Curve]] = {}
    for test, rated in tests.items():
        best = max(rate for rate, _ in rated)
        odd = sorted((row for row in rated if row[0] < ODD * best), key=itemgetter(0))
        if odd and 2 * len(odd) <= len(rated):
            found[test] = [curve for _, curve in odd]
    return found


def _odd_one(curves: Sequence[Curve]) -> Iterator[Finding]:
    """GPUs whose copies from or to the host are slower than the other GPUs' in the same test."""
    tests = odd_copies(curves)
    for test, odd in list(tests.items())[:1]:
        slowest = odd[0]
        best = max(_rate(curve) or 0.0 for curve in curves if (*_test(curve), curve.memory) == test)
        gpu = next((word for word in slowest.pair.split() if word.startswith("GPU")), slowest.pair)
        more = f", and {len(odd) - 1} more like it" if len(odd) > 1 else ""
        others = f" (and in {counted(len(tests) - 1, 'more test')})" if len(tests) > 1 else ""
        seen = (
            f"{slowest.name}: {gpu} has {format_rate(_rate(slowest) or 0.0)} GB/s{more}, others up to "
            f"{format_rate(best)} GB/s{others}"
        )
        yield finding("odd-one", 2, seen, gpu=gpu.removeprefix("GPU"))


def _odd_pair(rated: Rated, links: Links) -> Iterator[Finding]:
    """GPUs that copy slower to and from all others, or a pair that does, where all others are alike."""
    tests: dict[tuple[str, ...], dict[tuple[str, ...], tuple[float, str]]] = {}
    for curve, rate in rated:
        ends = tuple(curve.pair.split())
        direct = curve.memory == "D D" and "P2P=Disabled" not in curve.name
        if curve.operation == "copy" and direct and len(ends) == 2:
            tests.setdefault(_test(curve), {})[ends] = rate, _link(curve, links)
    for (_, name, *_), found in tests.items():
        rates = {ends: rate for ends, (rate, _) in found.items()}
        best = max(rates.values())
        slow = {ends: rate for ends, rate in rates.items() if rate < ODD_PAIR * best}
        alike = sum(rate > best / ALIKE for rate in rates.values())
        pairs = {tuple(sorted(ends)) for ends in slow}
        shared = set.intersection(*map(set, slow)) if slow else set()
        one_kind = len({link for _, link in found.values() if link}) <= 1
        is_odd = one_kind and slow and alike >= FEWEST_ALIKE and alike + len(slow) == len(rates)
        if is_odd and (shared or len(pairs) == 1):
            gpu = min(sorted(shared), key=lambda gpu: -sum(gpu in ends for ends in slow))
            whose = gpu if len(pairs) > 1 else " and ".join(sorted(pairs.pop()))
            seen = f"{name}: {whose} {_span(slow.values())}, the other pairs {format_rate(best)} GB/s"
            yield finding("odd-pair", 2, seen, gpu=gpu.removeprefix("GPU"))
            return


def _both_ways(rated: Rated) -> Iterator[Finding]:
    """Both ways together that are slower than one way alone, by the same tool in the same way."""
    one_way: dict[tuple[str, str, str, bool], float] = {}
    both: list[tuple[float, Curve]] = []
    for curve, rate in rated:
        if 0 <= curve.points[-1].bytes < LONG or "P2P=Disabled" in curve.name:
            continue
        if curve.direction == "one" and curve.operation in ("bandwidth", "copy"):
            one_way[_way(curve)] = max(rate, one_way.get(_way(curve), 0.0))
        elif curve.direction == "both":
            both.append((rate, curve))
    shares = [(rate / one_way[_way(curve)], rate, curve) for rate, curve in both if _way(curve) in one_way]
    share, rate, curve = min(shares, key=itemgetter(0), default=(1.0, 0.0, Curve()))
    if share < BOTH_WAYS:
        whose = f"{curve.pair}: " if curve.pair else ""
        alone = format_rate(one_way[_way(curve)])
        seen = f"{whose}both ways together {format_rate(rate)} GB/s, one way alone {alone} GB/s"
        yield finding("both-ways", 2, seen, curve)


def _same_test(rated: Rated) -> Iterator[Finding]:
    """One test with several tables, between which a size of both differs much: to know, and by more than
    launches of any path differ by, to blame."""
    tables: dict[tuple[str, ...], list[dict[int, float]]] = {}
    for curve, _ in rated:
        if len(curve.pair.split()) < 2 and curve.operation in REPEATED:
            key = (curve.tool, curve.name, curve.memory, str(curve.ranks), curve.pair, curve.placement)
            rates = {point.bytes: rate for point in curve.points if (rate := rate_of(point))}
            tables.setdefault(key, []).append(rates)
    for (_, name, *_), group in tables.items():
        largest = max(set.intersection(*map(set, group)), default=0)
        if len(group) > 1 and largest >= LONG:
            at = [rates[largest] for rates in group]
            ratio = max(at) / min(at)
            which, other = (f"table {at.index(rate) + 1}" for rate in (max(at), min(at)))
            seen = (
                f"{name}, {len(group)} tables: at {format_size(largest)} {which} has {format_rate(max(at))} "
                f"GB/s, {other} {format_rate(min(at))} GB/s, {times(ratio)} times apart"
            )
            if ratio > LAUNCHES:
                yield finding("same-test", 2, f"{seen}: more than launches of one test lie apart")
            elif ratio > DIFFER:
                yield finding("same-test", 1, seen)


def _same_times(curves: Sequence[Curve]) -> Iterator[Finding]:
    """Tables of one ping-pong or operation of all ranks that differ at a size by more than launches do.

    It is a note: one table may be between hosts, another within one.
    """
    tables: dict[tuple[str, ...], list[dict[int, float]]] = {}
    for curve in curves:
        if (curve.operation == "pingpong" or is_collective(curve)) and len(curve.pair.split()) < 2:
            key = (curve.tool, curve.name, curve.memory, str(curve.ranks), curve.pair, curve.placement)
            seconds = {row.bytes: row.seconds or 0.0 for row in reversed(curve.points) if usable(row.seconds)}
            tables.setdefault(key, []).append(seconds)
    for (_, name, *_), group in tables.items():
        common = set.intersection(*map(set, group)) if len(group) > 1 else set()
        ratio, size = max(((_apart(each[size] for each in group), size) for size in common), default=(1.0, 0))
        if ratio > LAUNCHES:
            at = [each[size] for each in group]
            which, other = (f"table {at.index(time) + 1}" for time in (max(at), min(at)))
            seen = (
                f"{name}, {len(group)} tables: {format_size(size)} takes {format_seconds(max(at))} in "
                f"{which}, {format_seconds(min(at))} in {other}, {times(ratio)} times apart"
            )
            yield finding("same-test", 1, seen)


def _apart(seconds: Iterable[float]) -> float:
    ends = sorted(seconds)
    return ends[-1] / ends[0]


def _gpu_slower(rated: Rated) -> Iterator[Finding]:
    """Over one NIC, GPU memory that is slower than host memory."""
    tests: dict[tuple[str, str, str], dict[bool, float]] = {}
    for curve, rate in rated:
        messages = curve.tool == "perftest" or curve.memory in ("H H", "D D")
        if messages and curve.operation in ("bandwidth", "both-ways") and curve.points[-1].bytes >= LONG:
            nic = f"{curve.tool} {curve.pair.split()[-1] if curve.pair else ''}".strip()
            ways = tests.setdefault((curve.name, curve.direction, nic), {})
            ways[on_gpu(curve)] = max(rate, ways.get(on_gpu(curve), 0.0))
    for (name, _, nic), ways in tests.items():
        if len(ways) == 2 and ways[False] > DIFFER * ways[True]:
            which = f"{name}, {nic.partition(' ')[2]}" if nic.startswith("perftest ") else name
            seen = f"GPU memory {format_rate(ways[True])} GB/s, host memory {format_rate(ways[False])} GB/s"
            yield finding("gpu-slower", 2, f"{which}: {seen}")


def _way(curve: Curve) -> tuple[str, str, str, bool]:
    return curve.tool, curve.memory, _pair(curve), "kernels" in curve.placement


def _one_stalls(curves: Sequence[Curve]) -> Iterator[Finding]:
    """Of several NICs with alike peaks, one whose average is lower."""
    groups: dict[tuple[str, str, str, int], list[tuple[float, float, Curve]]] = {}
    for curve in curves:
        for point in curve.points[-1:]:
            peak, average = point.peak, point.average or point.rate
            if peak and average and usable(peak) and usable(average):
                key = (curve.tool, curve.name, curve.memory, point.bytes)
                groups.setdefault(key, []).append((average, peak, curve))
    for rows in groups.values():
        fast, slow = max(rows, key=itemgetter(0)), min(rows, key=itemgetter(0))
        if fast[0] <= PEAK * slow[0]:
            continue
        name, slower = (row[2].pair or f"table {rows.index(row) + 1}" for row in (fast, slow))
        if max(row[1] for row in rows) < ALIKE * min(row[1] for row in rows):
            seen = (
                f"{name} has {bits(fast[0])} on average and {slower} {bits(slow[0])}, though their "
                f"peaks are alike ({bits(fast[1])} and {bits(slow[1])})"
            )
            yield finding("one-stalls", 2, seen, slow[2], slow=slower)
        elif fast[1] > PEAK * slow[1] and slow[1] < ALIKE * slow[0]:
            seen = f"{name} has {bits(fast[0])} and {slower} {bits(slow[0])}, at its peak no more"
            yield finding("one-slower", 1, seen, slow[2], slow=slower)


def _near_sizes(curves: Sequence[Curve]) -> Iterator[Finding]:
    sizes = sorted({point.bytes for curve in curves for point in curve.points if point.bytes > 0})
    if not any(are_near(small, large) for small, large in pairwise(sizes)):
        return
    groups = grouped(
        ((curve.tool, curve.operation, curve.memory, curve.pair, series.in_place), series)
        for curve in curves
        for series in series_of(curve)
    )
    told: set[str] = set()
    for group in groups.values():
        for found in near_sizes(group):
            # In place and out of place, and beside either neighbour, it is the same size.
            if (size := found.seen.partition(" takes")[0]) not in told:
                told.add(size)
                yield found


def _sum(rated: Rated) -> Iterator[Finding]:
    """Another tool's figure that is twice as high because it counts both directions."""
    if len({curve.tool for curve, _ in rated}) < 2:
        return
    rated = rated[:MOST_PAIRS]
    for both, double in (row for row in rated if row[0].direction == "both"):
        for one, single in (row for row in rated if row[0].direction == "one"):
            alike = both.memory == one.memory and (_pair(both) == _pair(one) or not (both.pair and one.pair))
            ratio = double / single
            if both.tool != one.tool and alike and SUM[0] < ratio < SUM[1]:
                seen = (
                    f"{both.tool}'s {both.name} ({format_rate(double)} GB/s) is {times(ratio)} times "
                    f"{one.tool}'s {one.name} ({format_rate(single)} GB/s)"
                )
                yield finding("sum", 1, seen, both)
                return
