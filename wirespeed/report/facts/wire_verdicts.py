"""Which wires carried the bytes, a line a path, and what a path promised and its wires deny."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from wirespeed.limits import Ceiling
from wirespeed.limits.ceilings import impossible
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.parts import Copied
from wirespeed.results.runs import Entry, Evidence, Run
from wirespeed.units import format_rate, format_size

CACHED = {"memory": ("CPU", 64 << 20), "device memory": ("GPU", 256 << 20)}
"""Whose caches are before a memory, and bytes that large ones hold."""
SMALL_COPY = 16 << 10
"""Bytes up to which a copy of a path's larger messages is no message."""
HEAD = "which wire carried the bytes, by its counters:"


def print_wires(console: Console, run: Run) -> None:
    """Nothing where nothing was counted."""
    lines = wire_lines(run)
    if lines:
        console.print()
        say(console, Text(HEAD, style="dim"))
    for paths, text in lines:
        say(console, Text(f"  {paths}: {text}"))
    for text in copy_lines(run):
        say(console, Text(f"  {text}", style="dim"))
    for text, largest in suspicions(run):
        say(console, Text(f"  {text}", style="bold red" if largest else "yellow"))


def wire_lines(run: Run) -> list[tuple[str, str]]:
    """(paths, words) in table order; alike ones share a line."""
    lines: dict[str, list[str]] = {}
    for path in run.paths:
        if text := _spans(of_path(run, path)):
            lines.setdefault(text, []).append(path)
    return [(", ".join(paths), text) for text, paths in lines.items()]


def of_path(run: Run, path: str) -> list[Evidence]:
    """Smallest size first; empty messages cross no wire that counts."""
    found = [one for one in run.evidence.values() if one.path == path and one.bytes]
    return sorted(found, key=lambda one: one.bytes)


def _spans(found: Sequence[Evidence]) -> str:
    """'direct over NVLink (100 % of the bytes) from 4 KiB; up to 2 KiB too few bytes ...'."""
    spans = [list(span) for _, span in groupby(found, key=lambda one: one.verdict)]
    if len(spans) == 1:
        return spans[0][-1].text
    parts = []
    for number, span in enumerate(spans):
        where = (
            f"from {format_size(span[0].bytes)}"
            if number == len(spans) - 1
            else f"up to {format_size(span[-1].bytes)}"
        )
        parts.append(f"{where} {span[-1].text}")
    return "; ".join(parts)


COPIES = {
    "device_to_host": "to the host",
    "host_to_device": "from the host",
    "on_device": "on a GPU",
    "peer": "to a peer",
}
"""What the record calls them, and what people do."""


def copy_lines(run: Run) -> list[str]:
    """How many copies the driver did in a round, on the rank that did most: at each path's largest size."""
    parts = []
    for path in run.paths:
        found = of_path(run, path)
        if not found or not found[-1].iterations:
            continue
        ranks, iterations = found[-1].copies, found[-1].iterations
        if not any(getattr(one, kind).count for one in ranks for kind in COPIES):
            continue
        told = []
        for kind, words_ in COPIES.items():
            busiest: Copied = max((getattr(one, kind) for one in ranks), key=lambda one: one.count)
            most = busiest.count / iterations
            # A few more than none are set-up.
            if most >= 0.5:
                number = f"{most:.0f}" if most >= 9.5 else f"{most:.2g}"
                each = busiest.bytes / busiest.count
                # What a GPU is told, and what it answers, are copies, too.
                small = f" of {each:.0f} B" if each < SMALL_COPY < found[-1].bytes else ""
                told.append(f"{number}{small} {words_}")
        parts.append(f"{path} {', '.join(told) or 'none'}")
    return [f"copies a round and rank: {'; '.join(parts)}"] if parts else []


def suspicions(run: Run) -> list[tuple[str, bool]]:
    """Each said once, with the sizes it is true of; is it true of its path's largest size?

    A library may well send a few bytes another way than many.
    """
    sizes: dict[tuple[str, str], list[int]] = {}
    for one in run.evidence.values():
        if one.suspicious and one.bytes:
            sizes.setdefault((one.path, one.suspicious), []).append(one.bytes)
    return [
        (
            f"{text} (at {format_size(min(found))}"
            + (f" to {format_size(max(found))})" if len(found) > 1 else ")"),
            max(found) == of_path(run, path)[-1].bytes,
        )
        for (path, text), found in sizes.items()
    ]


def misnamed(run: Run) -> list[str]:
    """What --link named, and no wire here is called."""
    given = [name for name, _ in run.head.plan.links]
    wires = [wire for record in run.wires for wire in record.wires]
    if not given or not wires:
        return []
    names = {wire.name.split(" port ")[0] for wire in wires} | {wire.kind for wire in wires}
    return [
        f"--link {name}: no wire here is called so; there are: {', '.join(sorted(names))}"
        for name in dict.fromkeys(given)
        if name not in names | {wire.name for wire in wires}
    ]


def beyond(run: Run) -> list[str]:
    """Figures above their limit, a line a path: why that is so, by the wire that the limit is of."""
    lines = []
    for path in run.paths:
        limit = run.ceiling(path)
        rated = [entry for entry in run.of_path(path) if entry.amount]
        over = [entry for entry in rated if limit and impossible(entry.rate / limit.rate)]
        if not limit or not over:
            continue
        most = max(over, key=lambda entry: entry.rate)
        lines.append(
            f"{path}: {format_rate(most.rate)} GB/s at {format_size(most.bytes)} is "
            f"{100 * most.rate / limit.rate:.0f} % of the limit: {_reason(limit, over, rated[-1])}"
        )
    return lines


def _reason(limit: Ceiling, over: Sequence[Entry], largest: Entry) -> str:
    processor, cached = CACHED.get(limit.wire, ("", 0))
    if over[-1].bytes <= cached:
        size = format_size(over[-1].bytes)
        return f"up to {size} the data stay in the {processor}'s caches, and the limit is that of its memory"
    too_low = "the rate given with --link is too low"
    if limit.wire == "network":
        burst = "a shaper or a buffer lets bursts pass faster than the rate of the link"
        if over[-1] is not largest:
            return burst
        return f"{burst}, or {too_low if limit.stated else 'the driver states less than the real rate'}"
    if limit.stated:
        return too_low
    if limit.wire == "memory":
        return "the rate measured for memory is too low (state the right one: --link memory=RATE)"
    return (
        "that is impossible, so wirespeed is wrong about the figure or about the links "
        "(state their right rate: --link NAME=RATE)"
    )
