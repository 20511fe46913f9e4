"""Blocks scattered in a GPU's memory go to places scattered in the host's memory, or come from there."""

from __future__ import annotations

from dataclasses import replace

from wirespeed.patterns.base import Figure, Shape, Step, Transfer
from wirespeed.patterns.blocks import CONTIGUOUS, BlockLists


class Offload(BlockLists):
    """The time of a list of blocks between a GPU and its host, and of the same bytes as one copy."""

    name = "offload"
    summary = "Measure scattered blocks between a GPU and its host."
    help = """
    A list of blocks, scattered in a GPU's pool of memory, goes to other places in a pool of the host's memory
    (d2h), as pages of a KV cache that are offloaded, or comes from there (h2d): by a loop of copies
    (pinned), by one call for all of them (batch) and by a kernel. By turns with each list the same bytes are
    copied as one piece; the share is what the list reaches of its speed.

    With several ranks all copy at once, and the figure is that of the slowest one.

    Every byte of every block is checked, and that nothing between the blocks was touched.

    \b
    Examples:
      wirespeed offload
      wirespeed offload --block 8K --total 128M --paths '*-kernel' --multiprocessors 16
      wirespeed offload --ranks 2 --paths 'd2h-*'
      wirespeed offload --kv llama-3.1-70b:tp=8:page=16 --layers
    """
    ranks = None
    intra_rank = True
    barrier_per_sample = True
    slowest_counts = True
    trips, way = 1, "to its places"

    def wanted_ranks(self, shape: Shape) -> int:
        return 1

    def steps(self, rank: int, shape: Shape, size: int, phase: int = 0) -> list[Step]:
        total = self._total(shape, size)
        if phase == CONTIGUOUS or not total:
            whole = (Transfer(rank, total),)
            return [Step(whole, whole)]
        sent = self.blocks(shape, size)
        received, length = sent.reversed(), len(sent) * size
        pools = [number * sent.pool for number in range(self._lists(shape.options))]
        return [
            Step(
                (Transfer(rank, length, pool, pool, blocks=sent),),
                (Transfer(rank, length, pool, pool, blocks=received),),
            )
            for pool in pools
        ]

    def figure(self, shape: Shape, size: int) -> Figure:
        figure = super().figure(shape, size)
        if shape.ranks == 1:
            return figure
        text = f"{figure.definition}, slowest of {shape.ranks} ranks that copy at once; GB/s of one rank"
        return replace(figure, definition=text.replace("; GB/s of the blocks' bytes,", ","))


PATTERN = Offload()
