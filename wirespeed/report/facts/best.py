"""The path to use at each size: as few changes as the intervals allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.facts.markers import AS_FAST, SPOILED, sign
from wirespeed.report.grouping import grouped, size_range, size_ranges, together
from wirespeed.results.runs import Entry, Run, remembered


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
        """'64 KiB to 1 GiB (≈ aware at 64 KiB; cannot tell of nccl; no figure of host at 1 GiB)'."""
        partly = (f"{AS_FAST} {path}" for path in self._at(self.partly))
        in_doubt = (f"{CANNOT_TELL} of {path}" for path in self._at(self.in_doubt))
        lacking = (f"no figure of {path}" for path in self._at(self.lacking))
        more = "; ".join((*partly, *in_doubt, *lacking))
        return f"{self.sizes} ({more})" if more else self.sizes

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
    found: list[tuple[set[str], list[int]]] = []
    for size in run.sizes:
        fastest = {entry.path for entry in run.fastest(size, domain)}
        if found and (common := found[-1][0] & fastest):
            found[-1] = (common, [*found[-1][1], size])
        elif fastest:
            found.append((fastest, [size]))
    return [_span(run, names, sizes) for names, sizes in found]


def _span(run: Run, names: set[str], sizes: list[int]) -> Span:
    """Of several that are as fast, the one with the least time over all these sizes gives the name."""
    least = {size: min(run.entries[name, size].reckoned_s for name in names) for size in sizes}

    def behind(path: str) -> float:
        return sum(run.entries[path, size].reckoned_s / least[size] for size in sizes)

    path, *others = sorted((path for path in run.paths if path in names), key=behind)
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
