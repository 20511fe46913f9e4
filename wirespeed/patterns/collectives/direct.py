"""Direct exchange: every rank sends to all others at once."""

from __future__ import annotations

from wirespeed.patterns.collectives.rank_view import RankView
from wirespeed.patterns.collectives.ring import put_in_place
from wirespeed.patterns.steps import Step, Transfer, Work


def _others(view: RankView) -> list[int]:
    return [(view.rank + turn) % view.ranks for turn in range(1, view.ranks)]


def _slot(view: RankView, sender: int, receiver: int) -> int:
    """Where a sender's message lands at the receiver, until all are there."""
    return view.room((sender - receiver - 1) % view.ranks)


def _gathered(view: RankView, place: int, bytes_: int) -> tuple[Work, ...]:
    """All that has arrived, combined with this rank's own at `place` of what it gives."""
    to = view.got if view.operation == "reducescatter" else view.got + place
    works = [view.combined(to, view.given + place, view.room(0), bytes_)]
    works += [view.combined(to, to, view.room(slot), bytes_) for slot in range(1, view.ranks - 1)]
    return tuple(works)


def _reduced(view: RankView, parts: list[tuple[int, int]]) -> Step:
    """Rank r gets part r of all."""
    own = parts[view.rank]
    return Step(
        tuple(
            Transfer(rank, parts[rank][1], view.given + parts[rank][0], _slot(view, view.rank, rank))
            for rank in _others(view)
        ),
        tuple(
            Transfer(rank, own[1], _slot(view, rank, view.rank), view.given + own[0])
            for rank in _others(view)
        ),
        _gathered(view, *own),
    )


def allreduce(view: RankView) -> list[Step]:
    """A reduce-scatter, then an all-gather."""
    parts = [view.part(rank) for rank in range(view.ranks)]

    def sent(rank: int, peer: int) -> Transfer:
        place = view.got + parts[rank][0]
        return Transfer(peer, parts[rank][1], place, place)

    others = _others(view)
    back = Step(
        tuple(sent(view.rank, other) for other in others), tuple(sent(other, other) for other in others)
    )
    return [_reduced(view, parts), back]


def reducescatter(view: RankView) -> list[Step]:
    return [_reduced(view, [(rank * view.block, view.block) for rank in range(view.ranks)])]


def allgather(view: RankView) -> list[Step]:
    to = view.got + view.rank * view.block
    return [
        Step(
            tuple(Transfer(rank, view.block, view.given, to) for rank in _others(view)),
            tuple(
                Transfer(rank, view.block, view.got + rank * view.block, view.of(rank).given)
                for rank in _others(view)
            ),
            meanwhile=view.own_block(),
        )
    ]


def alltoall(view: RankView) -> list[Step]:
    def landing(sender: int) -> int:
        return view.room(sender) if view.in_place else view.got + sender * view.block

    mine = view.given + view.rank * view.block
    return [
        Step(
            tuple(
                Transfer(rank, view.block, view.given + rank * view.block, landing(view.rank))
                for rank in _others(view)
            ),
            tuple(Transfer(rank, view.block, landing(rank), mine) for rank in _others(view)),
            after=put_in_place(view),
            meanwhile=view.own_block(),
        )
    ]


def broadcast(view: RankView) -> list[Step]:
    if view.rank == view.root:
        return [Step(tuple(Transfer(rank, view.block, view.given, view.got) for rank in _others(view)))]
    return [Step(receives=(Transfer(view.root, view.block, view.got, view.given),))]


def reduce(view: RankView) -> list[Step]:
    def slot(sender: int) -> int:
        return view.room((sender - view.root - 1) % view.ranks, view.block)

    if view.rank != view.root:
        return [Step((Transfer(view.root, view.block, view.given, slot(view.rank)),), after=(view.idle,))]
    others = _others(view)
    works = [view.combined(view.got, view.given, slot(others[0]), view.block)]
    works += [view.combined(view.got, view.got, slot(rank), view.block) for rank in others[1:]]
    receives = tuple(Transfer(rank, view.block, slot(rank), view.given) for rank in others)
    return [Step(receives=receives, after=tuple(works))]


def barrier(view: RankView) -> list[Step]:
    everyone = tuple(Transfer(rank, 0) for rank in _others(view))
    return [Step(everyone, everyone)]
