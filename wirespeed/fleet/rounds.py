"""Who is measured with whom: random rounds of disjoint pairs."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from wirespeed.patterns.pairs import meets

Pairs = list[tuple[str, str]]


def pairs_of(round_: int, hosts: Sequence[str], seed: int, silent: Collection[str] = ()) -> Pairs:
    """The disjoint pairs of a round, counted from 0.

    A round robin over a random order of the hosts, its rounds in a random order: no host meets another twice
    before meeting all others, and of an odd number another one waits each time. Then comes another random
    order. It follows from hosts, seed and round alone, so a run that is gone on with makes the same pairs; a
    silent host's partners wait.
    """
    count = len(hosts)
    if count < 2:
        return []
    cycle, place = divmod(round_, count - 1 + count % 2)
    chance = random.Random(f"{seed} {cycle}")
    order = chance.sample(list(hosts), count)
    rounds = count - 1 + count % 2
    number = chance.sample(range(rounds), rounds)[place]
    found = []
    for rank, name in enumerate(order):
        other = meets(rank, number, count)
        if other is not None and rank < other and not {name, order[other]} & set(silent):
            found.append((name, order[other]))
    return found
