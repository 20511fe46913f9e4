"""Ring: each rank sends to the next one only, and every link carries the least that it must."""

from __future__ import annotations

from wirespeed.patterns.base import Step, Transfer, Work
from wirespeed.patterns.collectives.job import Job


def _reduced_parts(job: Job) -> list[Step]:
    """A part goes round and grows; at the end rank r has all of part r + 1 where its results lie."""
    steps = []
    for turn in range(job.ranks - 1):
        out, into = job.part(job.rank - turn), job.part(job.rank - turn - 1)
        origin = job.got if turn else job.given
        # In place, what arrives must not overwrite what it is added to.
        landing = job.scratch if job.in_place else job.got + into[0]
        theirs = job.scratch if job.in_place else job.got + out[0]
        steps.append(
            Step(
                (Transfer((job.rank + 1) % job.ranks, out[1], origin + out[0], theirs),),
                (Transfer((job.rank - 1) % job.ranks, into[1], landing, origin + into[0]),),
                (job.combined(job.got + into[0], job.given + into[0], landing, into[1]),),
            )
        )
    return steps


def allreduce(job: Job) -> list[Step]:
    steps = _reduced_parts(job)
    for turn in range(job.ranks - 1):
        out, into = job.part(job.rank + 1 - turn), job.part(job.rank - turn)
        places = job.got + out[0], job.got + into[0]
        steps.append(
            Step(
                (Transfer((job.rank + 1) % job.ranks, out[1], places[0], places[0]),),
                (Transfer((job.rank - 1) % job.ranks, into[1], places[1], places[1]),),
            )
        )
    return steps


def reduce(job: Job) -> list[Step]:
    def sent(rank: int) -> tuple[int, int]:
        first, bytes_ = job.part(rank + 1)
        return bytes_, job.got + first

    others = [rank for rank in range(job.ranks) if rank != job.root]
    if job.rank == job.root:
        last = Step(receives=tuple(Transfer(rank, *sent(rank), sent(rank)[1]) for rank in others))
    else:
        last = Step((Transfer(job.root, *sent(job.rank), sent(job.rank)[1]),))
    return [*_reduced_parts(job), last]


def reducescatter(job: Job) -> list[Step]:
    steps, last = [], job.ranks - 2
    for turn in range(last + 1):
        out, into = (job.rank - 1 - turn) % job.ranks, (job.rank - 2 - turn) % job.ranks
        landing, before = job.room(turn % 2), job.room((turn + 1) % 2)
        places = [before if turn else job.given + one * job.block for one in (out, into)]
        to = job.got if turn == last else landing
        steps.append(
            Step(
                (Transfer((job.rank + 1) % job.ranks, job.block, places[0], landing),),
                (Transfer((job.rank - 1) % job.ranks, job.block, landing, places[1]),),
                (job.combined(to, landing, job.given + into * job.block, job.block),),
            )
        )
    return steps


def allgather(job: Job) -> list[Step]:
    steps = []
    for turn in range(job.ranks - 1):
        out, into = (job.rank - turn) % job.ranks, (job.rank - turn - 1) % job.ranks
        mine, theirs = (job.got + one * job.block if turn else job.of(one).given for one in (out, into))
        steps.append(
            Step(
                (Transfer((job.rank + 1) % job.ranks, job.block, mine, job.got + out * job.block),),
                (Transfer((job.rank - 1) % job.ranks, job.block, job.got + into * job.block, theirs),),
                meanwhile=() if turn else job.own_block(),
            )
        )
    return steps


def alltoall(job: Job) -> list[Step]:
    """One peer after the other: in each step another one."""
    steps = []
    for turn in range(1, job.ranks):
        to, origin = (job.rank + turn) % job.ranks, (job.rank - turn) % job.ranks
        landing, theirs = (
            job.room(one) if job.in_place else job.got + one * job.block for one in (origin, job.rank)
        )
        steps.append(
            Step(
                (Transfer(to, job.block, job.given + to * job.block, theirs),),
                (Transfer(origin, job.block, landing, job.given + job.rank * job.block),),
                after=put_in_place(job) if turn == job.ranks - 1 else (),
                meanwhile=job.own_block() if turn == 1 else (),
            )
        )
    return steps


def put_in_place(job: Job) -> tuple[Work, ...]:
    """What arrived beside the buffer, while it was still to be sent."""
    others = (rank for rank in range(job.ranks) if job.in_place and rank != job.rank)
    return tuple(job.copied(job.got + rank * job.block, job.room(rank), job.block) for rank in others)


def broadcast(job: Job) -> list[Step]:
    """The root scatters parts, which then go round."""

    def place(rank: int, part: tuple[int, int]) -> int:
        return (job.given if rank % job.ranks == job.root else job.got) + part[0]

    turns = (job.rank - job.root) % job.ranks
    if turns == 0:
        parts = [(number, job.part(number)) for number in range(1, job.ranks)]
        steps = [
            Step(
                tuple(
                    Transfer((job.root + n) % job.ranks, part[1], job.given + part[0], job.got + part[0])
                    for n, part in parts
                )
            )
        ]
    else:
        own = job.part(turns)
        steps = [Step(receives=(Transfer(job.root, own[1], job.got + own[0], job.given + own[0]),))]
    for turn in range(job.ranks - 1):
        out, into = job.part(turns - turn), job.part(turns - turn - 1)
        after, before = (job.rank + 1) % job.ranks, (job.rank - 1) % job.ranks
        sends = (Transfer(after, out[1], place(job.rank, out), job.got + out[0]),)
        receives = (Transfer(before, into[1], job.got + into[0], place(before, into)),)
        # The root has all of it.
        steps.append(Step(sends if after != job.root else (), receives if turns else ()))
    return steps


def barrier(job: Job) -> list[Step]:
    neighbours = (job.rank + 1) % job.ranks, (job.rank - 1) % job.ranks
    return [Step((Transfer(neighbours[0], 0),), (Transfer(neighbours[1], 0),))] * (job.ranks - 1)
