"""Which path to use at which size: as few changes as the intervals allow."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.results.runs import Entry, Run


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


def spans(run: Run, domain: str) -> list[Span]:
    """The fastest paths for data in this memory domain (CPU or GPU), by size."""
    found: list[Span] = []
    names: set[str] = set()
    sizes: list[int] = []
    for size in run.sizes:
        fastest = [entry.path for entry in run.fastest(size, domain)]
        if not fastest:
            continue
        common = names & set(fastest)
        if sizes and not common:
            found.append(_span(run, names, sizes))
            sizes = []
        names = common or set(fastest)
        sizes.append(size)
    return [*found, _span(run, names, sizes)] if sizes else found


def _least(run: Run, names: set[str], size: int) -> float:
    return min(run.entries[name, size].seconds for name in names)


def _span(run: Run, names: set[str], sizes: list[int]) -> Span:
    """Of several that are as fast, the one with the least time over all these sizes gives the name."""

    def behind(path: str) -> float:
        return sum(run.entries[path, size].seconds / _least(run, names, size) for size in sizes)

    path, *others = sorted((path for path in run.paths if path in names), key=behind)
    return Span(path, tuple(run.entries[path, size] for size in sizes), tuple(others))
