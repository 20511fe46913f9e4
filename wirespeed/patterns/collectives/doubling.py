"""Recursive doubling and trees: the fewest steps, each over twice the distance of the one before."""

from __future__ import annotations

from wirespeed.patterns.collectives.rank_view import RankView
from wirespeed.patterns.steps import Step, Transfer


def _distances(ranks: int) -> list[int]:
    """1, 2, 4, ... below `ranks`."""
    return [1 << bit for bit in range((ranks - 1).bit_length())]


def allreduce(view: RankView) -> list[Step]:
    """Ranks beyond a power of two give their data to others before, and get the result after."""
    core = 1 << (view.ranks.bit_length() - 1)
    extra = view.ranks - core
    steps = []

    def place(rank: int, first: bool) -> int:
        return view.given if first and rank >= extra else view.got

    if extra:
        if view.rank >= core:
            steps.append(
                Step((Transfer(view.rank - core, view.block, view.given, view.scratch),), after=(view.idle,))
            )
        elif view.rank < extra:
            receives = (Transfer(view.rank + core, view.block, view.scratch, view.given),)
            work = view.combined(view.got, view.given, view.scratch, view.block)
            steps.append(Step(receives=receives, after=(work,)))
        else:
            steps.append(Step(after=(view.idle,)))
    for distance in _distances(core):
        peer, first = view.rank ^ distance, distance == 1
        if view.rank >= core:
            steps.append(Step(after=(view.idle,)))
            continue
        mine = place(view.rank, first)
        steps.append(
            Step(
                (Transfer(peer, view.block, mine, view.scratch),),
                (Transfer(peer, view.block, view.scratch, place(peer, first)),),
                (view.combined(view.got, mine, view.scratch, view.block),),
            )
        )
    if extra:
        # All ranks must have as many steps, and a last one with nothing in it would not count.
        last = Step(after=(view.idle,))
        if view.rank >= core:
            back = (Transfer(view.rank - core, view.block, view.got, view.got),)
            last = Step(receives=back, after=last.after)
        elif view.rank < extra:
            back = (Transfer(view.rank + core, view.block, view.got, view.got),)
            last = Step(back, after=last.after)
        steps.append(last)
    return steps


def allgather(view: RankView) -> list[Step]:
    """For a power of two of ranks."""
    steps = []
    for distance in _distances(view.ranks):
        peer = view.rank ^ distance
        own, other = (rank // distance * distance * view.block for rank in (view.rank, peer))
        bytes_ = distance * view.block
        mine, theirs = (
            (view.given, view.of(peer).given) if distance == 1 else (view.got + own, view.got + other)
        )
        steps.append(
            Step(
                (Transfer(peer, bytes_, mine, view.got + own),),
                (Transfer(peer, bytes_, view.got + other, theirs),),
                meanwhile=view.own_block() if distance == 1 else (),
            )
        )
    return steps


def reducescatter(view: RankView) -> list[Step]:
    """Recursive halving, for a power of two of ranks."""
    steps, half = [], view.ranks // 2
    landing, work = view.room(0), view.room(half)
    span, origin = 0, view.given
    for distance in reversed(_distances(view.ranks)):
        peer, bytes_ = view.rank ^ distance, distance * view.block
        keep, leave = (span + distance * bool(rank & distance) for rank in (view.rank, peer))
        mine, theirs = (origin + (number - span) * view.block for number in (leave, keep))
        to = view.got if distance == 1 else work
        steps.append(
            Step(
                (Transfer(peer, bytes_, mine, landing),),
                (Transfer(peer, bytes_, landing, theirs),),
                (view.combined(to, theirs, landing, bytes_),),
            )
        )
        span, origin = keep, work
    return steps


def broadcast(view: RankView) -> list[Step]:
    """A binomial tree: in each step all that have the data send it to one more."""
    number, steps = (view.rank - view.root) % view.ranks, []
    for distance in _distances(view.ranks):
        step = Step()
        if number < distance and number + distance < view.ranks:
            mine = view.got if number else view.given
            step = Step((Transfer((view.rank + distance) % view.ranks, view.block, mine, view.got),))
        elif distance <= number < 2 * distance:
            theirs = view.got if number != distance else view.given
            peer = (view.rank - distance) % view.ranks
            step = Step(receives=(Transfer(peer, view.block, view.got, theirs),))
        steps.append(step)
    return steps


def reduce(view: RankView) -> list[Step]:
    """The same tree, from its leaves."""
    top = _distances(view.ranks)[-1]

    def place(number: int, distance: int) -> int:
        """Place of a rank's data before this step: it depends on whether it has received any."""
        larger = distance * 2
        while larger <= top:
            if number < larger and number + larger < view.ranks:
                return view.got
            larger *= 2
        return view.given

    number, steps = (view.rank - view.root) % view.ranks, []
    for distance in reversed(_distances(view.ranks)):
        mine, step = place(number, distance), Step(after=(view.idle,))
        if distance <= number < 2 * distance:
            peer = (view.rank - distance) % view.ranks
            step = Step((Transfer(peer, view.block, mine, view.scratch),), after=(view.idle,))
        elif number < distance and number + distance < view.ranks:
            peer, theirs = (view.rank + distance) % view.ranks, place(number + distance, distance)
            work = view.combined(view.got, mine, view.scratch, view.block)
            step = Step(receives=(Transfer(peer, view.block, view.scratch, theirs),), after=(work,))
        steps.append(step)
    return steps


def barrier(view: RankView) -> list[Step]:
    """Dissemination: each step doubles how many ranks one knows to have arrived."""
    return [
        Step(
            (Transfer((view.rank + distance) % view.ranks, 0),),
            (Transfer((view.rank - distance) % view.ranks, 0),),
        )
        for distance in _distances(view.ranks)
    ]
