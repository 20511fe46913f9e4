"""The ranks' world: joined through mpi4py, proven to be the launcher's, used for set-up traffic."""

from __future__ import annotations

import os
import socket
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.launch import global_rank
from wirespeed.launch.srun import may_end_in_init, other_kind
from wirespeed.mpi import NAMES, parse_library_string
from wirespeed.native import Core


@dataclass(frozen=True)
class Promise:
    """What the launcher said of the world that it starts; None and 0: it said nothing."""

    vendor: str | None = None
    version: str | None = None
    size: int = 0
    library: str | None = None


def _wrong(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.WRONG_WORLD)


class World:
    """MPI_COMM_WORLD, and the same as the core sees it."""

    def __init__(self, promise: Promise) -> None:
        """Joins. Raises WirespeedError when the library or the size is not what was promised."""
        if promise.library:
            os.environ["MPI4PY_LIBMPI"] = promise.library
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
        self.library = promise.library or loaded_library()
        self._check_library(promise)
        # Only one thread calls MPI, and locks for more would be measured.
        if global_rank() == 0 and (warning := may_end_in_init(self.vendor, self.version, os.environ)):
            os.write(2, f"wirespeed: {warning}\n".encode())
        MPI.Init_thread(MPI.THREAD_FUNNELED)
        self.comm = MPI.COMM_WORLD.Dup()
        self.rank: int = self.comm.rank
        self.size: int = self.comm.size
        self._check_size(promise)
        self.timed = MPI.COMM_WORLD.Dup()

    @property
    def title(self) -> str:
        return f"{NAMES.get(self.vendor, self.vendor)} {self.version}"

    def _check_library(self, promise: Promise) -> None:
        if promise.vendor and self.vendor != promise.vendor:
            launcher = f"{NAMES.get(promise.vendor, promise.vendor)} {promise.version or ''}".strip()
            raise _wrong(
                f"the launcher is {launcher}'s but the ranks loaded {self.title} ({self.library}); "
                "use launcher and library of one MPI (--mpi PREFIX)"
            )
        if promise.version and self.version.split(".")[:2] != promise.version.split(".")[:2]:
            raise _wrong(
                f"the launcher is {NAMES.get(self.vendor, self.vendor)} {promise.version} but the ranks "
                f"loaded {self.title} ({self.library}); use launcher and library of one installation "
                "(--mpi PREFIX)"
            )

    def _check_size(self, promise: Promise) -> None:
        if promise.size and self.size != promise.size:
            if self.size == 1:
                self._mpi.Finalize()  # it leaves its shared memory behind else
            raise _wrong(
                f"the launcher started {promise.size} ranks but {self.title} ({self.library}) sees a world "
                f"of {self.size}: they do not belong together{other_kind(self.vendor, os.environ)}"
            )

    def hosts(self) -> list[str]:
        names: list[str] = self.comm.allgather(socket.gethostname())
        return names

    def gather(self, value: Any) -> list[Any] | None:
        """Every rank's value, on rank 0."""
        values: list[Any] | None = self.comm.gather(value, root=0)
        return values

    def share(self, value: Any, root: int = 0) -> Any:
        """That rank's value, on every rank."""
        return self.comm.bcast(value, root=root)

    def maximum(self, value: float) -> float:
        """The largest of all ranks' values, on every rank."""
        found: float = self.comm.allreduce(value, op=self._mpi.MAX)
        return found

    def minimum(self, value: int) -> int:
        """The smallest of all ranks' values, on every rank."""
        found: int = self.comm.allreduce(value, op=self._mpi.MIN)
        return found

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

    def of_ranks(self, ranks: Sequence[int]) -> Inner:
        """A world of these ranks alone, which all of them (and nobody else) ask for."""
        if isinstance(ranks, range):
            last = ranks[-1]
            group = self.comm.group.Range_incl([(ranks[0], last, ranks.step)])
        else:
            group = self.comm.group.Incl(list(ranks))
        return Inner(self._mpi, self.comm.Create_group(group))

    def everyone(self, value: Any) -> list[Any]:
        values: list[Any] = self.comm.allgather(value)
        return values

    def barrier(self) -> None:
        self.comm.Barrier()

    def leave(self) -> None:
        """Ends MPI, together. Nothing may be left to do: Hydra kills whoever is slower to exit."""
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

        struct = ffi.new(
            "ws_control *",
            {
                "rank": self.rank,
                "size": self.size,
                "allgather": allgather,
                "broadcast": broadcast,
                "barrier": barrier,
            },
        )
        self._alive = (allgather, broadcast, barrier, struct)
        return struct


class Inner:
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
    try:
        for line in Path("/proc/self/maps").read_text().splitlines():
            path = line.split()[-1]
            if path.startswith("/") and Path(path).name.startswith(("libmpi.so", "libmpich.so", "libmpi_")):
                return path
    except OSError:
        pass
    raise _wrong("mpi4py joined a world but no libmpi is mapped; set MPI4PY_LIBMPI to the library's path")
