"""Two ranks take turns: rank 0 sends, rank 1 answers with a message of the same size."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import Shown
from wirespeed.patterns.steps import Figure, Step, Transfer


class PingPong(Pattern):
    """Half of a round trip is the one-way time."""

    name = "pingpong"
    summary = "Measure time and bandwidth between two ranks, by every path."
    help = """
    For each path and size: the one-way time (half of a round trip) and the bandwidth. Inside a launcher
    (mpirun -n 2 wirespeed pingpong) the two processes are the ranks; outside, each path is started as a job
    step of its own.

    \b
    Examples:
      wirespeed pingpong
      wirespeed pingpong --paths host,aware --sizes 8:1G --precision 0.5%
      wirespeed pingpong --between 2,3
      wirespeed pingpong --loops 50 --warmup 5 --format tutorial
      mpirun -n 2 wirespeed pingpong --out pair.jsonl
    """
    shown = Shown(published=True)

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        other = (Transfer(1 - rank, size),)
        send, receive = Step(sends=other), Step(receives=other)
        return [send, receive] if rank == 0 else [receive, send]

    def figure(self, size: int) -> Figure:
        return Figure(divisor=2, bytes=size, definition="one way: half of a round trip")


PATTERN = PingPong()
