"""Direct exchange: every rank sends to all others at once."""

from __future__ import annotations

from wirespeed.patterns.base import Step, Transfer, Work
from wirespeed.patterns.collectives.job import Job
from wirespeed.patterns.collectives.ring import put_in_place


def _others(job: Job) -> list[int]:
    return [(job.rank + turn) % job.ranks for turn in range(1, job.ranks)]


def _slot(job: Job, sender: int, receiver: int) -> int:
    """Where a sender's message lands at the receiver, until all are there."""
    return job.room((sender - receiver - 1) % job.ranks)


def _gathered(job: Job, place: int, bytes_: int) -> tuple[Work, ...]:
    """All that has arrived, combined with this rank's own at `place` of what it gives."""
    to = job.got if job.operation == "reducescatter" else job.got + place
    works = [job.combined(to, job.given + place, job.room(0), bytes_)]
    works += [job.combined(to, to, job.room(slot), bytes_) for slot in range(1, job.ranks - 1)]
    return tuple(works)


def _reduced(job: Job, parts: list[tuple[int, int]]) -> Step:
    """Rank r gets part r of all."""
    own = parts[job.rank]
    return Step(
        tuple(
            Transfer(rank, parts[rank][1], job.given + parts[rank][0], _slot(job, job.rank, rank))
            for rank in _others(job)
        ),
        tuple(
            Transfer(rank, own[1], _slot(job, rank, job.rank), job.given + own[0]) for rank in _others(job)
        ),
        _gathered(job, *own),
    )


def allreduce(job: Job) -> list[Step]:
    """A reduce-scatter, then an all-gather."""
    parts = [job.part(rank) for rank in range(job.ranks)]

    def sent(rank: int, peer: int) -> Transfer:
        place = job.got + parts[rank][0]
        return Transfer(peer, parts[rank][1], place, place)

    others = _others(job)
    back = Step(tuple(sent(job.rank, one) for one in others), tuple(sent(one, one) for one in others))
    return [_reduced(job, parts), back]


def reducescatter(job: Job) -> list[Step]:
    return [_reduced(job, [(rank * job.block, job.block) for rank in range(job.ranks)])]


def allgather(job: Job) -> list[Step]:
    to = job.got + job.rank * job.block
    return [
        Step(
            tuple(Transfer(rank, job.block, job.given, to) for rank in _others(job)),
            tuple(
                Transfer(rank, job.block, job.got + rank * job.block, job.of(rank).given)
                for rank in _others(job)
            ),
            meanwhile=job.own_block(),
        )
    ]


def alltoall(job: Job) -> list[Step]:
    def landing(sender: int) -> int:
        return job.room(sender) if job.in_place else job.got + sender * job.block

    mine = job.given + job.rank * job.block
    return [
        Step(
            tuple(
                Transfer(rank, job.block, job.given + rank * job.block, landing(job.rank))
                for rank in _others(job)
            ),
            tuple(Transfer(rank, job.block, landing(rank), mine) for rank in _others(job)),
            after=put_in_place(job),
            meanwhile=job.own_block(),
        )
    ]


def broadcast(job: Job) -> list[Step]:
    if job.rank == job.root:
        return [Step(tuple(Transfer(rank, job.block, job.given, job.got) for rank in _others(job)))]
    return [Step(receives=(Transfer(job.root, job.block, job.got, job.given),))]


def reduce(job: Job) -> list[Step]:
    def slot(sender: int) -> int:
        # Whole buffers, not parts of them.
        return job.scratch + (sender - job.root - 1) % job.ranks * job.block

    if job.rank != job.root:
        return [Step((Transfer(job.root, job.block, job.given, slot(job.rank)),), after=(job.idle,))]
    others = _others(job)
    works = [job.combined(job.got, job.given, slot(others[0]), job.block)]
    works += [job.combined(job.got, job.got, slot(rank), job.block) for rank in others[1:]]
    receives = tuple(Transfer(rank, job.block, slot(rank), job.given) for rank in others)
    return [Step(receives=receives, after=tuple(works))]


def barrier(job: Job) -> list[Step]:
    everyone = tuple(Transfer(rank, 0) for rank in _others(job))
    return [Step(everyone, everyone)]
