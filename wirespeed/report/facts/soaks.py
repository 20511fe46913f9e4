"""Outcome of soaks, in words."""

from __future__ import annotations

from wirespeed.grouping import grouped
from wirespeed.job.soaking import WRONG_KINDS
from wirespeed.results.runs import Run
from wirespeed.results.soak import Soak
from wirespeed.units import counted, format_size

PLANTED_IN = 10_000
"""A fault of one message in so many is what a soak should find."""
SURE = 3
"""Times as many messages find it with a probability of 95 %: exp(-3) is 0.05."""
MIN_LARGE = 1 << 20
"""Bytes from which on a message's time grows as its size does, about."""
SLOW = 0.8
"""A soak below this share of the timed message rate says so."""


def soaks(run: Run) -> list[Soak]:
    """Path after path, by size and launch."""
    order = {path: at for at, path in enumerate(dict.fromkeys(soak.path for soak in run.soaks.values()))}
    return sorted(run.soaks.values(), key=lambda soak: (order[soak.path], soak.bytes, soak.launch))


def of_path(run: Run, path: str) -> list[Soak]:
    """The path's soaks of messages that have bytes."""
    return [soak for soak in soaks(run) if soak.path == path and soak.bytes]


def lacking(run: Run, path: str) -> list[int]:
    """Sizes that were to have a soak of this path, and have none."""
    have = {soak.bytes for soak in run.soaks.values() if soak.path == path}
    return [size for size in run.head.plan.sizes if size and size not in have]


def wrong_words(soak: Soak) -> str:
    """'3 damaged, 1 late', or 'none'."""
    counts = [(getattr(soak.wrong, kind), kind) for kind in WRONG_KINDS]
    return ", ".join(f"{count:,} {kind}" for count, kind in counts if count) or "none"


def first_words(soak: Soak) -> str:
    """'rank 1 from rank 0, iteration 19, byte 4096: damaged, 0x12 instead of 0x13'; '': none is wrong."""
    first = soak.first
    if first is None:
        return ""
    age = f" by {counted(first.lag, 'iteration')}" if first.kind == "stale" and first.lag else ""
    ranks = f"rank {first.rank} from rank {first.sender}"
    where = f"{ranks}, iteration {first.iteration:,}, byte {first.offset:,}"
    return f"{where}: {first.kind}{age}, {first.found} instead of {first.expected}"


def first_wrong(run: Run) -> list[tuple[str, str]]:
    """('first wrong message of host at 8 B', words) for each soak that found one."""
    told = [(f"{soak.path} at {format_size(soak.bytes)}", first_words(soak)) for soak in soaks(run)]
    return [(f"first wrong message of {where}", words) for where, words in told if words]


def verdict(run: Run) -> tuple[str, bool] | None:
    """(what all soaks found, whether all messages were right); None where the run has no soak."""
    found = soaks(run)
    if not found:
        return None
    messages, wrong = sum(soak.messages for soak in found), sum(soak.wrong.total for soak in found)
    if not wrong:
        text = f"data check: passed ({messages:,} messages, every byte on its way by its receiver)"
        missing = [
            f"{path} at {', '.join(map(format_size, sizes))}"
            for path in dict.fromkeys(soak.path for soak in found)
            if (sizes := lacking(run, path))
        ]
        if times := max(soak.fresh or 0 for soak in found):
            text += f"; their memory was new {times:,} times"
        return text + (f"; no soak of {'; '.join(missing)}" if missing else ""), True
    paths = dict.fromkeys(soak.path for soak in found if soak.wrong.total)
    return f"data check: failed, {wrong:,} of {messages:,} messages are wrong: {', '.join(paths)}", False


def notes(run: Run) -> list[str]:
    """Soaks that were cut short, slow, or too short to find a rare fault; a line for all sizes of a path."""
    found = soaks(run)
    slow = [soak for soak in found if soak.rate_share is not None and soak.rate_share < SLOW]
    rated = (soak for soak in found if soak.complete and soak.messages_per_s)
    few = [soak for soak in rated if soak.messages < SURE * PLANTED_IN]
    lines = []
    for where, alike in _places(slow):
        shares = ", ".join(f"{100 * (soak.rate_share or 0.0):.0f}" for soak in alike)
        lines.append(f"{where}: its checks held messages back, to {shares} % of the timed rate")
    for where, alike in _places(few):
        needed = max(SURE * PLANTED_IN / (soak.messages_per_s or 1.0) for soak in alike) + 0.5
        rare = f"a fault of 1 in {PLANTED_IN:,} messages"
        lines.append(f"{where}: {rare} is found with 95 % probability by --soak {needed:.0f}s")
    for soak in found:
        if not soak.complete:
            where = f"{soak.path} at {format_size(soak.bytes)}"
            lines.append(f"{where}: ended after {soak.elapsed_s:.0f} s of {soak.asked_s:g} s")
    return lines


def _places(found: list[Soak]) -> list[tuple[str, list[Soak]]]:
    """('ipc-write at 8 B, 64 KiB', its soaks), path after path."""
    return [
        (f"{path} at {', '.join(format_size(soak.bytes) for soak in alike)}", alike)
        for path, alike in grouped((soak.path, soak) for soak in found).items()
    ]


def larger(run: Run) -> str:
    """Number of messages that a larger size could check in the same time; '' where it was not measured."""
    found = [soak for soak in soaks(run) if soak.complete and soak.messages_per_s and soak.bytes]
    largest = max(found, key=lambda soak: soak.bytes, default=None)
    if largest is None or not largest.messages_per_s:
        return ""
    size = 64 << 20
    if not MIN_LARGE <= largest.bytes < size:
        return ""
    messages = largest.messages_per_s * largest.asked_s * largest.bytes / size
    return f"{format_size(size)}: about {messages:,.0f} messages in that time, at the rate of {largest.path}"
