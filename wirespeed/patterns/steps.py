"""Parts of what a rank does: its transfers and work, step by step, and what a time of them means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.patterns.block_list import Blocks


@dataclass(frozen=True)
class Transfer:
    """`bytes` to or from `peer`, at `offset` in this rank's send or receive buffer.

    `remote_offset`: where they lie in the peer's receive buffer (of a send) or send buffer (of a receive).
    """

    peer: int
    bytes: int
    offset: int = 0
    remote_offset: int = 0
    back: bool = False
    """Inside a rank: it goes from the receive buffer to the send buffer."""
    blocks: Blocks | None = None
    """The bytes are scattered: both offsets are those of a pool, from which the blocks' places count."""

    @property
    def parts(self) -> tuple[Transfer, ...]:
        """One transfer for each of its blocks, for a transport that takes no lists."""
        blocks = self.blocks
        if blocks is None:
            return (self,)
        return tuple(
            Transfer(self.peer, blocks.bytes, self.offset + place, self.remote_offset + remote, self.back)
            for place, remote in zip(blocks.places, blocks.remote_places, strict=True)
        )


@dataclass(frozen=True)
class Place:
    """So many bytes behind the start of the receive buffer; a kernel gets the address."""

    offset: int


@dataclass(frozen=True)
class Work:
    """A launch of one of the core's kernels on the rank's own device; a CPU runs it as one thread."""

    kernel: str
    arguments: tuple[int | float | Place, ...]
    """Whole numbers, doubles and places in the order of the kernel's arguments."""
    blocks: int = 1
    threads: int = 1


@dataclass(frozen=True)
class Collective:
    """An operation of all ranks, as a library does it in one call; places count from the buffer's start."""

    operation: str
    type: str
    reduction: str
    root: int
    count: int
    """Elements of a rank's block; of the whole buffer where every rank has all of it."""
    given: int
    given_bytes: int
    got: int
    got_bytes: int
    gets: bool
    """Does this rank get a result? Not the root of a broadcast, and of a reduction only the root."""
    in_place: bool


@dataclass(frozen=True)
class Step:
    """Transfers that run concurrently, and work; the next step starts when all are done.

    Every rank has work in the same steps.
    """

    sends: tuple[Transfer, ...] = ()
    receives: tuple[Transfer, ...] = ()
    after: tuple[Work, ...] = ()
    """Follows what the step receives."""
    meanwhile: tuple[Work, ...] = ()
    """Needs nothing that the step receives."""
    gated: tuple[Work, ...] = ()
    """In place of both where a path orders kernels by flags: argument 0 is the gate (kernels/gate.h)."""
    collective: Collective | None = None
    """In place of all else: the transport's own operation of all ranks; such a step is an iteration."""


@dataclass(frozen=True)
class Sums:
    """Doubles that iterations change: `before`, `before` + 1, ... `before` + 1023, `before`, ...

    Afterwards those at `offset` begin with `after`.
    """

    bytes: int
    before: float
    after: float
    offset: int = 0


@dataclass(frozen=True)
class Derived:
    """Another figure of the same samples: `amount` / seconds in GB/s or messages/s, or seconds * `amount`."""

    name: str
    amount: float
    unit: str = "GB/s"


@dataclass(frozen=True)
class Figure:
    """Meaning of a sample: a time of sample / divisor seconds, in which `bytes` bytes were moved.

    `definition` begins with what the seconds are called, then a colon: "one way: half of a round trip".
    """

    divisor: float
    bytes: int
    definition: str
    derived: tuple[Derived, ...] = ()
    blocks: int = 0
    """Blocks in lists that a rank sends in one iteration."""

    @property
    def timed(self) -> str:
        """What the seconds are called."""
        return self.definition.split(":")[0].split(",")[0]


@dataclass(frozen=True)
class Team:
    """Ranks whose work is one figure. The teams of a phase have no rank in common."""

    name: str
    ranks: Sequence[int]
