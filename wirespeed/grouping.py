"""Grouping of what is alike: the one loop behind every list whose lines share a cause."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from wirespeed.units import format_size

K = TypeVar("K")
V = TypeVar("V")
N = TypeVar("N", int, float)
MAX_RANGES = 3


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, in order."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def together(pairs: Iterable[tuple[K, str]]) -> list[tuple[str, K]]:
    """('host, aware', key): the names of each key, each once, in order."""
    return [(", ".join(dict.fromkeys(names)), key) for key, names in grouped(pairs).items()]


def size_ranges(sizes: Collection[int], among: Iterable[int]) -> str:
    """'8 B to 64 B and 1 MiB': only these; sizes that are neighbours in `among` are one range.

    Of more than MAX_RANGES their number: '9 of 31 sizes from 8 B to 1 MiB'.
    """
    everything = sorted({*among, *sizes})
    ranges = [[*group] for inside, group in groupby(everything, key=lambda size: size in sizes) if inside]
    if len(ranges) > MAX_RANGES:
        return f"{len(sizes)} of {len(everything)} sizes from {size_range([*sizes])}"
    return " and ".join(map(size_range, ranges))


def size_range(sizes: Sequence[int]) -> str:
    """'8 B', '8 B to 1 GiB'."""
    return ends(sizes, format_size)


def ends(values: Collection[N], words: Callable[[N], str] = str) -> str:
    """'3 to 5': the smallest and the largest of them, once where they read the same."""
    return " to ".join(dict.fromkeys(map(words, (min(values), max(values)))))
