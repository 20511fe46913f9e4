"""One shot: every rank sends all it has to all others at once, and each combines what it gets by itself."""

from __future__ import annotations

from wirespeed.patterns.collectives.rank_view import RankView
from wirespeed.patterns.steps import Step, Transfer, Work


def _landing(view: RankView, sender: int, receiver: int) -> int:
    return view.room((sender - receiver - 1) % view.ranks, view.block)


def _combined_in_rank_order(view: RankView) -> tuple[Work, ...]:
    """The same sums in the same order on every rank, so that results are equal bit for bit."""
    places = [
        view.given if rank == view.rank else _landing(view, rank, view.rank) for rank in range(view.ranks)
    ]
    so_far, works = places[0], []
    for rank in range(1, view.ranks):
        # In place, this rank's own data may not be overwritten before they are added.
        to = places[0] if view.in_place and rank < view.rank else view.got
        works.append(view.combined(to, so_far, places[rank], view.block))
        so_far = to
    return tuple(works)


def allreduce(view: RankView) -> list[Step]:
    others = [(view.rank + turn) % view.ranks for turn in range(1, view.ranks)]
    return [
        Step(
            tuple(Transfer(rank, view.block, view.given, _landing(view, view.rank, rank)) for rank in others),
            tuple(Transfer(rank, view.block, _landing(view, rank, view.rank), view.given) for rank in others),
            _combined_in_rank_order(view),
        )
    ]
