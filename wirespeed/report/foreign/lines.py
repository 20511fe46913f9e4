"""An explanation of another tool's output: what it is, its figures, findings, and what would tell more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter

from rich.console import Console

from wirespeed.foreign.definitions import between, definition, rate_of, rates_of
from wirespeed.foreign.explain import Explained, Explanation
from wirespeed.foreign.islands import sentences, wires
from wirespeed.foreign.shapes import Curve, Finding, Log
from wirespeed.grouping import ends
from wirespeed.judge.series import is_wrong
from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import Trial, say
from wirespeed.units import counted, format_rate, format_seconds, format_size

MOST_LINES = 40
_PAIR = re.compile(r"(?:CPU|GPU|device)?\d* ?(?:CPU|GPU|device)\d+")
"""Names of a pair in a matrix."""
FEWEST_ROWS = 4
MOST_ALIKE = 3
"""Tables with the same finding that are each told."""
FURTHER = ("peak", "overall")
"""Further rates of a point that are printed."""
_DIRECTIONS = {"both": "both directions added", "bus": "bus bandwidth", "algorithm": "algorithm bandwidth"}


def title(curve: Curve) -> str:
    """'OSU MPI-CUDA 7.2, Bandwidth Test: bandwidth, 2 ranks, device to device'."""
    tool = f"{curve.tool} {curve.version}".strip()
    name = f"{tool}, {curve.name}" if curve.name else tool
    parts = [curve.operation or "an operation that the text does not name"]
    parts += [counted(curve.ranks, "rank")] if curve.ranks else []
    parts += [counted(curve.hosts, "host")] if curve.hosts else []
    parts += [between(curve.memory)] if curve.memory else []
    parts += [_DIRECTIONS[curve.direction]] if curve.direction in _DIRECTIONS and rates_of(curve) else []
    parts += [part for part in (curve.pair, curve.placement) if part]
    return f"{name}: {', '.join(parts)}"


def about(log: Log) -> Iterator[str]:
    """What was not read, versions, settings, transports."""
    if log.left_out:
        yield log.left_out.words(log)
    if log.versions:
        words = [f"{name} {', '.join(versions[:3])}" for name, versions in log.versions.items()]
        yield f"versions: {', '.join(words[:8])}"
    if log.settings:
        words = [
            f"{name}={' then '.join(log.values.get(name, (value,)))}" for name, value in log.settings.items()
        ]
        more = f", and {len(words) - 12} more" if len(words) > 12 else ""
        yield f"settings: {', '.join(words[:12])}{more}"
    if topology := list(sentences(log.topology)):
        yield f"topology: {'; '.join(topology)}"
    yield from wires(log.topology)
    kinds = {f"{made.library} {made.kind}/{made.detail}".rstrip("/"): 0 for made in log.transports}
    for made in log.transports:
        kinds[f"{made.library} {made.kind}/{made.detail}".rstrip("/")] += 1
    if kinds:
        words = [f"{kind} ({number})" for kind, number in sorted(kinds.items(), key=lambda item: -item[1])]
        yield f"transports (connections): {', '.join(words[:6])}"


def figures(explanation: Explanation, rows: int, width: int) -> Iterator[str]:
    """The curves, each in `rows` lines at most besides its head; many that are alike in one line.

    `width`: letters of a line of a table.
    """
    explained = explanation.curves
    said = {f"  {finding.seen}" for finding in explanation.findings}
    groups: dict[tuple[str, ...], list[Explained]] = {}
    for at, one in enumerate(explained):
        curve = one.curve
        alone = len(curve.points) > 1 or not _PAIR.fullmatch(curve.pair)
        own = (str(at),) if rows else (title(curve),)
        groups.setdefault(own if alone else (curve.tool, curve.name, curve.placement), []).append(one)
    for key, group in groups.items():
        if len(group) > 1 and len(key) > 1:
            yield from _many(group, said)
        else:
            yield from _curve(group, rows, width, said)


def _many(group: list[Explained], said: set[str]) -> Iterator[str]:
    """A matrix: each kind of pair in a line."""
    first = group[0].curve
    how = f", {first.placement}" if first.placement else ""
    yield f"{f'{first.tool} {first.version}'.strip()}, {first.name}{how}"
    kinds: dict[tuple[str, str], list[Explained]] = {}
    for one in group:
        kinds.setdefault((one.curve.memory, one.curve.operation), []).append(one)
    for (_, operation), alike in sorted(kinds.items(), key=lambda item: item[0][1].startswith("local")):
        curves = [one.curve for one in alike]
        rates = [rate for curve in curves for rate in rates_of(curve)]
        times = [point.seconds for curve in curves for point in curve.points if point.seconds]
        local, memory = operation.startswith("local"), between(curves[0].memory)
        words = (
            f"{counted(len(curves), 'device')} each with itself" if local else counted(len(curves), "pair")
        )
        words += f", {memory}" if memory and not local else ""
        limit = alike[0].limit
        if rates:
            share = f", at most {100 * max(rates) / limit:.0f} % of the wire" if limit else ""
            yield f"  {words}: {ends(rates, _rate)} GB/s{share}"
        elif times:
            yield f"  {words}: {ends(times, format_seconds)}"
        yield from _once(f"  {definition(curves[0])}", said)
        yield from _wire(alike[0], said)
        if lines := [one.reference.words for one in alike if one.reference and one.reference.words]:
            yield from _once(f"  {lines[0]}", said)


def _once(line: str, said: set[str]) -> Iterator[str]:
    if line.strip() and line not in said:
        said.add(line)
        yield line


def _wire(one: Explained, said: set[str]) -> Iterator[str]:
    if one.wire:
        line = f"  wire: {one.wire.name}, {one.wire.rate / 1e9:.4g} GB/s one way ({one.wire.words})"
        yield from _once(line, said)


def _curve(group: Sequence[Explained], rows: int, width: int, said: set[str]) -> Iterator[str]:
    """`group`: several curves with the same title where there is no room for rows. `said`: lines that need no
    second time."""
    one, curve = group[0], group[0].curve
    if rows:
        yield title(curve)
        yield from _table(one, rows, width)
    else:
        tables = f", {len(group)} tables" if len(group) > 1 else ""
        yield f"{title(curve)}{tables}{_best([each.curve for each in group])}"
    yield from _once(f"  {definition(curve)}", said)
    yield from _wire(one, said)
    if (shares := _shares(one)) and len(group) == 1:
        yield f"  {shares}"
    if one.reference and one.reference.words:
        yield from _once(f"  {one.reference.words}", said)


def _rates(curve: Curve) -> list[tuple[float, int]]:
    """(rate, size) of each row whose data are not wrong."""
    return [
        (rate, point.bytes)
        for at, point in enumerate(curve.points)
        if (rate := rate_of(curve, at)) is not None and not is_wrong(point)
    ]


def _best(curves: Sequence[Curve]) -> str:
    """': best 6.42 GB/s at 8 KiB, largest message 3.84'; of several tables ': best 6.1 to 6.42 GB/s, ...'."""
    found = [rates for curve in curves if (rates := _rates(curve))]
    if not found:
        timed = [
            [(point.seconds, point.bytes) for point in curve.points if point.seconds] for curve in curves
        ]
        timed = [times for times in timed if times]
        least, last = [min(times) for times in timed], [times[-1][0] for times in timed]
        words = f": {ends([seconds for seconds, _ in least], format_seconds)}" if timed else ""
        if len(timed) == 1 and least[0][1] > 0:
            words += f" at {_size(least[0][1])}"
        return (
            words
            if last == [seconds for seconds, _ in least]
            else f"{words}, largest message {ends(last, format_seconds)}"
        )
    best, last = [max(rates) for rates in found], [rates[-1][0] for rates in found]
    words = f": best {ends([rate for rate, _ in best], _rate)} GB/s"
    if len(curves) == 1 and best[0][1] >= 0:
        words += f" at {_size(best[0][1])}"
    if [_rate(rate) for rate in last] == [_rate(rate) for rate, _ in best]:
        return words
    return f"{words}, largest message {ends(last, _rate)}"


def _rate(rate: float) -> str:
    return format_rate(rate) if rate else "0"


def _shares(one: Explained) -> str:
    """'best 26 % of the wire at 8 KiB, largest message 15 %'."""
    rates = _rates(one.curve)
    if not one.limit or not rates:
        return ""
    (best, size), (last, largest) = max(rates), max(rates, key=lambda row: row[1])
    of = "the wire" if one.curve.direction != "both" else "the wire both ways"
    share, at_largest = (f"{100 * rate / one.limit:.0f} %" for rate in (best, last))
    words = f"best {share} of {of}" + (f" at {_size(size)}" if size >= 0 else "")
    words += f", largest message {at_largest}" if largest != size and at_largest != share else ""
    return words + (f" (more than 100 %: {one.beyond})" if best > one.limit and one.beyond else "")


def _size(size: int) -> str:
    return format_size(size) if size >= 0 else "?"


def _table(one: Explained, rows: int, width: int) -> Iterator[str]:
    """Sizes beside times and rates; in place and out of place side by side."""
    curve = one.curve
    places = sorted({point.in_place for point in curve.points}, key=bool)
    by_size: dict[tuple[int, int], dict[bool | None, int]] = {}
    times: Counter[tuple[int, bool | None]] = Counter()
    for index, each in enumerate(curve.points):
        again = times[each.bytes, each.in_place]
        times[each.bytes, each.in_place] += 1
        by_size.setdefault((each.bytes, again), {})[each.in_place] = index
    keys = _chosen(curve, list(by_size), by_size, rows)
    timed = any(point.seconds is not None for point in curve.points)
    rated = bool(rates_of(curve))
    further = [name for name in FURTHER if any(getattr(point, name) for point in curve.points)]
    head = ["size"]
    for place in places:
        head += ["in place" if place else "time"] * timed + ["GB/s"] * rated + further
        head += ["of limit"] * bool(one.limit and rated)
    lines = []
    for key in keys:
        cells = [_size(key[0])]
        for place in places:
            found = by_size[key].get(place)
            point = None if found is None else curve.points[found]
            rate = None if found is None else rate_of(curve, found)
            wrong = bool(point and is_wrong(point))
            if timed:
                cells.append(format_seconds(point.seconds) if point and point.seconds is not None else "-")
            if rated:
                cells.append("wrong" if wrong else "-" if rate is None else _rate(rate))
            values = [getattr(point, name) if point else None for name in further]
            cells += ["-" if value is None else _rate(value) for value in values]
            if one.limit and rated:
                cells.append("-" if rate is None or wrong else f"{100 * rate / one.limit:.0f} %")
        lines.append(cells)
    columns = [
        Column(name, itemgetter(at), gap=2, drop=2 if name in FURTHER else name == "of limit")
        for at, name in enumerate(head)
    ]
    for line in table(columns, lines, ruled=False).fit(width - 2).lines():
        yield f"  {line.plain}"


def _chosen(
    curve: Curve,
    keys: list[tuple[int, int]],
    by_size: dict[tuple[int, int], dict[bool | None, int]],
    rows: int,
) -> list[tuple[int, int]]:
    """As many rows as there is room for: the ends, the best, and where the rate or time changes most."""
    if len(keys) <= rows:
        return keys

    def value(key: tuple[int, int]) -> float:
        index = next(iter(by_size[key].values()))
        point, rate = curve.points[index], rate_of(curve, index)
        return rate or (1 / point.seconds if point.seconds else 0.0) or 0.0

    values = [value(key) for key in keys]
    drops = [(values[place - 1] / values[place], place) for place in range(1, len(keys)) if values[place] > 0]
    wanted = {0, len(keys) - 1, values.index(max(values))}
    for _, place in sorted(drops, reverse=True)[: max(0, (rows - len(wanted)) // 4)]:
        wanted |= {place - 1, place}
    spread = [round(step * (len(keys) - 1) / max(1, rows - 1)) for step in range(rows)]
    for place in spread:
        if len(wanted) >= rows:
            break
        wanted.add(place)
    return [keys[place] for place in sorted(wanted)[:rows]]


def finding_lines(finding: Finding, number: int, where: str = "") -> Iterator[str]:
    """Seen, likely cause, remedy."""
    yield f"{number}. {where}{finding.seen}"
    if finding.cause:
        yield f"   likely cause: {finding.cause}"
    if finding.do:
        yield f"   do: {finding.do}"


def findings(explanation: Explanation) -> list[list[str]]:
    """The lines of each finding, worst first; of more than a few tables that have the same one, the first."""
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for at, one in enumerate(explanation.findings):
        curve = one.curve
        alike.setdefault((one.kind, curve.tool, curve.name) if curve else (str(at),), []).append(one)
    several = len(explanation.curves) > 1
    found: list[list[str]] = []
    for one in explanation.findings:
        curve = one.curve
        group = alike[one.kind, curve.tool, curve.name] if curve else [one]
        more = len(group) - 1 if len(group) > MOST_ALIKE else 0
        if more and one is not group[0]:
            continue
        where = ""
        if several and curve:
            where = f"{curve.name or curve.tool}, {explanation.log.place(curve.points[0].line)}: "
        lines = list(finding_lines(one, len(found) + 1, "" if curve and curve.pair else where))
        lines[0] += f"; {counted(more, 'more table')} like it" if more else ""
        found.append(lines)
    return found


def ending(explanation: Explanation) -> Iterator[str]:
    """That nothing was found, lines that were not understood, and what would tell more."""
    if not explanation.findings and (explanation.curves or explanation.told_of_wires):
        yield "findings: none" + " in what was read" * bool(explanation.log.left_out)
    if explanation.log.unknown:
        line, text = explanation.log.unknown[0]
        more = f" and {len(explanation.log.unknown) - 1} more" if len(explanation.log.unknown) > 1 else ""
        yield f"not understood: {explanation.log.place(line)}{more}: {' '.join(text.split())[:80]}"
    for text in explanation.missing:
        yield f"to say more: {text}"


_INDENT = 5
_FOR_FIGURES = 8
"""Lines that the curves keep beside many findings."""

_LONG = 5000
"""Rows of all tables from which on a part of them shows nothing."""


def print_explanation(console: Console, explanation: Explanation, *, everything: bool = False) -> None:
    """Tables get the rows that the rest leaves."""
    for line in _whole(console, explanation, 1000) if everything else _shortened(console, explanation):
        say(console, line, indent=_INDENT)


def _whole(console: Console, explanation: Explanation, rows: int) -> list[str]:
    told = chain.from_iterable(findings(explanation))
    shown = figures(explanation, rows, console.width)
    return [*about(explanation.log), *shown, *told, *ending(explanation)]


def _shortened(console: Console, explanation: Explanation) -> list[str]:
    curves, found = explanation.curves, findings(explanation)
    head, tail = list(about(explanation.log)), list(ending(explanation))
    rest = _height(console, [*head, *chain.from_iterable(found), *tail])
    if len(curves) < MOST_LINES and sum(len(one.curve.points) for one in curves) < _LONG:
        left = MOST_LINES - rest - _height(console, figures(explanation, 1, console.width))
        rows = 1 + left // max(1, len(curves))
        while rows >= FEWEST_ROWS:
            lines = _whole(console, explanation, rows)
            if (height := _height(console, lines)) <= MOST_LINES:
                return lines
            # On a narrow screen a row takes several lines.
            rows -= max(1, (height - MOST_LINES) // (2 * len(curves)))
    # What is wrong comes before what else was measured.
    shown = [*head, *figures(explanation, 0, console.width)]
    most = max(_FOR_FIGURES, MOST_LINES - rest + _height(console, head))
    shown = _cut(console, shown, most, "line")
    left = MOST_LINES - _height(console, shown)
    blocks = _cut(console, [*("\n".join(lines) for lines in found), *tail], left, "finding")
    return [*shown, *(line for block in blocks for line in block.split("\n"))]


def _cut(console: Console, blocks: Sequence[str], most: int, name: str) -> list[str]:
    """As many as fit into so many lines, one of which says how many more there are."""
    shown: list[str] = []
    for place, block in enumerate(blocks):
        height = _height(console, block.split("\n"))
        if height + (place < len(blocks) - 1) > most:
            return [*shown, f"... {counted(len(blocks) - place, f'more {name}')}: --all"]
        shown.append(block)
        most -= height
    return shown


def _height(console: Console, lines: Iterable[str]) -> int:
    height, trial = 0, Trial(console.width)
    for line in lines:
        if len(line) <= console.width:
            height += 1
        else:
            say(trial, line, indent=_INDENT)
    return height + trial.lines
