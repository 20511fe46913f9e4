"""The ranks' communicator: joined through mpi4py, checked against the launcher, used for set-up traffic."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.core import Core
from wirespeed.host.libraries import loaded_file
from wirespeed.host.mpi import NAMES, parse_library_string
from wirespeed.job.messages import Message
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.launch import foreign_to, global_rank
from wirespeed.launch.srun import may_end_in_init, other_kind


def _wrong(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.WRONG_WORLD)


class Communicator:
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
            raise _wrong(
                f"no MPI library could be loaded ({reason}); name an MPI with --mpi PREFIX"
            ) from None
        self._mpi = MPI
        self.string: str = MPI.Get_library_version().strip("\0 \n")
        self.vendor, self.version = parse_library_string(self.string)
        self.library = expected.library or loaded_library()
        self._check_library(expected)
        # Only one thread calls MPI, and locks for more would be measured.
        if global_rank() == 0 and (warning := may_end_in_init(self.vendor, self.version, os.environ)):
            os.write(2, f"wirespeed: {warning}\n".encode())
        MPI.Init_thread(MPI.THREAD_FUNNELED)
        self.comm = MPI.COMM_WORLD.Dup()
        self.rank: int = self.comm.rank
        self.size: int = self.comm.size
        self._check_size(expected)
        self.timed = MPI.COMM_WORLD.Dup()

    @property
    def title(self) -> str:
        return f"{NAMES.get(self.vendor, self.vendor)} {self.version}"

    def _check_library(self, expected: ExpectedJob) -> None:
        vendor = expected.vendor or self.vendor
        launcher = f"{NAMES.get(vendor, vendor)} {expected.version or ''}".strip()
        loaded = f"but the ranks loaded {self.title} ({self.library}); use launcher and library of one"
        if self.vendor != vendor:
            raise _wrong(f"the launcher is {launcher}'s {loaded} MPI (--mpi PREFIX)")
        # An MPICH that is built with PMIx joins ranks of Open MPI's mpiexec, too.
        if (starter := foreign_to(self.vendor)) and "pmix" not in self.string:
            raise _wrong(f"the launcher is that of {starter} {loaded} MPI (--mpi PREFIX)")
        if expected.version and self.version.split(".")[:2] != expected.version.split(".")[:2]:
            raise _wrong(f"the launcher is {launcher} {loaded} installation (--mpi PREFIX)")

    def _check_size(self, expected: ExpectedJob) -> None:
        if expected.size and self.size != expected.size:
            if self.size == 1:
                self._mpi.Finalize()  # it leaves its shared memory behind else
            raise _wrong(
                f"the launcher started {expected.size} ranks but {self.title} ({self.library}) sees a world "
                f"of {self.size}: they do not belong together{other_kind(self.vendor, os.environ)}"
            )

    def described(self) -> Message:
        """The MPI that was loaded, for the record."""
        string = self.string.splitlines()[0]
        return {"vendor": self.vendor, "version": self.version, "string": string, "library": self.library}

    def gather(self, value: Any) -> list[Any] | None:
        """Every rank's value, on rank 0."""
        return self.comm.gather(value, root=0)

    def share(self, value: Any, root: int = 0) -> Any:
        """That rank's value, on every rank."""
        return self.comm.bcast(value, root=root)

    def maximum(self, value: float) -> float:
        """The largest of all ranks' values, on every rank."""
        return float(self.comm.allreduce(value, op=self._mpi.MAX))

    def minimum(self, value: int) -> int:
        """The smallest of all ranks' values, on every rank."""
        return int(self.comm.allreduce(value, op=self._mpi.MIN))

    def first(self, value: Any) -> tuple[int, Any] | None:
        """The lowest rank that has a value, and that value; None where nobody has one. On every rank."""
        rank = self.minimum(self.size if value is None else self.rank)
        return None if rank == self.size else (rank, self.share(value, root=rank))

    def neighbours(self) -> int:
        """Ranks on this host."""
        near = self.comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        count: int = near.size
        near.Free()
        return count

    def of_ranks(self, ranks: Sequence[int]) -> SubCommunicator:
        """A world of these ranks alone, which all of them (and nobody else) ask for."""
        if isinstance(ranks, range):
            group = self.comm.group.Range_incl([(ranks[0], ranks[-1], ranks.step)])
        else:
            group = self.comm.group.Incl(list(ranks))
        return SubCommunicator(self._mpi, self.comm.Create_group(group))

    def everyone(self, value: Any) -> list[Any]:
        return self.comm.allgather(value)

    def barrier(self) -> None:
        self.comm.Barrier()

    def clock_exchanges(self, other: int, count: int, clock: Callable[[], int]) -> list[tuple[int, int, int]]:
        """(this clock, the other rank's, this clock again) of each exchange, on rank 0; two ranks call it."""
        found, stamp = [], array("q", [0])
        message = [stamp, self._mpi.INT64_T]
        for _ in range(count):
            if self.rank == 0:
                sent = clock()
                self.comm.Send(message, dest=other)
                self.comm.Recv(message, source=other)
                found.append((sent, stamp[0], clock()))
            else:
                self.comm.Recv(message, source=0)
                stamp[0] = clock()
                self.comm.Send(message, dest=0)
        return found

    def leave(self) -> None:
        """Ends MPI, together. Nothing may be left to do: Hydra kills the ranks that are slower to exit."""
        self.comm.Barrier()
        self._mpi.Finalize()

    def handle(self) -> int:
        """The raw handle of the communicator that is timed."""
        return int(self.timed.handle)

    def control(self, core: Core) -> Any:
        """The core's struct ws_control over this world, with the callbacks kept alive beside it."""
        ffi, comm = core.ffi, self.comm

        @core.callback("int(void *, const void *, void *, uint64_t)")
        def allgather(_user: Any, mine: Any, all_: Any, each: int) -> int:
            comm.Allgather(ffi.buffer(mine, each), ffi.buffer(all_, each * comm.size))
            return 0

        @core.callback("int(void *, void *, uint64_t, int)")
        def broadcast(_user: Any, data: Any, size: int, root: int) -> int:
            comm.Bcast(ffi.buffer(data, size), root)
            return 0

        @core.callback("int(void *)")
        def barrier(_user: Any) -> int:
            comm.Barrier()
            return 0

        callbacks = {"allgather": allgather, "broadcast": broadcast, "barrier": barrier}
        struct = ffi.new("ws_control *", {"rank": self.rank, "size": self.size, **callbacks})
        self._alive = (allgather, broadcast, barrier, struct)
        return struct


class SubCommunicator:
    """Some of the ranks."""

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._mpi, self._comm = mpi, comm

    def largest(self, values: array[float]) -> array[float]:
        """Value by value the largest of all ranks, on the first of them."""
        most = array("d", bytes(8 * len(values)))
        self._comm.Reduce([values, self._mpi.DOUBLE], [most, self._mpi.DOUBLE], op=self._mpi.MAX, root=0)
        return most

    def free(self) -> None:
        self._comm.Free()


def loaded_library() -> str:
    """The libmpi that this process has mapped."""
    if found := loaded_file("libmpi.so", "libmpich.so", "libmpi_"):
        return found
    raise _wrong("mpi4py joined a world but no libmpi is mapped; set MPI4PY_LIBMPI to the library's path")
