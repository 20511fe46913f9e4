"""Pairs of ranks that the user names: `fleet run` measures each of its rounds so."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from wirespeed.errors import WirespeedError
from wirespeed.patterns.base import Pattern
from wirespeed.patterns.pairs import Pairs
from wirespeed.patterns.rules import Option, Timing
from wirespeed.patterns.steps import Figure

Partners = dict[int, int]
"""Partner of each rank of a phase."""
_PAIR = re.compile(r"(\d{1,8})-(\d{1,8})")


class Pairing(Pairs):
    """Ping-pongs of the named disjoint pairs at once."""

    name = "pairing"
    summary = "Measure the pairs of ranks that you name, all at once."
    help = """
    Each pair does a ping-pong, all at the same time, and has a figure of its own. A rank is in one pair at
    most; after a / follow the pairs of another phase, which is measured after the one before. With
    --at-once N at most N pairs are measured at the same time. The times are one-way times. If both ranks of
    every pair are on the same host, --within-hosts lets gpu and ipc-write measure the pairs of all hosts.

    \b
    Examples:
      wirespeed pairing --ranks 8 --rank-pairs 0-5,1-3
      wirespeed pairing --ranks 4 --rank-pairs 0-1,2-3/0-2,1-3
      srun -N 64 --ntasks-per-node 1 wirespeed pairing --at-once 8
    """
    options = (  # type: ignore[assignment]  # as many as it has, not as many as those of Pairs
        Option("rank-pairs", "Pairs of ranks. Default: neighbours, 0-1,2-3,...", None, metavar="I-J,..."),
        Option("at-once", "At most N pairs at the same time.", None),
        Option(
            "within-hosts", "Paths of one host measure the pairs of each host.", False, for_transport=True
        ),
    )

    def refuse(self) -> str | None:
        if self.ranks < 2:
            return Pattern.refuse(self)
        given = self["rank_pairs"]
        worst = max(chain.from_iterable(parsed(given)), default=0) if given else 0
        if worst >= self.ranks:
            return f"--rank-pairs: rank {worst} takes {worst + 1} ranks or more, not {self.ranks}"
        return None

    _fan = None

    @property
    def timing(self) -> Timing:
        return Timing(phases=len(self._phases))

    def partner(self, rank: int, phase: int) -> int | None:
        return self._phases[phase].get(rank)

    def figure(self, size: int) -> Figure:
        many = self["at_once"]
        how = "disjoint pairs at once" if many is None else f"at most {many} pairs at once"
        return Figure(2, size, f"slowest pair: half of a round trip, {how}")

    @property
    def _phases(self) -> tuple[Partners, ...]:
        text = self["rank_pairs"] or _neighbours(self.ranks)
        return _split(str(text), int(self["at_once"] or 0))


@lru_cache(maxsize=8)
def parsed(text: str) -> tuple[Partners, ...]:
    """The phases in '0-5,1-3/2-4'. Raises WirespeedError for what is none."""
    return tuple(map(_phase, text.split("/")))


def _phase(text: str) -> Partners:
    found: Partners = {}
    for word in text.split(","):
        match = _PAIR.fullmatch(word.strip())
        number, other = (int(match[1]), int(match[2])) if match else (0, 0)
        if number == other:
            raise WirespeedError(
                f"'{word}' is no pair of two ranks: write 0-5,1-3, and / before another phase"
            )
        for rank in (number, other):
            if rank in found:
                raise WirespeedError(f"rank {rank} is in two pairs of one phase; write / between phases")
        found |= {number: other, other: number}
    return found


@lru_cache(maxsize=8)
def _split(text: str, at_once: int) -> tuple[Partners, ...]:
    """The phases, each of at most `at_once` pairs; 0: of all that it has."""
    found: list[Partners] = []
    for partners in parsed(text):
        pairs = [(number, other) for number, other in partners.items() if number < other]
        step = at_once or len(pairs)
        for first in range(0, len(pairs), step):
            part = pairs[first : first + step]
            found.append(dict([*part, *((other, number) for number, other in part)]))
    return tuple(found)


@lru_cache(maxsize=8)
def _neighbours(ranks: int) -> str:
    return ",".join(f"{rank}-{rank + 1}" for rank in range(0, ranks - 1, 2))


PATTERN = Pairing()
