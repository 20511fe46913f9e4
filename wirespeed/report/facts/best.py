"""Which path to use at which size: as few changes as the intervals allow."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_size


@dataclass(frozen=True)
class Span:
    """Neighbouring sizes at which one path is the fastest, or as fast within the intervals."""

    path: str
    entries: tuple[Entry, ...]
    """The path's figures, smallest size first."""
    equals: tuple[str, ...] = ()
    """Other paths that are as fast at all of these sizes."""

    @property
    def first(self) -> Entry:
        return self.entries[0]

    @property
    def last(self) -> Entry:
        return self.entries[-1]

    @property
    def sizes(self) -> str:
        """'64 KiB to 1 GiB'."""
        return " to ".join(map(format_size, dict.fromkeys((self.first.bytes, self.last.bytes))))


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
    least = {size: min(run.entries[name, size].seconds for name in names) for size in sizes}

    def behind(path: str) -> float:
        return sum(run.entries[path, size].seconds / least[size] for size in sizes)

    path, *others = sorted((path for path in run.paths if path in names), key=behind)
    return Span(path, tuple(run.entries[path, size] for size in sizes), tuple(others))
