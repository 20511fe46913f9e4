"""The fastest paths by size: neighbouring sizes at which they are the same."""

from __future__ import annotations

from collections.abc import Collection

from wirespeed.results.runs import Run


def same_fastest(
    run: Run, domain: str, among: Collection[str] | None = None
) -> list[tuple[list[str], list[int]]]:
    """(paths that are as fast at all of these sizes, sizes), smallest size first, with few changes.

    Of these paths the one with the least time over all these sizes is the first. `among`: paths that
    compete; by default all that move data in this memory domain (CPU or GPU).
    """
    found: list[tuple[set[str], list[int]]] = []
    for size in run.sizes:
        fastest = {entry.path for entry in run.fastest(size, domain, among)}
        if found and (common := found[-1][0] & fastest):
            found[-1] = (common, [*found[-1][1], size])
        elif fastest:
            found.append((fastest, [size]))
    return [(_in_order(run, names, sizes), sizes) for names, sizes in found]


def _in_order(run: Run, names: set[str], sizes: list[int]) -> list[str]:
    least = {size: min(run.entries[name, size].reckoned_s for name in names) for size in sizes}

    def behind(path: str) -> float:
        return sum(run.entries[path, size].reckoned_s / least[size] for size in sizes)

    return sorted((path for path in run.paths if path in names), key=behind)
