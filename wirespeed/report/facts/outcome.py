"""Outcome of each path in a few words, and the path to use at each size.

As few changes from size to size as the intervals allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from wirespeed.grouping import grouped, size_range, size_ranges, together
from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.facts import markers, shares
from wirespeed.report.facts.markers import AS_FAST, SPOILED, sign
from wirespeed.results.fastest import same_fastest
from wirespeed.results.parts import Checked
from wirespeed.results.runs import Entry, Run, remembered
from wirespeed.statistics.samples import median
from wirespeed.units import counted, format_rate, format_seconds, format_size

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
    found = run.evidence_of(path)
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
        text = f"{counted(len(wrong), 'figure')} of {', '.join(paths)} missing, because wrong bytes arrived"
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
    parts = [counted(iterations, "untimed iteration")]
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


@dataclass(frozen=True)
class Span:
    """Neighbouring sizes at which one path is the fastest, or as fast within the intervals."""

    path: str
    entries: tuple[Entry, ...]
    """The path's figures, smallest size first."""
    mark: str = ""
    """The sign of what spoiled one of them."""
    equals: tuple[str, ...] = ()
    """Other paths that are as fast at all of these sizes."""
    partly: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Other paths that are as fast, or faster within the intervals, at some of these sizes, and those."""
    lacking: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Other paths without a figure at some of these sizes, and those."""
    in_doubt: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Other paths that may be as fast, but whose figures are not sure, at some of these sizes, and those."""

    @property
    def first(self) -> Entry:
        return self.entries[0]

    @property
    def last(self) -> Entry:
        return self.entries[-1]

    @property
    def sizes(self) -> str:
        """'64 KiB to 1 GiB'."""
        return size_range([entry.bytes for entry in self.entries])

    @property
    def name(self) -> str:
        """'&aware'."""
        return f"{self.mark}{self.path}"

    @property
    def shown(self) -> str:
        """'&aware ≈ gpu': with those that are as fast at all of these sizes."""
        return f" {AS_FAST} ".join([self.name, *self.equals])

    @property
    def words(self) -> str:
        """'aware for 64 KiB to 1 GiB (≈ gpu at 64 KiB; cannot tell of nccl; no figure of host at 1 GiB)'."""
        partly = (f"{AS_FAST} {path}" for path in self._at(self.partly))
        in_doubt = (f"{CANNOT_TELL} of {path}" for path in self._at(self.in_doubt))
        lacking = (f"no figure of {path}" for path in self._at(self.lacking))
        more = "; ".join((*partly, *in_doubt, *lacking))
        return f"{self.shown} for {self.sizes}{f' ({more})' if more else ''}"

    @property
    def as_fast(self) -> str:
        """'gpu, aware at 64 KiB': other paths, with their sizes where those are not all of these."""
        return ", ".join((*self.equals, *self._at(self.partly)))

    def _at(self, places: Sequence[tuple[str, tuple[int, ...]]]) -> list[str]:
        """'aware, gpu at 64 KiB', of those with the same sizes."""
        own = [entry.bytes for entry in self.entries]
        alike = together((size_ranges(sizes, own), path) for path, sizes in places)
        return [f"{paths} at {sizes}" for paths, sizes in alike]


@remembered
def by_domain(run: Run) -> list[tuple[str, list[Span]]]:
    """(CPU or GPU, its spans) where several paths compete."""
    return [(domain, found) for domain in run.competing if (found := spans(run, domain))]


def spans(run: Run, domain: str) -> list[Span]:
    """The fastest paths for data in this memory domain (CPU or GPU), by size."""
    return [_span(run, names, sizes) for names, sizes in same_fastest(run, domain)]


def _span(run: Run, names: list[str], sizes: list[int]) -> Span:
    path, *others = names
    entries = tuple(run.entries[path, size] for size in sizes)
    failed = {failure.path for failure in run.failures} & {entry.path for entry in run.entries.values()}
    domains = {entry.path: entry.memory_domain for entry in run.entries.values()}
    alike = [name for name in run.paths if name in failed and domains[name] == entries[0].memory_domain]
    lacking = {name: tuple(size for size in sizes if (name, size) not in run.entries) for name in alike}
    fastest = grouped(
        (entry.path, size) for size in sizes for entry in run.fastest(size, entries[0].memory_domain)
    )
    partly = {name: tuple(fastest[name]) for name in run.paths if name in fastest and name not in names}
    doubted = grouped(
        (entry.path, size) for size in sizes for entry in run.in_doubt(size, entries[0].memory_domain)
    )
    signs = {sign(run, entry) for entry in entries}
    return Span(
        path,
        entries,
        next((spoiled for spoiled in SPOILED if spoiled in signs), ""),
        tuple(others),
        tuple(partly.items()),
        tuple((name, without) for name, without in lacking.items() if without),
        tuple((name, tuple(doubted[name])) for name in run.paths if name in doubted),
    )
