"""Findings that two curves of one text show: direct and staged, near and far, one way and both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

from wirespeed.judge.given import Curve, Finding, finding
from wirespeed.judge.moments import PEAK, are_near, bits, near_sizes, rate_of
from wirespeed.judge.series import Series, is_wrong, on_gpu, series_of, times, usable
from wirespeed.units import format_rate, format_size

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
_PEER = re.compile(r"P2P ?= ?(Enabled|Disabled)", re.IGNORECASE)


def between(curves: Sequence[Curve], links: Links | None = None) -> Iterator[Finding]:
    """`links`: as far as the text tells."""
    rated = _rated(curves)
    yield from _staged_faster(rated)
    yield from _near_slower(rated, links or {})
    yield from _odd_one(rated)
    yield from _odd_pair(rated, links or {})
    yield from _both_ways(rated)
    yield from _same_test(rated)
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


def _rated(curves: Sequence[Curve]) -> Rated:
    return [(curve, rate) for curve in curves if curve.operation != "local-copy" and (rate := _rate(curve))]


def _span(rates: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(format_rate(rate) for rate in (min(rates), max(rates))))


def _pair(curve: Curve) -> str:
    return " ".join(sorted(curve.pair.split()))


def _staged_faster(rated: Rated) -> Iterator[Finding]:
    """Direct copies between GPUs that are slower than those through the host."""
    pairs: dict[tuple[str, str], dict[str, list[float]]] = {}
    for curve, rate in rated:
        if found := _PEER.search(f"{curve.name} {curve.placement}"):
            pairs.setdefault((curve.direction, curve.pair), {}).setdefault(found[1].lower(), []).append(rate)
    both = [way for way in pairs.values() if len(way) == 2]
    slower = [way for way in both if min(way["disabled"]) > SLOWER * max(way["enabled"])]
    if slower:
        direct, staged = ([rate for way in slower for rate in way[name]] for name in ("enabled", "disabled"))
        whose = "for every pair" if len(slower) == len(both) else f"for {len(slower)} of {len(both)} pairs"
        seen = (
            f"direct ({_span(direct)} GB/s) is slower than through the host ({_span(staged)} GB/s), {whose}"
        )
        yield finding("staged-faster", 2, seen)


def _near_slower(rated: Rated, links: Links) -> Iterator[Finding]:
    """Pairs below one switch that are slower than pairs far apart, by the same test."""
    tests: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for curve, rate in rated:
        names = curve.pair.split()
        link = (
            links.get((names[0], names[-1])) or links.get((names[-1], names[0])) if len(names) == 2 else None
        )
        if kind := next((kind for kind in NEAR if link and link.startswith(kind)), None):
            test = tests.setdefault((curve.tool, curve.name, curve.direction), {})
            test.setdefault(kind, []).append(rate)
    for (_, name, _), rates in tests.items():
        for near, far in pairwise(kind for kind in NEAR if kind in rates):
            if min(rates[far]) > SLOWER * max(rates[near]):
                seen = (
                    f"{name}: {near} pairs ({_span(rates[near])} GB/s) are slower than {far} pairs "
                    f"({_span(rates[far])} GB/s), which are farther apart"
                )
                yield finding("near-slower", 2, seen, near=near)


def _odd_one(rated: Rated) -> Iterator[Finding]:
    """GPUs whose copies from or to the host are slower than the other GPUs' in the same test."""
    tests: dict[tuple[str, str, str, str, str], list[tuple[float, str]]] = {}
    for curve, rate in rated:
        if curve.operation == "copy" and curve.memory in ("H D", "D H") and curve.pair:
            key = curve.tool, curve.name, curve.memory, curve.direction, curve.placement
            tests.setdefault(key, []).append((rate, curve.pair))
    for (_, name, *_), pairs in tests.items():
        best = max(rate for rate, _ in pairs)
        odd = [(rate, pair) for rate, pair in pairs if rate < ODD * best]
        if odd and 2 * len(odd) <= len(pairs):
            rate, pair = min(odd)
            gpu = next((word for word in pair.split() if word.startswith("GPU")), pair)
            more = f", and {len(odd) - 1} more like it" if len(odd) > 1 else ""
            seen = f"{name}: {gpu} has {format_rate(rate)} GB/s{more}, others up to {format_rate(best)} GB/s"
            yield finding("odd-one", 2, seen, gpu=gpu.removeprefix("GPU"))
            return


def _odd_pair(rated: Rated, links: Links) -> Iterator[Finding]:
    """GPUs that copy slower to and from all others, or a pair that does, where all others are alike."""
    tests: dict[tuple[str, str, str, str], dict[tuple[str, ...], float]] = {}
    for curve, rate in rated:
        ends = tuple(curve.pair.split())
        direct = curve.memory == "D D" and "P2P=Disabled" not in curve.name
        if curve.operation == "copy" and direct and len(ends) == 2:
            key = curve.tool, curve.name, curve.direction, curve.placement
            tests.setdefault(key, {})[ends] = rate
    for (_, name, *_), rates in tests.items():
        if len({kind_of_link for ends in rates if (kind_of_link := links.get((ends[0], ends[-1])))}) > 1:
            continue
        best = max(rates.values())
        slow = {ends: rate for ends, rate in rates.items() if rate < ODD_PAIR * best}
        alike = sum(rate > best / ALIKE for rate in rates.values())
        if not slow or alike + len(slow) < len(rates) or alike < FEWEST_ALIKE:
            continue
        shared = set.intersection(*(set(ends) for ends in slow))
        pairs = {tuple(sorted(ends)) for ends in slow}
        if len(pairs) > 1 and not shared:
            continue
        gpu = min(shared, key=lambda gpu: -sum(gpu in ends for ends in slow))
        whose = gpu if len(pairs) > 1 else " and ".join(sorted(pairs.pop()))
        seen = f"{name}: {whose} {_span(list(slow.values()))} GB/s, the other pairs {format_rate(best)} GB/s"
        yield finding("odd-pair", 2, seen, gpu=gpu.removeprefix("GPU"))
        return


def _both_ways(rated: Rated) -> Iterator[Finding]:
    """Both ways together that are slower than one way alone, by the same tool in the same way."""
    long = [
        (curve, rate)
        for curve, rate in rated
        if not 0 <= curve.points[-1].bytes < LONG and "P2P=Disabled" not in curve.name
    ]
    one_way: dict[tuple[str, str, str, bool], float] = {}
    for curve, rate in long:
        if curve.direction == "one" and curve.operation in ("bandwidth", "copy"):
            one_way[_way(curve)] = max(rate, one_way.get(_way(curve), 0.0))
    both = (
        (rate / alone, rate, alone, curve)
        for curve, rate in long
        if curve.direction == "both" and (alone := one_way.get(_way(curve)))
    )
    slower = sorted((row for row in both if row[0] < BOTH_WAYS), key=lambda row: row[0])
    for _, rate, alone, curve in slower[:1]:
        whose = f"{curve.pair}: " if curve.pair else ""
        seen = f"{whose}both ways together {format_rate(rate)} GB/s, one way alone {format_rate(alone)} GB/s"
        yield finding("both-ways", 2, seen, curve)


def _same_test(rated: Rated) -> Iterator[Finding]:
    """One test with several tables, between which a size of both differs much: to know, and by more than
    launches of any path differ by, to blame."""
    tables: dict[tuple[str, ...], list[dict[int, float]]] = {}
    for curve, _ in rated:
        if len(curve.pair.split()) < 2 and curve.operation in (
            "bandwidth",
            "both-ways",
            "sendrecv",
            "exchange",
        ):
            key = (curve.tool, curve.name, curve.memory, str(curve.ranks), curve.pair, curve.placement)
            rates = {point.bytes: rate for point in curve.points if (rate := rate_of(point))}
            tables.setdefault(key, []).append(rates)
    for (_, name, *_), group in tables.items():
        sizes = [size for size in group[0] if all(size in rates for rates in group)]
        if len(group) > 1 and sizes and max(sizes) >= LONG:
            at = [rates[max(sizes)] for rates in group]
            if max(at) > DIFFER * min(at):
                which = f"table {at.index(max(at)) + 1} has {format_rate(max(at))} GB/s"
                other = f"table {at.index(min(at)) + 1} {format_rate(min(at))} GB/s"
                seen = f"{name}, {len(group)} tables: at {format_size(max(sizes))} {which}, {other}"
                ratio = max(at) / min(at)
                seen += f", {times(ratio)} times apart"
                if ratio > LAUNCHES:
                    yield finding("same-test", 2, f"{seen}: more than launches of one test lie apart")
                else:
                    yield finding("same-test", 1, seen)


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
            on_gpu_words, on_host = format_rate(ways[True]), format_rate(ways[False])
            yield finding(
                "gpu-slower", 2, f"{which}: GPU memory {on_gpu_words} GB/s, host memory {on_host} GB/s"
            )


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
        fast, slow = max(rows, key=lambda row: row[0]), min(rows, key=lambda row: row[0])
        alike = max(row[1] for row in rows) < ALIKE * min(row[1] for row in rows)
        if alike and fast[0] > PEAK * slow[0]:
            names = [row[2].pair or f"table {rows.index(row) + 1}" for row in (fast, slow)]
            seen = (
                f"{names[0]} has {bits(fast[0])} on average and {names[1]} {bits(slow[0])}, though their "
                f"peaks are alike ({bits(fast[1])} and {bits(slow[1])})"
            )
            yield finding("one-stalls", 2, seen, slow[2], slow=names[1])
        elif fast[1] > PEAK * slow[1] and fast[0] > PEAK * slow[0] and slow[1] < ALIKE * slow[0]:
            names = [row[2].pair or f"table {rows.index(row) + 1}" for row in (fast, slow)]
            seen = f"{names[0]} has {bits(fast[0])} and {names[1]} {bits(slow[0])}, at its peak no more"
            yield finding("one-slower", 1, seen, slow[2], slow=names[1])


def _near_sizes(curves: Sequence[Curve]) -> Iterator[Finding]:
    sizes = sorted({point.bytes for curve in curves for point in curve.points if point.bytes > 0})
    if not any(are_near(small, large) for small, large in pairwise(sizes)):
        return
    groups: dict[tuple[str, str, str, str, bool | None], list[Series]] = {}
    for curve in curves:
        for series in series_of(curve):
            key = (curve.tool, curve.operation, curve.memory, curve.pair, series.in_place)
            groups.setdefault(key, []).append(series)
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
