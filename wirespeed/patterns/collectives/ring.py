"""Ring: each rank sends to the next one only, and every link carries the least that it must."""

from __future__ import annotations

from wirespeed.patterns.collectives.rank_view import RankView
from wirespeed.patterns.steps import Step, Transfer, Work


def _reduced_parts(view: RankView) -> list[Step]:
    """A part goes round and grows; at the end rank r has all of part r + 1 where its results lie."""
    steps = []
    for turn in range(view.ranks - 1):
        out, into = view.part(view.rank - turn), view.part(view.rank - turn - 1)
        origin = view.got if turn else view.given
        # In place, what arrives must not overwrite what it is added to.
        landing = view.scratch if view.in_place else view.got + into[0]
        theirs = view.scratch if view.in_place else view.got + out[0]
        steps.append(
            Step(
                (Transfer((view.rank + 1) % view.ranks, out[1], origin + out[0], theirs),),
                (Transfer((view.rank - 1) % view.ranks, into[1], landing, origin + into[0]),),
                (view.combined(view.got + into[0], view.given + into[0], landing, into[1]),),
            )
        )
    return steps


def allreduce(view: RankView) -> list[Step]:
    steps = _reduced_parts(view)
    for turn in range(view.ranks - 1):
        out, into = view.part(view.rank + 1 - turn), view.part(view.rank - turn)
        places = view.got + out[0], view.got + into[0]
        steps.append(
            Step(
                (Transfer((view.rank + 1) % view.ranks, out[1], places[0], places[0]),),
                (Transfer((view.rank - 1) % view.ranks, into[1], places[1], places[1]),),
            )
        )
    return steps


def reduce(view: RankView) -> list[Step]:
    def sent(rank: int) -> tuple[int, int]:
        first, bytes_ = view.part(rank + 1)
        return bytes_, view.got + first

    others = [rank for rank in range(view.ranks) if rank != view.root]
    if view.rank == view.root:
        last = Step(receives=tuple(Transfer(rank, *sent(rank), sent(rank)[1]) for rank in others))
    else:
        last = Step((Transfer(view.root, *sent(view.rank), sent(view.rank)[1]),))
    return [*_reduced_parts(view), last]


def reducescatter(view: RankView) -> list[Step]:
    steps, last = [], view.ranks - 2
    for turn in range(last + 1):
        out, into = (view.rank - 1 - turn) % view.ranks, (view.rank - 2 - turn) % view.ranks
        landing, before = view.room(turn % 2), view.room((turn + 1) % 2)
        places = [before if turn else view.given + number * view.block for number in (out, into)]
        to = view.got if turn == last else landing
        steps.append(
            Step(
                (Transfer((view.rank + 1) % view.ranks, view.block, places[0], landing),),
                (Transfer((view.rank - 1) % view.ranks, view.block, landing, places[1]),),
                (view.combined(to, landing, view.given + into * view.block, view.block),),
            )
        )
    return steps


def allgather(view: RankView) -> list[Step]:
    steps = []
    for turn in range(view.ranks - 1):
        out, into = (view.rank - turn) % view.ranks, (view.rank - turn - 1) % view.ranks
        mine, theirs = (
            view.got + number * view.block if turn else view.of(number).given for number in (out, into)
        )
        steps.append(
            Step(
                (Transfer((view.rank + 1) % view.ranks, view.block, mine, view.got + out * view.block),),
                (Transfer((view.rank - 1) % view.ranks, view.block, view.got + into * view.block, theirs),),
                meanwhile=() if turn else view.own_block(),
            )
        )
    return steps


def alltoall(view: RankView) -> list[Step]:
    """One peer after the other: in each step another one."""
    steps = []
    for turn in range(1, view.ranks):
        to, origin = (view.rank + turn) % view.ranks, (view.rank - turn) % view.ranks
        landing, theirs = (
            view.room(number) if view.in_place else view.got + number * view.block
            for number in (origin, view.rank)
        )
        steps.append(
            Step(
                (Transfer(to, view.block, view.given + to * view.block, theirs),),
                (Transfer(origin, view.block, landing, view.given + view.rank * view.block),),
                after=put_in_place(view) if turn == view.ranks - 1 else (),
                meanwhile=view.own_block() if turn == 1 else (),
            )
        )
    return steps


def put_in_place(view: RankView) -> tuple[Work, ...]:
    """Copies to their place of what arrived beside the buffer, while it was still to be sent."""
    others = (rank for rank in range(view.ranks) if view.in_place and rank != view.rank)
    return tuple(view.copied(view.got + rank * view.block, view.room(rank), view.block) for rank in others)


def broadcast(view: RankView) -> list[Step]:
    """The root scatters parts, which then go round."""

    def place(rank: int, part: tuple[int, int]) -> int:
        return (view.given if rank % view.ranks == view.root else view.got) + part[0]

    turns = (view.rank - view.root) % view.ranks
    if turns == 0:
        parts = [(number, view.part(number)) for number in range(1, view.ranks)]
        steps = [
            Step(
                tuple(
                    Transfer((view.root + n) % view.ranks, part[1], view.given + part[0], view.got + part[0])
                    for n, part in parts
                )
            )
        ]
    else:
        own = view.part(turns)
        steps = [Step(receives=(Transfer(view.root, own[1], view.got + own[0], view.given + own[0]),))]
    for turn in range(view.ranks - 1):
        out, into = view.part(turns - turn), view.part(turns - turn - 1)
        after, before = (view.rank + 1) % view.ranks, (view.rank - 1) % view.ranks
        sends = (Transfer(after, out[1], place(view.rank, out), view.got + out[0]),)
        receives = (Transfer(before, into[1], view.got + into[0], place(before, into)),)
        # The root has all of it.
        steps.append(Step(sends if after != view.root else (), receives if turns else ()))
    return steps


def barrier(view: RankView) -> list[Step]:
    neighbours = (view.rank + 1) % view.ranks, (view.rank - 1) % view.ranks
    return [Step((Transfer(neighbours[0], 0),), (Transfer(neighbours[1], 0),))] * (view.ranks - 1)
