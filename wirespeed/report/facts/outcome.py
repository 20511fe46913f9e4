"""Outcome of each path in a few words: its best figure, the share of its limit, its wires."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from wirespeed.report.facts import markers, shares
from wirespeed.report.facts.wire_verdicts import of_path
from wirespeed.report.grouping import grouped
from wirespeed.results.parts import Checked
from wirespeed.results.runs import Entry, Run, remembered
from wirespeed.statistics.samples import median
from wirespeed.units import format_rate, format_seconds, format_size

UNRECORDED = "bytes not recorded"
SHORT = 4 << 10
"""Bytes of a message whose time is a latency; that of a longer one is its bandwidth's."""


def quickest(run: Run, entries: Sequence[Entry]) -> Entry:
    """The least time of a short message; where no short one is sound, a doubtful one."""
    if run.traits.shown.by_size:
        size = max(SHORT, min(entry.bytes for entry in entries))
        amount = max(SHORT, min(entry.amount for entry in entries))
        entries = [entry for entry in entries if entry.bytes <= size or entry.amount <= amount]
    return min(_named(run, entries), key=lambda entry: (entry.reckoned_s, not _sound(run, entry)))


def greatest_rate(run: Run, entries: Sequence[Entry]) -> Entry:
    """The highest bandwidth, of messages that are not short; where none of these is sound, a doubtful one."""
    long = [entry for entry in entries if not run.traits.shown.by_size or entry.amount > SHORT] or entries
    return max(_named(run, long), key=lambda entry: (entry.amount / entry.reckoned_s, _sound(run, entry)))


def _named(run: Run, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Those that have an interval; all where there are none.

    What slowed a figure bounds it from one side: if it is the best even so, it is named, with its mark.
    """
    certain = [entry for entry in entries if not entry.uncertain]
    return [entry for entry in certain if markers.sign(run, entry) != markers.NO_INTERVAL] or entries


def _sound(run: Run, entry: Entry) -> bool:
    """Nothing slowed it; of equal figures such a one is named."""
    return markers.sign(run, entry) not in markers.SPOILED


@remembered
def best(run: Run, path: str) -> Entry | None:
    """The path's figure with the highest bandwidth, of those that are certain.

    None as well where only short messages are, and longer ones were measured: theirs is no bandwidth.
    """
    rated = [entry for entry in run.of_path(path) if entry.bytes and entry.amount]
    certain = [entry for entry in rated if not entry.uncertain]
    if not certain:
        return None
    found = greatest_rate(run, certain)
    longer = (
        run.traits.shown.by_size and found.amount <= SHORT and any(entry.amount > SHORT for entry in rated)
    )
    return None if longer else found


@remembered
def best_words(run: Run, path: str) -> str:
    """'~393 GB/s at 1 GiB', with the figure's mark; 'uncertain'."""
    if (entry := best(run, path)) is None:
        return "uncertain" if any(entry.bytes and entry.amount for entry in run.of_path(path)) else ""
    mark = markers.sign(run, entry)
    return f"{mark}{format_rate(entry.rate)} GB/s at {format_size(entry.bytes)}"


@remembered
def share_words(run: Run, path: str, name: str = "") -> str:
    """'87 % of 450'; '50 % of 1.70 at 1 GiB' where caches served the fastest figure; nothing without a limit.

    `name`: what to call the limit instead of its rate.
    """
    limit = run.ceiling(path)
    sure = [entry for entry in run.of_path(path) if not entry.uncertain]
    rated = [certain for certain in sure if shares.share(certain, limit) is not None]
    if limit is None or not rated:
        return ""
    entry = greatest_rate(run, rated)
    where = "" if entry is best(run, path) else f" at {format_size(entry.bytes)}"
    return f"{shares.percent(shares.share(entry, limit))} of {name or format_rate(limit.rate)}{where}"


@remembered
def wires_words(run: Run, path: str) -> str:
    """'direct over NVLink from 4 KiB': of the largest messages, from the size on from which it is so."""
    found = of_path(run, path)
    known = [evidence for evidence in found if evidence.verdict != "unknown"] or found
    spans = [list(span) for _, span in groupby(known, key=lambda evidence: evidence.verdict)]
    if not spans:
        return ""
    text = spans[-1][-1].text.split(":")[0].split(" (")[0]
    text = re.sub("^staged through host memory,? over", "staged over", text)
    return f"{text} from {format_size(spans[-1][0].bytes)}" if len(spans) > 1 else text


def words(run: Run, path: str) -> str:
    """'393 GB/s at 1 GiB; 87 % of limit; direct over NVLink'; empty where no figure is certain."""
    if not any(entry.bytes and entry.amount and not entry.uncertain for entry in run.of_path(path)):
        return ""
    each = best_words(run, path), share_words(run, path, "limit"), wires_words(run, path)
    return "; ".join(filter(None, each))


@remembered
def by_wires(run: Run) -> list[tuple[str, str]]:
    """('direct over NVLink', 'aware 88 %, gpu 83 % of limit'): the paths of each kind of wires."""
    told = []
    for wires, paths in grouped((wires_words(run, path), path) for path in run.paths).items():
        shares = {path: share_words(run, path, "limit") for path in paths}
        # The last one names what all are shares of.
        last = next((path for path in reversed(paths) if shares[path]), "")
        brief = {
            path: shares[path] if path == last else shares[path].replace(" of limit", "") for path in paths
        }
        told.append((wires, ", ".join(" ".join(filter(None, pair)) for pair in brief.items())))
    return told


def payload(run: Run) -> tuple[str, bool] | None:
    """(how much was compared, whether all of it was right); None where that is not on record."""
    entries = run.entries.values()
    wrong = [(failure.path, failure.bytes) for failure in run.failures if failure.what == "mismatch"]
    if wrong:
        paths = dict.fromkeys(path for path, _ in wrong)
        number = f"{len(wrong)} figure{'s' * (len(wrong) > 1)}"
        text = f"{number} of {', '.join(paths)} missing, because wrong bytes arrived"
        return f"data check: failed, {text}", False
    if not entries or not all(entry.checked.iterations for entry in entries):
        return None
    how = UNRECORDED if _compared_bytes(run) is None else "every byte"
    return f"data check: passed ({compared(_checked(run))}, {how})", True


def readings(run: Run) -> Iterator[str]:
    """Bytes that were compared, and the fineness of the clock."""
    checked = _checked(run)
    if any(part.iterations for part in checked):
        size = _compared_bytes(run)
        if size is None:
            yield f"data check: {compared(checked)}, {UNRECORDED}"
        else:
            amount = format_size(size) if size < 1e9 else f"{format_rate(size)} GB"
            yield f"data check: every byte of {compared(checked)}: {amount} in all"
    if clock := run.head.clock:
        cost, step = 1e9 * clock.cost_s, 1e9 * clock.resolution_s
        yield f"clock: one reading takes {cost:.0f} ns, its smallest step is {step:.0f} ns"


def _compared_bytes(run: Run) -> int | None:
    """None where the file does not say: older versions wrote 0 for patterns that send one way."""
    size = sum(part.bytes for part in _checked(run))
    return None if not size and any(entry.bytes for entry in run.figures.values()) else size


def _checked(run: Run) -> list[Checked]:
    """Data compared for each figure, also for one that cannot be true: its bytes arrived all the same."""
    return [entry.checked for entry in run.figures.values()]


def compared(counts: Iterable[Checked]) -> str:
    """'31 untimed iterations, 49 of 148 timed batches'; of programs also ', 120 steps rerun'."""
    each = list(counts)
    iterations, batches, of_batches = (
        sum(getattr(checked, name) for checked in each) for name in ("iterations", "batches", "of_batches")
    )
    parts = [f"{iterations:,} untimed iteration{'s' if iterations != 1 else ''}"]
    if of_batches:
        parts.append(f"{batches:,} of {of_batches:,} timed batch{'es' if of_batches != 1 else ''}")
    if steps := sum(checked.rerun_steps or 0 for checked in each):
        parts.append(f"{steps:,} steps rerun")
    return ", ".join(parts)


def fresh(run: Run) -> Iterator[tuple[str, str]]:
    """('new memory, host', '8 B 12.1 us, then 1.40 us; 64 KiB ...; 200 messages of each size, all right').

    Of several launches, medians and the sum of their messages.
    """
    for path, records in grouped((one.path, one) for one in run.fresh.values()).items():
        sizes = sorted(grouped((one.bytes, one) for one in records).items())
        words = []
        for size, launches in sizes:
            cold = median(one.seconds for one in launches)
            warm = median(one.known_s for one in launches)
            words.append(f"{format_size(size)} {format_seconds(cold)}, then {format_seconds(warm)}")
        number = max(sum(one.messages for one in launches) for _, launches in sizes)
        yield f"new memory, {path}", f"{'; '.join(words)}; {number:,} messages of each size, all right"
