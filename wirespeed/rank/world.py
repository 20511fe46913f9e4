"""Communication of ranks besides the bytes that are measured: set-up, agreement, the end.

MPI gives it (mpi_world.py), or sockets do where no MPI started the ranks (socket_world.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Collection, Sequence
from socket import socket
from typing import Any, Protocol, TypeVar, cast

from wirespeed.host.core import Core
from wirespeed.host.handles import ControlHandle

Value = TypeVar("Value")
"""Anything that can be written as JSON, or that pickle knows, of one type on all ranks."""


class Subworld(Protocol):
    """Some of the ranks."""

    def largest(self, values: array[float]) -> array[float]:
        """Value by value the largest of all ranks, on the first of them."""

    def free(self) -> None:
        """Its end."""


class World(ABC):
    """All ranks. Every method is collective unless it says otherwise."""

    rank: int
    size: int

    @abstractmethod
    def gather(self, value: Value) -> list[Value] | None:
        """Every rank's value, on rank 0."""

    @abstractmethod
    def share(self, value: Value, root: int = 0) -> Value:
        """That rank's value, on every rank."""

    @abstractmethod
    def everyone(self, value: Value) -> list[Value]:
        """Every rank's value, on every rank."""

    @abstractmethod
    def exchange(self, outgoing: dict[int, list[bytes]]) -> dict[int, list[bytes]]:
        """Messages to ranks; those from ranks, in the order in which each has sent them."""

    @abstractmethod
    def barrier(self) -> None: ...

    @abstractmethod
    def neighbours(self) -> int:
        """Ranks on this host."""

    @abstractmethod
    def of_ranks(self, ranks: Sequence[int]) -> Subworld | None:
        """Collective. A world of these ranks, of which this one is a member; None where `ranks` is empty."""

    @abstractmethod
    def described(self) -> dict[str, str] | None:
        """The MPI that was loaded, for the record; None: there is none."""

    @abstractmethod
    def open_mpi(self, core: Core) -> None:
        """Hands the communicator that is timed to the core, where there is an MPI. Not collective."""

    @abstractmethod
    def leave(self) -> None:
        """The end, together. Nothing may be left to do."""

    def maximum(self, value: float) -> float:
        """The largest of all ranks' values, on every rank."""
        return max(map(float, self.everyone(value)))

    def minimum(self, value: int) -> int:
        """The smallest of all ranks' values, on every rank."""
        return min(map(int, self.everyone(value)))

    def first(self, value: Value | None) -> tuple[int, Value] | None:
        """The lowest rank that has a value, and that value; None where nobody has one. On every rank."""
        rank = self.minimum(self.size if value is None else self.rank)
        return None if rank == self.size else (rank, cast("Value", self.share(value, root=rank)))

    @abstractmethod
    def connections(self, peers: Collection[int]) -> dict[int, socket]:
        """TCP connections to these ranks, which ask for this one too. Raises NativeError on every rank."""

    @abstractmethod
    def everyones_bytes(self, mine: memoryview, all_: memoryview) -> None:
        """Puts every rank's bytes, as many of each, one after the other."""

    @abstractmethod
    def share_bytes(self, data: memoryview, root: int) -> None:
        """Puts that rank's bytes in place of all others'."""

    def control(self, core: Core) -> ControlHandle:
        """The core's struct ws_control over this world, with the callbacks kept alive beside it. Not
        collective."""
        ffi = core.ffi

        @core.callback("int(void *, const void *, void *, uint64_t)")
        def allgather(_user: Any, mine: Any, all_: Any, each: int) -> int:
            self.everyones_bytes(ffi.buffer(mine, each), ffi.buffer(all_, each * self.size))
            return 0

        @core.callback("int(void *, void *, uint64_t, int)")
        def broadcast(_user: Any, data: Any, size: int, root: int) -> int:
            self.share_bytes(ffi.buffer(data, size), root)
            return 0

        @core.callback("int(void *)")
        def barrier(_user: Any) -> int:
            self.barrier()
            return 0

        @core.callback("int(void *, const int *, int, int *)")
        def connect(_user: Any, peers: Any, count: int, descriptors: Any) -> int:
            wanted = ffi.unpack(peers, count) if count else []
            found = self.connections(wanted)
            for place, peer in enumerate(wanted):
                descriptors[place] = found[peer].detach()
            return 0

        callbacks = {"allgather": allgather, "broadcast": broadcast, "barrier": barrier, "connect": connect}
        struct: ControlHandle = ffi.new("ws_control *", {"rank": self.rank, "size": self.size, **callbacks})
        self._alive = (*callbacks.values(), struct)
        return struct
