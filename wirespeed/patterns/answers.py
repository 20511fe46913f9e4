"""Transfers that need an answer, so that an iteration cannot begin before the last one has ended.

Between two barriers lie many iterations. A rank that sends and hears of nobody runs ahead of its receivers:
what is then timed is the gap between messages, not how long one takes.
"""

from __future__ import annotations

from collections.abc import Iterable


def unanswered(transfers: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """(sender, receiver) pairs, each once, in order, from whose receiver no message leads back.

    A message leads back directly or through other ranks: the sender waits for it in each iteration.
    """
    pairs = sorted(set(transfers))
    component = _components(pairs)
    return [(sender, receiver) for sender, receiver in pairs if component[sender] != component[receiver]]


def _components(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """Each rank's strongly connected component (Kosaraju's two searches)."""
    forward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    for sender, receiver in pairs:
        forward.setdefault(sender, []).append(receiver)
        backward.setdefault(receiver, []).append(sender)
    finished: list[int] = []
    seen: set[int] = set()
    for first in forward:
        finished += _search(first, forward, seen)
    component: dict[int, int] = {}
    seen = set()
    for root in (*reversed(finished), *backward):
        for rank in _search(root, backward, seen):
            component[rank] = root
    return component


def _search(first: int, leads_to: dict[int, list[int]], seen: set[int]) -> list[int]:
    """The ranks not seen yet that `first` leads to, itself included, in the order in which they are left."""
    if first in seen:
        return []
    seen.add(first)
    left: list[int] = []
    under_way = [(first, iter(leads_to.get(first, ())))]
    while under_way:
        rank, others = under_way[-1]
        other = next((other for other in others if other not in seen), None)
        if other is None:
            left.append(rank)
            under_way.pop()
        else:
            seen.add(other)
            under_way.append((other, iter(leads_to.get(other, ()))))
    return left
