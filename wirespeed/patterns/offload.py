"""Blocks scattered in a GPU's memory go to places scattered in the host's memory, or come from there."""

from __future__ import annotations

from dataclasses import replace

from wirespeed.patterns.blocks import CONTIGUOUS, BlockLists
from wirespeed.patterns.rules import Kind, RankRule
from wirespeed.patterns.steps import Step, Transfer


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
    options = tuple(option for option in BlockLists.options if option.name != "allocations")
    rank_rule = RankRule(None, usual=1, per_gpu=True)
    kind = Kind(
        intra_rank=True,
        scattered=True,
        needs_device="no GPU was found, and it copies between a GPU and its host; for tests there is "
        "--device emulated",
    )
    timing = replace(BlockLists.timing, barrier=True, slowest=True)
    receivers = 1

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        total = self._total(size)
        if phase == CONTIGUOUS or not total:
            whole = (Transfer(rank, total),)
            return [Step(whole, whole)]
        sent = self.blocks(size)
        received, length = sent.reversed(), len(sent) * size
        pools = [number * sent.pool for number in range(self._lists)]
        return [
            Step(
                (Transfer(rank, length, pool, pool, blocks=sent),),
                (Transfer(rank, length, pool, pool, blocks=received),),
            )
            for pool in pools
        ]

    def _measured(self, lists: int) -> tuple[int, str, str]:
        what = f"{lists} lists go, one after the other," if lists > 1 else "a list goes"
        time, rate = f"the time in which {what} to its places", "GB/s of the blocks' bytes"
        if self.ranks > 1:
            rate = f"slowest of {self.ranks} ranks that copy at once; GB/s of one rank"
        return 1, time, rate


PATTERN = Offload()
