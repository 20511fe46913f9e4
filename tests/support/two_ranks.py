"""Two ranks that use the core as no command does: two_ranks.py SCENARIO.

Prints what rank 0 found, as JSON.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

from wirespeed.host.core import NativeError

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.rank import Rank


class TwoRanks(Rank):
    """One of the two, on an emulated GPU."""

    def exchange(self, transport: Any, buffers: Any, size: int) -> Any:
        """A program of one step: a message each way."""
        peer = 1 - self.world.rank
        return self.program(transport, buffers, [(0, into, peer, 0, size) for into in (False, True)])

    def moves(self, program: Any, buffers: Any, size: int, tag: int) -> None:
        """A round with fresh content, every byte of which is checked."""
        send, receive = self.lib.ws_buffers_send(buffers), self.lib.ws_buffers_receive(buffers)
        rank, first = self.world.rank, self.ffi.new("uint64_t *")
        self.check(self.lib.ws_device_fill(self.device, b"device", send, size, rank, tag))
        self.world.barrier()
        self.run(program, 1)
        self.check(self.lib.ws_device_check(self.device, b"device", receive, size, 1 - rank, tag, first))
        assert first[0] == size, f"byte {first[0]} of {size} is wrong"


def staging_outlived(rank: TwoRanks) -> dict[str, Any]:
    """A program goes on after a later one of larger buffers was made."""
    transport = rank.transport("staged")
    small, large = rank.buffers(transport, 1 << 20), rank.buffers(transport, 1 << 24)
    first = rank.exchange(transport, small, 1 << 20)
    rank.moves(first, small, 1 << 20, 1)
    second = rank.exchange(transport, large, 1 << 24)
    rank.moves(second, large, 1 << 24, 2)
    rank.moves(first, small, 1 << 20, 3)
    rank.check(rank.lib.ws_buffers_close(small))
    rank.close(transport, large, first, second)
    return {"moved": "all"}


def communicator_of_a_peer_that_failed(rank: TwoRanks) -> dict[str, Any]:
    """How many communicators are left where rank 1 could not make its own."""
    nccl = ctypes.CDLL(os.environ["WIRESPEED_LIBRARY_NCCL"])
    said = ""
    try:
        rank.transport("ccl")
    except NativeError as error:
        said = str(error)
    return {"said": said, "left": nccl.fake_nccl_communicators()}


class Nccl:
    """Exchanges over NCCL, one transport after the other."""

    def __init__(self, rank: TwoRanks) -> None:
        self.rank, self.library = rank, ctypes.CDLL(os.environ["WIRESPEED_LIBRARY_NCCL"])

    def counts(self) -> list[int]:
        """Communicators that there have been, and that there are."""
        return [self.library.fake_nccl_starts(), self.library.fake_nccl_communicators()]

    def path(self, options: str = "", *, keeps: bool = True, spoil: Any = None) -> list[Any]:
        """Opens, moves, closes; the counts, whose communicator is described, and how it connects."""
        rank, lib = self.rank, self.rank.lib
        transport = rank.transport("ccl", options)
        described = rank.core.described(lib.ws_transport_describe(transport))
        buffers = rank.buffers(transport, 1 << 16)
        program = rank.exchange(transport, buffers, 1 << 16)
        for tag in range(3):
            rank.moves(program, buffers, 1 << 16, tag)
        lib.ws_program_close(program)
        if spoil:
            spoil(transport, buffers)
        rank.check(lib.ws_buffers_close(buffers))
        rank.check((lib.ws_transport_close_keeping if keeps else lib.ws_transport_close)(transport))
        return [*self.counts(), "own" if described["start_s"] else "another's", described["via"]]

    def end(self) -> list[int]:
        self.rank.check(self.rank.lib.ws_kept_close(self.rank.page))
        return self.counts()


def communicator_kept(rank: TwoRanks) -> dict[str, Any]:
    """Two transports with one communicator, which ends when it is told to, or with the second one."""
    nccl = Nccl(rank)
    found = {"first": nccl.path(), "second": nccl.path("iterations=stream"), "end": nccl.end()}
    found |= {"third": nccl.path(), "last": nccl.path(keeps=False), "no more": nccl.end()}
    return found


def communicator_of_other_settings(rank: TwoRanks) -> dict[str, Any]:
    """What NCCL reads at its start has changed on one rank."""
    nccl = Nccl(rank)
    found = {"first": nccl.path()}
    if rank.world.rank == 1:
        os.environ["NCCL_ALGO"] = "Ring"
    return found | {"second": nccl.path(), "end": nccl.end()}


def communicator_that_one_rank_lacks(rank: TwoRanks) -> dict[str, Any]:
    """One rank alone has ended what all had kept."""
    nccl = Nccl(rank)
    found = {"first": nccl.path()}
    if rank.world.rank == 1:
        nccl.end()
    return found | {"second": nccl.path(), "end": nccl.end()}


def communicator_spoilt(rank: TwoRanks) -> dict[str, Any]:
    """A call of NCCL fails on rank 1 alone."""
    nccl = Nccl(rank)

    def spoil(transport: Any, buffers: Any) -> None:
        if rank.world.rank != 1:
            return
        program = rank.program(transport, buffers, [(0, into, 1, 0, 8) for into in (False, True)])
        os.environ["FAKE_NCCL_FAIL"] = "ncclSend=4"
        try:
            rank.run(program, 1)
        except NativeError as error:
            assert "ncclSend" in str(error)
        else:
            raise AssertionError("nothing failed")
        finally:
            del os.environ["FAKE_NCCL_FAIL"]
        rank.lib.ws_program_close(program)

    found = {"first": nccl.path(spoil=spoil), "second": nccl.path(), "third": nccl.path()}
    return found | {"end": nccl.end()}


if __name__ == "__main__":
    rank = TwoRanks()
    rank.leave(globals()[sys.argv[1]](rank))
