"""Lists of blocks: places in a pool of the sender, and in one of the receiver, the same on every rank."""

from __future__ import annotations

import hashlib
import random
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from wirespeed import inputs
from wirespeed.errors import WirespeedError
from wirespeed.units import counted, format_size, parse_size

MAX_BLOCKS = 1 << 18
"""Each is an object in some transports."""
SPREAD = 2
"""Slots of a pool for each block in it, where blocks do not lie side by side."""
GAP = 256
"""Bytes behind the last slot, at least, in which nothing may arrive; pools are multiples of it."""
LAYOUTS = ("random", "strided", "contiguous")


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of one size, in order: where each lies in this rank's pool, and where in the peer's.

    Places count from the start of the pool, which both ends have `pool` bytes of.
    """

    bytes: int
    """Bytes of each block."""
    places: Sequence[int]
    remote_places: Sequence[int]
    pool: int
    allocations: Sequence[tuple[int, int]] = ()
    """(first byte, bytes) of each that the pool consists of, where these are several."""

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def pieces(self) -> array[int]:
        """(place in this rank's pool, place in the peer's, bytes) of every block, flat."""
        sizes = [self.bytes] * len(self)
        return _flat(zip(self.places, self.remote_places, sizes, strict=True))

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """(first byte, bytes) of all of this rank's pool."""
        return self.allocations or ((0, self.pool),)

    @cached_property
    def whole(self) -> array[int]:
        """The same as `pieces` of all of this rank's pool."""
        return _flat((start, start, size) for start, size in self.spans)

    @cached_property
    def gaps(self) -> array[int]:
        """The same of all that lies between this rank's blocks, which no block may touch."""
        ends = sorted([*(start for start, _ in self.spans), *(place + self.bytes for place in self.places)])
        starts = sorted([*self.places, *(start + size for start, size in self.spans)])
        gaps = zip(ends, starts, strict=True)
        return _flat((end, end, start - end) for end, start in gaps if start > end)

    def cuts(self, allocations: int) -> list[tuple[int, int]]:
        """(first byte, bytes) of parts of this rank's pool that have as many blocks each, or one more.

        Precondition: there are as many blocks, and none overlaps another.
        """
        order = sorted(self.places)
        starts = [0, *(order[part * len(order) // allocations] for part in range(1, allocations))]
        ends = [*starts[1:], self.pool]
        return [(start, end - start) for start, end in zip(starts, ends, strict=True)]

    def scattered(self, parts: Sequence[tuple[int, int]], begins: Sequence[int], remote: Placement) -> Blocks:
        """The list once each of `parts` (cuts()) begins elsewhere; `remote`: the peer's parts and begins."""
        lengths = [size for _, size in parts]
        return Blocks(
            self.bytes,
            _moved(self.places, parts, begins),
            _moved(self.remote_places, *remote),
            self.pool,
            tuple(zip(begins, lengths, strict=True)),
        )

    def named(self, place: int) -> str:
        """A wrong byte at a place of this rank's pool, in words: which block it is of."""
        number = next(n for n, at in enumerate(self.places) if at <= place < at + self.bytes)
        inside = place - self.places[number]
        return f"byte {inside} of {self.bytes} of block {number} of {len(self)} differs"

    def stray(self, place: int) -> str:
        """The same of a byte that is of no block."""
        return f"byte {place} of the pool, outside of all {len(self)} blocks, was changed"

    def reversed(self) -> Blocks:
        """As the peer has them."""
        return Blocks(self.bytes, self.remote_places, self.places, self.pool)


Placement = tuple[Sequence[tuple[int, int]], Sequence[int]]
"""(first byte, bytes) of each part of a pool, and where each part begins."""


def _moved(places: Sequence[int], parts: Sequence[tuple[int, int]], begins: Sequence[int]) -> array[int]:
    starts = [start for start, _ in parts]
    found = ((place, bisect_right(starts, place) - 1) for place in places)
    return array("Q", (place - starts[part] + begins[part] for place, part in found))


def _flat(triples: Iterator[tuple[int, int, int]] | zip[tuple[int, int, int]]) -> array[int]:
    return array("Q", (number for triple in triples for number in triple))


@lru_cache(maxsize=8)
def laid_out(size: int, count: int, layout: str, seed: int) -> Blocks:
    """`count` blocks of `size` bytes, seen from the sender."""
    if layout == "contiguous":
        slots, sources = count, list(range(count))
        targets = sources
    elif layout == "strided":
        slots, sources = SPREAD * count, list(range(0, SPREAD * count, SPREAD))
        targets = sources
    else:
        slots, chance = SPREAD * count, random.Random(seed)
        sources, targets = _some(count, slots, chance), _some(count, slots, chance)
    return _blocks(size, [size * slot for slot in sources], [size * slot for slot in targets], size * slots)


def _some(count: int, slots: int, chance: random.Random) -> list[int]:
    """So many of the slots, in random order: the first steps of a shuffle.

    By random() alone, whose numbers every version of Python makes the same of a seed.
    """
    found = list(range(slots))
    for place in range(count):
        other = place + int(chance.random() * (slots - place))
        found[place], found[other] = found[other], found[place]
    return found[:count]


@lru_cache(maxsize=8)
def listed(size: int, places: tuple[tuple[int, int], ...], pool: int | None) -> Blocks:
    """Blocks of `size` bytes at a user's places (from, to); `pool`: bytes, None: as far as they reach."""
    sources, targets = zip(*places, strict=True)
    end = max(max(pair) for pair in places) + size
    return _blocks(size, list(sources), list(targets), pool or end)


def _blocks(size: int, sources: list[int], targets: list[int], end: int) -> Blocks:
    pool = (end + GAP - 1) // GAP * GAP + GAP
    return Blocks(size, array("Q", sources), array("Q", targets), pool)


@lru_cache(maxsize=4)
def read(name: str) -> tuple[tuple[int, int, int], ...]:
    """(line, from, to) of a user's list. Raises WirespeedError that names file and line."""
    try:
        text = inputs.text(name, "utf-8-sig", pipes=False)
    except (OSError, ValueError) as error:
        raise WirespeedError(f"--list {name}: cannot read it ({inputs.why(error)})") from None
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            values = counted(len(words), "value")
            raise WirespeedError(f"{name}:{number}: {values} where there must be two, from and to in bytes")
        found.append((number, *(_place(f"{name}:{number}", word) for word in words)))
        if len(found) > MAX_BLOCKS:
            raise WirespeedError(f"{name}:{number}: a list has at most {MAX_BLOCKS} blocks")
    if not found:
        raise WirespeedError(f"{name}: there are no blocks in it; write a line 'from to' in bytes for each")
    return tuple((line, source, target) for line, source, target in found)


@lru_cache(maxsize=4)
def digest(name: str) -> str:
    """The first 16 digits of the SHA-256 of a user's places, a line 'from to' in bytes for each block."""
    lines = "".join(f"{source} {target}\n" for _, source, target in read(name))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def _place(where: str, word: str) -> int:
    try:
        return parse_size(word[:40], "place")
    except WirespeedError as error:
        raise WirespeedError(f"{where}: {error}") from None


def wrong_in(name: str, size: int, element: int, pool: int | None) -> str | None:
    """Why a user's list cannot be measured with blocks of `size` bytes; None if it can."""
    lines = read(name)
    for number, *places in lines:
        for what, place in zip(("from", "to"), places, strict=True):
            if place % element:
                return f"{name}:{number}: {what} {place} is no multiple of the element of {element} bytes"
            if pool is not None and place + size > pool:
                ends = f"the block ends at {place + size}, outside of the pool of {format_size(pool)}"
                return f"{name}:{number}: {what} {place}: {ends}"
    for (at, first), (after, second) in pairwise(sorted((target, line) for line, _, target in lines)):
        if after < at + size:
            lower, upper = sorted((first, second))
            other = at if upper == second else after
            return (
                f"{name}:{upper}: the block of {format_size(size)} overlaps at its destination the one of "
                f"line {lower}, which goes to {other}"
            )
    return None
