"""Blocks scattered in a pool go to places in another rank's pool, and back, or to several ranks' pools."""

from __future__ import annotations

from dataclasses import replace

from wirespeed.errors import WirespeedError
from wirespeed.patterns import block_list, kv_models
from wirespeed.patterns.base import Pattern
from wirespeed.patterns.block_list import GAP, LAYOUTS, MAX_BLOCKS, SPREAD, Blocks
from wirespeed.patterns.rules import Kind, Option, RankRule, SizeRule, Timing
from wirespeed.patterns.steps import Derived, Figure, Step, Transfer
from wirespeed.units import counted, format_size, size_word

TOTAL = 16 << 20
"""Bytes of a list by default."""
LISTED = "4K"
"""The default size of a block at places that the user lists."""
CONTIGUOUS = 1
"""The phase in which the same bytes are one message."""


class BlockLists(Pattern):
    """Half of the time in which a list goes there and back, and the same bytes as one message.

    With more than two ranks: the time in which rank 0 sends a list to each of the others, and hears of all.
    """

    name = "blocks"
    summary = "Measure lists of scattered blocks, as pages of a KV cache."
    help = """
    A list of blocks, scattered in a pool of memory at rank 0, goes to other places in a pool at rank 1, as
    pages of a KV cache do, and a list of the same kind comes back. For each path and size of a block: half of
    that time, GB/s of the blocks' bytes, and blocks per second. By turns with each list the same bytes are
    measured as one contiguous message; the share is what the list reaches of its speed.

    With --ranks 8 rank 0 sends a list to each of the 7 others at once: the time of the slowest receiver, up
    to its empty answer, and GB/s out of rank 0. --count and --total are of one list.

    Every byte of every block is checked, and that nothing between the blocks was touched.

    \b
    --kv MODEL:tp=8:page=16   the block is a page of one layer, keys and values together, on one of 8 ranks
    --list FILE               your own places: a line 'from to' in bytes for each block; # begins a comment

    \b
    Examples:
      wirespeed blocks
      wirespeed blocks --block 32K --count 64 --layout strided
      wirespeed blocks --kv llama-3.1-70b:tp=8:page=16 --layers
      wirespeed blocks --ranks 8 --paths gpu,ipc-gather
      wirespeed blocks --list mine.txt --block 4K --paths host,host-shared
    """
    options: tuple[Option, ...] = (
        Option("count", "Blocks of a list.", None, least=0, most=MAX_BLOCKS),
        Option("total", "Bytes of a list, instead of --count. Default: 16M.", None, metavar="SIZE"),
        Option(
            "allocations",
            "Allocations that a list lies in at each end, of two ranks. Default: one.",
            1,
            most=MAX_BLOCKS,
        ),
        Option("layout", "How blocks lie in the pools.", LAYOUTS[0], choices=LAYOUTS),
        Option("seed", "Which random places; the same on every path.", 1, least=0),
        Option("kv", "Blocks are pages of this model's KV cache.", None, metavar="MODEL"),
        Option("layers", "With --kv: a list for each layer, one after the other.", default=False),
        Option(
            "list",
            "Places of the blocks, of 4K unless --block says more; docs/patterns.md.",
            None,
            metavar="FILE",
            content=block_list.digest,
        ),
        Option(
            "pool", "Bytes of the pool of --list. Default: as far as its blocks reach.", None, metavar="SIZE"
        ),
        Option(
            "multiprocessors",
            "So many of a GPU's carry lists, where a kernel does. Default: all.",
            None,
            for_transport=True,
        ),
        Option("element", "Blocks and places must be multiples of so many bytes.", 1, most=4096),
    )
    rank_rule = RankRule(None, usual=2, per_gpu=True)
    kind = Kind(scattered=True)
    timing = Timing(phases=2, reported=0, baseline="contiguous")

    @property
    def receivers(self) -> int:
        """Number of ranks to which a list goes at once."""
        return max(1, self.ranks - 1)

    def refuse(self) -> str | None:
        if why := super().refuse():
            return why
        if self["count"] is not None and self["total"] is not None:
            return "--count and --total both say how long a list is: write one of them"
        if self["layers"] and not self["kv"]:
            return f"--layers takes the number of layers from a model: --kv {kv_models.EXAMPLE}"
        if self["list"]:
            own = next((name for name in ("count", "total", "kv") if self[name] is not None), None)
            if own or self["layout"] != LAYOUTS[0]:
                return f"--list says which blocks there are: leave out --{own or 'layout'}"
            block_list.read(str(self["list"]))
        elif self["pool"] is not None:
            return "--pool is the pool of --list FILE, which is missing"
        if self._allocations > 1:
            others = {"list": self["list"], "layers": self["layers"], "ranks": self.ranks > 2}
            if other := next((name for name, chosen in others.items() if chosen), None):
                return f"--allocations: one list between two ranks may lie in several; leave out --{other}"
        receivers, kernels = self.receivers, self["multiprocessors"]
        if kernels is not None and int(kernels) < receivers:
            return f"--multiprocessors {kernels}: {receivers} lists go at once; write {receivers} or more"
        if self["kv"]:
            kv_models.parsed(str(self["kv"]))
        return None

    @property
    def size_rule(self) -> SizeRule:
        of = "4K,32K,128K,1M", "4K,64K,1M", "block", "block size"
        rule = SizeRule(*of, refuse=self._refuse_size, that_fits=self._that_fits)
        if model := self["kv"]:
            return replace(rule, fixed=(kv_models.parsed(str(model)).bytes,), fixed_by="--kv")
        return replace(rule, usual=LISTED, soak=LISTED) if self["list"] else rule

    def _refuse_size(self, size: int) -> str | None:
        element = int(self["element"])
        if size < 1:
            return "--block 0: a block has at least 1 byte"
        if size % element:
            below = size // element * element
            near = f"{below} or {below + element}" if below else str(element)
            return f"--block {size}: this is no multiple of the element of {element} bytes; {near} is"
        if file := self["list"]:
            return block_list.wrong_in(str(file), size, element, self["pool"])
        count, lists = self._count(size), self._lists
        if (allocations := self._allocations) > max(count, 1):
            what = f"a list of {counted(count, 'block')} of {format_size(size)}"
            return f"--allocations {allocations}: {what} lies in {max(count, 1)} at most"
        receivers = self.receivers
        most = MAX_BLOCKS // receivers
        if count * lists > most:
            given = self["count"] is not None
            fits = f"--count {most // lists}" if given else f"--total {size_word(most * size)}"
            all_of_them = "" if receivers == 1 else f" for each of {receivers} receivers"
            return (
                f"--block {size}: {counted(count * lists, 'block')}, and a list has at most {most:,}"
                f"{all_of_them}: {fits} or less"
            )
        return None

    def _that_fits(self, size: int, memory: int) -> str:
        lists = self._lists
        if self["list"]:
            return ""
        slots = SPREAD if self["layout"] != "contiguous" else 1
        count = (memory // (lists * self.receivers) - 2 * GAP) // slots // max(size, 1)
        if count < 1:
            return "no block of this size fits"
        if self["count"] is not None:
            return f"--count {count} fits"
        # A power of two is a number that somebody would write.
        return f"--total {size_word(1 << (count * size * lists).bit_length() - 1)} fits"

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        if self.ranks > 2:
            return self._steps_to_all(rank, size, phase)
        lists = self._lists_to(1, size, phase)
        if rank == 0:
            there = [Step(sends=(sent,)) for sent, _ in lists]
            return there + [Step(receives=(replace(received, peer=1),)) for _, received in lists]
        there = [Step(receives=(received,)) for _, received in lists]
        return there + [Step(sends=(replace(sent, peer=0),)) for sent, _ in lists]

    def _steps_to_all(self, rank: int, size: int, phase: int) -> list[Step]:
        """The answers keep rank 0 from running ahead, and tell it when the last receiver has its list."""
        if rank:
            lists = self._lists_to(rank, size, phase)
            return [*(Step(receives=(received,)) for _, received in lists), Step(sends=(Transfer(0, 0),))]
        receivers = range(1, self.ranks)
        by_step = zip(*(self._lists_to(each, size, phase) for each in receivers), strict=True)
        out = [Step(sends=tuple(sent for sent, _ in lists)) for lists in by_step]
        return [*out, Step(receives=tuple(Transfer(each, 0) for each in receivers))]

    def _lists_to(self, rank: int, size: int, phase: int) -> list[tuple[Transfer, Transfer]]:
        """(as rank 0 sends it, as `rank` receives it) of each list, or of the one message in its place.

        At rank 0 each receiver's lists lie behind the ones of the receiver before.
        """
        before, total = rank - 1, self._total(size)
        if phase == CONTIGUOUS or not total:
            return [(Transfer(rank, total, before * total), Transfer(0, total, 0, before * total))]
        sent = self.blocks(size)
        received, length, lists = sent.reversed(), len(sent) * size, self._lists
        pools = [(number * sent.pool, (before * lists + number) * sent.pool) for number in range(lists)]
        return [
            (
                Transfer(rank, length, there, here, blocks=sent),
                Transfer(0, length, here, there, blocks=received),
            )
            for here, there in pools
        ]

    def extent(self, rank: int, size: int) -> int:
        if not self._total(size):
            return 0
        pools = self._lists * (1 if rank else self.receivers)
        return pools * self.blocks(size).pool

    def figure(self, size: int) -> Figure:
        total, receivers = self._total(size), self.receivers
        count = receivers * total // size if size else 0
        of = f"{format_size(total)} in blocks"
        if self["list"] or self["count"] is not None:
            # The bytes are not those of every size, and one definition is printed for all.
            of = counted(count // receivers, "block")
        if word := self["kv"]:
            of = f"{format_size(total)} in {kv_models.parsed(str(word))}"
        how = "as listed" if self["list"] else str(self["layout"])
        if self._allocations > 1:
            how += f" in {self._allocations} allocations"
        trips, time, rate = self._measured(self._lists)
        blocks = Derived("blocks", count, "blocks/s")
        return Figure(trips, receivers * total, f"list: {time}, {of}, {how}; {rate}", (blocks,), count)

    def _measured(self, lists: int) -> tuple[int, str, str]:
        """Times that a list travels in an iteration, and what the time and GB/s are of."""
        what = f"{lists} lists go, one after the other," if lists > 1 else "a list goes"
        if (receivers := self.receivers) == 1:
            return 2, f"half of the time in which {what} there and back", "GB/s of the blocks' bytes"
        time = (
            f"the time in which {what} to each of {receivers} ranks at once, and an empty answer comes back"
        )
        return 1, time, "GB/s of the blocks' bytes out of rank 0"

    def blocks(self, size: int) -> Blocks:
        """The list as the sender sees it: the same on all ranks, on every path, and in every process."""
        if file := self["list"]:
            if self.shape.options.get("list_sha256", "") not in ("", block_list.digest(str(file))):
                raise WirespeedError(f"--list {file}: it is not what it was when the run began")
            places = tuple((source, target) for _, source, target in block_list.read(str(file)))
            return block_list.listed(size, places, self["pool"])
        return block_list.laid_out(size, self._count(size), self["layout"], self["seed"])

    @property
    def _lists(self) -> int:
        return kv_models.parsed(str(self["kv"])).model.layers if self["layers"] else 1

    @property
    def _allocations(self) -> int:
        return int(self.shape.options.get("allocations") or 1)

    def _count(self, size: int) -> int:
        """Blocks of a list; --total is that of all lists together, at least a block of each."""
        if self["count"] is not None:
            return int(self["count"])
        total = TOTAL if self["total"] is None else int(self["total"])
        return max(1, total // self._lists // max(size, 1))

    def _total(self, size: int) -> int:
        if self["list"]:
            return len(block_list.read(str(self["list"]))) * size
        return self._lists * self._count(size) * size


PATTERN = BlockLists()
