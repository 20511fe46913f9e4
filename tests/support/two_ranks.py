"""Two ranks that use the core as no command does: two_ranks.py LIBRARY SCENARIO.

Prints what rank 0 found, as JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

from wirespeed.host.core import NativeError, core
from wirespeed.host.die_with_parent import die_with_parent
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.rank.join.mpi_world import MpiWorld


class Rank:
    """One of the two, on an emulated GPU."""

    def __init__(self, library: str) -> None:
        self.core = core()
        self.lib, self.ffi, self.check = self.core.lib, self.core.ffi, self.core.check
        self.world = MpiWorld(ExpectedJob(size=2, library=library))
        self.world.open_mpi(self.core)
        self.device = self.core.open_device("emulated", self.world.rank)
        self.page = self.check(self.lib.ws_page_open(b"", self.world.rank))
        self._control = self.world.control(self.core)

    def transport(self, name: str, options: str = "") -> Any:
        return self.check(
            self.lib.ws_transport_open(name.encode(), options.encode(), self._control, self.device, self.page)
        )

    def buffers(self, transport: Any, size: int) -> Any:
        return self.check(self.lib.ws_buffers_open(transport, b"device", size))

    def exchange(self, transport: Any, buffers: Any, size: int) -> Any:
        """A program of one step: a message each way."""
        flat = [(0, receives, 1 - self.world.rank, 0, 0, size, 0) for receives in (0, 1)]
        transfers = self.ffi.new("ws_transfer[]", flat)
        return self.check(self.lib.ws_program_open(transport, buffers, transfers, 2, self.ffi.NULL, 0, 0))

    def clock(self, program: Any) -> tuple[float, float]:
        cost, resolution = self.ffi.new("double *"), self.ffi.new("double *")
        self.check(self.lib.ws_program_clock(program, cost, resolution))
        return cost[0], resolution[0]

    def run(self, program: Any, rounds: int) -> None:
        self.check(self.lib.ws_program_run(program, rounds, self.ffi.new("double *")))

    def moves(self, program: Any, buffers: Any, size: int, tag: int) -> None:
        """A round with fresh content, every byte of which is checked."""
        send, receive = self.lib.ws_buffers_send(buffers), self.lib.ws_buffers_receive(buffers)
        rank, first = self.world.rank, self.ffi.new("uint64_t *")
        self.check(self.lib.ws_device_fill(self.device, b"device", send, size, rank, tag))
        self.world.barrier()
        self.run(program, 1)
        self.check(self.lib.ws_device_check(self.device, b"device", receive, size, 1 - rank, tag, first))
        assert first[0] == size, f"byte {first[0]} of {size} is wrong"


def staging_outlived(rank: Rank) -> dict[str, Any]:
    """A program goes on after a later one of larger buffers was made."""
    transport = rank.transport("staged")
    small, large = rank.buffers(transport, 1 << 20), rank.buffers(transport, 1 << 24)
    first = rank.exchange(transport, small, 1 << 20)
    rank.moves(first, small, 1 << 20, 1)
    second = rank.exchange(transport, large, 1 << 24)
    rank.moves(second, large, 1 << 24, 2)
    rank.moves(first, small, 1 << 20, 3)
    for program in (first, second):
        rank.lib.ws_program_close(program)
    for buffers in (small, large):
        rank.check(rank.lib.ws_buffers_close(buffers))
    rank.check(rank.lib.ws_transport_close(transport))
    return {"moved": "all"}


def communicator_of_a_peer_that_failed(rank: Rank) -> dict[str, Any]:
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

    def __init__(self, rank: Rank) -> None:
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


def communicator_kept(rank: Rank) -> dict[str, Any]:
    """Two transports with one communicator, which ends when it is told to, or with the second one."""
    nccl = Nccl(rank)
    found = {"first": nccl.path(), "second": nccl.path("iterations=stream"), "end": nccl.end()}
    found |= {"third": nccl.path(), "last": nccl.path(keeps=False), "no more": nccl.end()}
    return found


def communicator_of_other_settings(rank: Rank) -> dict[str, Any]:
    """What NCCL reads at its start has changed on one rank."""
    nccl = Nccl(rank)
    found = {"first": nccl.path()}
    if rank.world.rank == 1:
        os.environ["NCCL_ALGO"] = "Ring"
    return found | {"second": nccl.path(), "end": nccl.end()}


def communicator_that_one_rank_lacks(rank: Rank) -> dict[str, Any]:
    """One rank alone has ended what all had kept."""
    nccl = Nccl(rank)
    found = {"first": nccl.path()}
    if rank.world.rank == 1:
        nccl.end()
    return found | {"second": nccl.path(), "end": nccl.end()}


def communicator_spoilt(rank: Rank) -> dict[str, Any]:
    """A call of NCCL fails on rank 1 alone."""
    nccl = Nccl(rank)

    def spoil(transport: Any, buffers: Any) -> None:
        if rank.world.rank != 1:
            return
        to_itself = rank.ffi.new("ws_transfer[]", [(0, receives, 1, 0, 0, 8, 0) for receives in (0, 1)])
        program = rank.check(rank.lib.ws_program_open(transport, buffers, to_itself, 2, rank.ffi.NULL, 0, 0))
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


def main() -> None:
    die_with_parent()
    rank = Rank(sys.argv[1])
    found = globals()[sys.argv[2]](rank)
    if rank.world.rank == 0:
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    rank.world.leave()


if __name__ == "__main__":
    main()
