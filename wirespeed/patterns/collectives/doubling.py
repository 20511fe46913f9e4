"""Recursive doubling and trees: the fewest steps, each over twice the distance of the one before."""

from __future__ import annotations

from wirespeed.patterns.base import Step, Transfer
from wirespeed.patterns.collectives.job import Job


def _distances(ranks: int) -> list[int]:
    """1, 2, 4, ... below `ranks`."""
    return [1 << bit for bit in range((ranks - 1).bit_length())]


def allreduce(job: Job) -> list[Step]:
    """Ranks beyond a power of two give their data to others before, and get the result after."""
    core = 1 << (job.ranks.bit_length() - 1)
    extra = job.ranks - core
    steps = []

    def place(rank: int, first: bool) -> int:
        return job.given if first and rank >= extra else job.got

    if extra:
        if job.rank >= core:
            steps.append(
                Step((Transfer(job.rank - core, job.block, job.given, job.scratch),), after=(job.idle,))
            )
        elif job.rank < extra:
            receives = (Transfer(job.rank + core, job.block, job.scratch, job.given),)
            work = job.combined(job.got, job.given, job.scratch, job.block)
            steps.append(Step(receives=receives, after=(work,)))
        else:
            steps.append(Step(after=(job.idle,)))
    for distance in _distances(core):
        peer, first = job.rank ^ distance, distance == 1
        if job.rank >= core:
            steps.append(Step(after=(job.idle,)))
            continue
        mine = place(job.rank, first)
        steps.append(
            Step(
                (Transfer(peer, job.block, mine, job.scratch),),
                (Transfer(peer, job.block, job.scratch, place(peer, first)),),
                (job.combined(job.got, mine, job.scratch, job.block),),
            )
        )
    if extra:
        # All ranks must have as many steps, and a last one with nothing in it would not count.
        last = Step(after=(job.idle,))
        if job.rank >= core:
            back = (Transfer(job.rank - core, job.block, job.got, job.got),)
            last = Step(receives=back, after=last.after)
        elif job.rank < extra:
            back = (Transfer(job.rank + core, job.block, job.got, job.got),)
            last = Step(back, after=last.after)
        steps.append(last)
    return steps


def allgather(job: Job) -> list[Step]:
    """For a power of two of ranks."""
    steps = []
    for distance in _distances(job.ranks):
        peer = job.rank ^ distance
        own, other = (rank // distance * distance * job.block for rank in (job.rank, peer))
        bytes_ = distance * job.block
        mine, theirs = (job.given, job.of(peer).given) if distance == 1 else (job.got + own, job.got + other)
        steps.append(
            Step(
                (Transfer(peer, bytes_, mine, job.got + own),),
                (Transfer(peer, bytes_, job.got + other, theirs),),
                meanwhile=job.own_block() if distance == 1 else (),
            )
        )
    return steps


def reducescatter(job: Job) -> list[Step]:
    """Recursive halving, for a power of two of ranks."""
    steps, half = [], job.ranks // 2
    landing, work = job.room(0), job.room(half)
    span, origin = 0, job.given
    for distance in reversed(_distances(job.ranks)):
        peer, bytes_ = job.rank ^ distance, distance * job.block
        keep, leave = (span + distance * bool(rank & distance) for rank in (job.rank, peer))
        mine, theirs = (origin + (one - span) * job.block for one in (leave, keep))
        to = job.got if distance == 1 else work
        steps.append(
            Step(
                (Transfer(peer, bytes_, mine, landing),),
                (Transfer(peer, bytes_, landing, theirs),),
                (job.combined(to, theirs, landing, bytes_),),
            )
        )
        span, origin = keep, work
    return steps


def broadcast(job: Job) -> list[Step]:
    """A binomial tree: in each step all that have the data send it to one more."""
    number, steps = (job.rank - job.root) % job.ranks, []
    for distance in _distances(job.ranks):
        step = Step()
        if number < distance and number + distance < job.ranks:
            mine = job.got if number else job.given
            step = Step((Transfer((job.rank + distance) % job.ranks, job.block, mine, job.got),))
        elif distance <= number < 2 * distance:
            theirs = job.got if number != distance else job.given
            peer = (job.rank - distance) % job.ranks
            step = Step(receives=(Transfer(peer, job.block, job.got, theirs),))
        steps.append(step)
    return steps


def reduce(job: Job) -> list[Step]:
    """The same tree, from its leaves."""
    top = _distances(job.ranks)[-1]

    def place(number: int, distance: int) -> int:
        """Where a rank's data lie before this step: has it received any?"""
        larger = distance * 2
        while larger <= top:
            if number < larger and number + larger < job.ranks:
                return job.got
            larger *= 2
        return job.given

    number, steps = (job.rank - job.root) % job.ranks, []
    for distance in reversed(_distances(job.ranks)):
        mine, step = place(number, distance), Step(after=(job.idle,))
        if distance <= number < 2 * distance:
            peer = (job.rank - distance) % job.ranks
            step = Step((Transfer(peer, job.block, mine, job.scratch),), after=(job.idle,))
        elif number < distance and number + distance < job.ranks:
            peer, theirs = (job.rank + distance) % job.ranks, place(number + distance, distance)
            work = job.combined(job.got, mine, job.scratch, job.block)
            step = Step(receives=(Transfer(peer, job.block, job.scratch, theirs),), after=(work,))
        steps.append(step)
    return steps


def barrier(job: Job) -> list[Step]:
    """Dissemination: each step doubles how many ranks one knows to have arrived."""
    return [
        Step(
            (Transfer((job.rank + distance) % job.ranks, 0),),
            (Transfer((job.rank - distance) % job.ranks, 0),),
        )
        for distance in _distances(job.ranks)
    ]
