"""The ranks' communicator: joined through mpi4py, checked against the launcher, used for set-up traffic."""

from __future__ import annotations

import ctypes
import os
from array import array
from collections.abc import Collection, Sequence
from socket import socket
from typing import Any

from wirespeed.host.core import Core
from wirespeed.host.libraries import loaded_file
from wirespeed.host.mpi import parse_library_string, title_of
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.launchers import foreign_to, global_rank
from wirespeed.launchers.srun import may_end_in_init, other_kind
from wirespeed.rank.join.handshake import wrong
from wirespeed.rank.join.peers import connections
from wirespeed.rank.world import Value, World


class MpiWorld(World):
    """MPI_COMM_WORLD, and the same as the core sees it."""

    def __init__(self, expected: ExpectedJob) -> None:
        """Joins. Raises WirespeedError when the library or the size is not the expected one."""
        if expected.library:
            os.environ["MPI4PY_LIBMPI"] = expected.library
        import mpi4py

        # A library that is not the launcher's may end the process in MPI_Init: it is asked before.
        mpi4py.rc(initialize=False)
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError, OSError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[-1]
            raise wrong(f"no MPI library could be loaded ({reason}); name an MPI with --mpi PREFIX") from None
        self._mpi = MPI
        self.string: str = MPI.Get_library_version().strip("\0 \n")
        self.vendor, self.version = parse_library_string(self.string)
        self.library = expected.library or loaded_library()
        self._check_library(expected)
        if global_rank() == 0 and (warning := may_end_in_init(self.vendor, self.version, os.environ)):
            os.write(2, f"wirespeed: {warning}\n".encode())
        self._initialize()
        self.comm = MPI.COMM_WORLD.Dup()
        self.rank: int = self.comm.rank
        self.size: int = self.comm.size
        self._check_size(expected)
        self.timed = MPI.COMM_WORLD.Dup()

    def _initialize(self) -> None:
        """As mpi4py does, whose call lets no other thread record that it hangs."""
        found, mpi = ctypes.c_int(), self._mpi
        # Only one thread calls MPI, and locks for more would be measured.
        call = ctypes.CDLL(self.library).MPI_Init_thread
        if code := call(None, None, int(mpi.THREAD_FUNNELED), ctypes.byref(found)):
            raise wrong(f"MPI_Init_thread of {self.title} ended with error {code}")
        for comm in (mpi.COMM_WORLD, mpi.COMM_SELF):
            comm.Set_errhandler(mpi.ERRORS_RETURN)

    @property
    def title(self) -> str:
        return title_of(self.vendor, self.version)

    def _check_library(self, expected: ExpectedJob) -> None:
        vendor = expected.vendor or self.vendor
        launcher = title_of(vendor, expected.version or "")
        loaded = f"but the ranks loaded {self.title} ({self.library}); use launcher and library of one"
        if self.vendor != vendor:
            raise wrong(f"the launcher is {launcher}'s {loaded} MPI (--mpi PREFIX)")
        # An MPICH that is built with PMIx joins ranks of Open MPI's mpiexec, too.
        if (starter := foreign_to(self.vendor)) and "pmix" not in self.string:
            raise wrong(f"the launcher is that of {starter} {loaded} MPI (--mpi PREFIX)")
        if expected.version and self.version.split(".")[:2] != expected.version.split(".")[:2]:
            raise wrong(f"the launcher is {launcher} {loaded} installation (--mpi PREFIX)")

    def _check_size(self, expected: ExpectedJob) -> None:
        if expected.size and self.size != expected.size:
            if self.size == 1:
                self._mpi.Finalize()  # it leaves its shared memory behind else
            raise wrong(
                f"the launcher started {expected.size} ranks but {self.title} ({self.library}) sees a world "
                f"of {self.size}: they do not belong together{other_kind(self.vendor, os.environ)}"
            )

    def described(self) -> dict[str, str]:
        string = self.string.splitlines()[0]
        return {"vendor": self.vendor, "version": self.version, "string": string, "library": self.library}

    def gather(self, value: Value) -> list[Value] | None:
        return self.comm.gather(value, root=0)

    def share(self, value: Value, root: int = 0) -> Value:
        found: Value = self.comm.bcast(value, root=root)
        return found

    def maximum(self, value: float) -> float:
        return float(self.comm.allreduce(value, op=self._mpi.MAX))

    def minimum(self, value: int) -> int:
        return int(self.comm.allreduce(value, op=self._mpi.MIN))

    def neighbours(self) -> int:
        near = self.comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        count: int = near.size
        near.Free()
        return count

    def of_ranks(self, ranks: Sequence[int]) -> SubCommunicator | None:
        if not ranks:
            return None
        if isinstance(ranks, range):
            group = self.comm.group.Range_incl([(ranks[0], ranks[-1], ranks.step)])
        else:
            group = self.comm.group.Incl(list(ranks))
        return SubCommunicator(self._mpi, self.comm.Create_group(group))

    def everyone(self, value: Value) -> list[Value]:
        return self.comm.allgather(value)

    def exchange(self, outgoing: dict[int, list[bytes]]) -> dict[int, list[bytes]]:
        of_ranks = self.comm.alltoall([outgoing.get(rank) for rank in range(self.size)])
        return {rank: messages for rank, messages in enumerate(of_ranks) if messages}

    def barrier(self) -> None:
        self.comm.Barrier()

    def leave(self) -> None:
        """Ends MPI, together. Nothing may be left to do: Hydra kills the ranks that are slower to exit."""
        self.comm.Barrier()
        self._mpi.Finalize()

    def open_mpi(self, core: Core) -> None:
        core.check(core.lib.ws_mpi_open(self.library.encode(), int(self.timed.handle)))

    def connections(self, peers: Collection[int]) -> dict[int, socket]:
        return connections(self, peers)

    def everyones_bytes(self, mine: memoryview, all_: memoryview) -> None:
        self.comm.Allgather(mine, all_)

    def share_bytes(self, data: memoryview, root: int) -> None:
        self.comm.Bcast(data, root)


class SubCommunicator:
    """Some of the ranks."""

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._mpi, self._comm = mpi, comm

    def largest(self, values: array[float]) -> array[float]:
        most = array("d", bytes(8 * len(values)))
        self._comm.Reduce([values, self._mpi.DOUBLE], [most, self._mpi.DOUBLE], op=self._mpi.MAX, root=0)
        return most

    def free(self) -> None:
        self._comm.Free()


def loaded_library() -> str:
    """The libmpi that this process has mapped."""
    if found := loaded_file("libmpi.so", "libmpich.so", "libmpi_"):
        return found
    raise wrong("mpi4py joined a world but no libmpi is mapped; set MPI4PY_LIBMPI to the library's path")
