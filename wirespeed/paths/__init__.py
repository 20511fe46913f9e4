"""The paths between two processors: a transport over a kind of memory.

Each module in this package lists its own in `PATHS`; a new one is found by being there.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from wirespeed.errors import WirespeedError
from wirespeed.transports import PUTS, Transport, find_transport


@dataclass(frozen=True)
class Switch:
    """Environment variables that make another path of one."""

    variables: dict[str, str] = field(default_factory=dict)
    """Those that the path's job step needs; read when MPI starts."""
    across: dict[str, str] = field(default_factory=dict)
    """Further ones where its ranks may be on several hosts."""
    read_by: str = ""
    """Library that reads them: where it is not loaded, the path is not available."""
    without: str = ""
    """The path that this one is with something switched off; their ratio says what that is worth."""


@dataclass(frozen=True)
class TransferPath:
    """Way of bytes from one rank's buffer to another's: a transport over a kind of memory."""

    name: str
    summary: str
    """One line for `wirespeed paths`."""
    transport: str
    """Name of a folder in native/transports."""
    memory: str
    """pageable, pinned, device, managed or managed-host: where the two buffers lie."""
    options: str = ""
    """The transport's options, as in `by=write;copy=kernel`."""
    work_alone: bool = False
    """Nothing is moved: a program computes on one rank."""
    one_host: bool = False
    """The path works only where all ranks are on one host."""
    default: bool = True
    """The path is measured when no paths are named."""
    instead_of_mpi: bool = False
    """The path is a default between host buffers where no MPI joins the ranks."""
    order: int = 50
    """Position in tables and in runs."""
    switch: Switch = field(default_factory=Switch, hash=False)

    def by(self, word: str) -> TransferPath:
        """This path in another way of its library, `nccl:graph`, or by an algorithm of ours: `host:ring`."""
        options = ";".join(filter(None, (self.options, self.traits.variants.get(word))))
        return replace(self, name=f"{self.name}:{word}", options=options)

    @property
    def variant(self) -> str:
        """Name of the one of its transport's variants that this path is."""
        way = self.name.partition(":")[2]
        return way if way in self.traits.variants else ""

    @property
    def algorithm(self) -> str:
        """Who does an operation of all ranks where it is not the library: ours over the path's messages."""
        return "" if self.variant else self.name.partition(":")[2]

    @property
    def into(self) -> str:
        """Memory of the receive buffer, if it is not the send buffer's."""
        return self.choices.get("into", "")

    @property
    def intra_rank(self) -> bool:
        """Does it move bytes inside one rank, none between ranks?"""
        return self.traits.inside and not self.work_alone

    @property
    def operations(self) -> tuple[str, ...]:
        """One-sided operations, which no message accompanies: of PUTS, or "load"."""
        return self.traits.operations or PUTS * (self.choices.get("call") == "put")

    @property
    def own_memory(self) -> bool:
        """Does its library hand out the buffers itself?"""
        return self.traits.own_memory or "buffers" in self.choices

    def goes_on_as(self, other: TransferPath) -> bool:
        """May it use what has joined the ranks for the other one, NCCL's communicator, and the other its?

        Not where the two tell the library of their buffers in other ways, or hand it operations where the
        other has messages: what it set up for one would stay, and be recorded as the other's.
        """
        return self._joined_by == other._joined_by

    @property
    def _joined_by(self) -> tuple[str, str, str]:
        return self.transport, self.algorithm, self.choices.get("buffers", "")

    @cached_property
    def choices(self) -> dict[str, str]:
        """The transport's options by name."""
        pairs = (option.partition("=") for option in self.options.split(";") if option)
        return {name: value for name, _, value in pairs}

    @property
    def lists(self) -> bool:
        """Is it another path with lists of blocks moved in a way of their own?"""
        return "lists" in self.choices

    @property
    def packs(self) -> bool:
        """Has it memory beside the buffers, in which it packs lists of blocks?"""
        return self.choices.get("lists") == "packed"

    @property
    def traits(self) -> Transport:
        """Capabilities of its transport."""
        return find_transport(self.transport)

    @property
    def needs_device(self) -> bool:
        """Does it exist only with GPUs (or emulated ones)? All memory but pageable is their driver's."""
        return {self.memory, self.into or self.memory} != {"pageable"}

    @property
    def wants_gpu(self) -> bool:
        """Does GPU memory hold a buffer, so that each rank wants a GPU of its own?"""
        return self.needs_device and not {self.memory, self.into or self.memory} <= {"pageable", "pinned"}

    @property
    def needs_mpi(self) -> bool:
        """Does an MPI move its bytes, all or some?"""
        return self.traits.needs_mpi

    @property
    def loads(self) -> bool:
        """Are loads from memory all that its transport does?"""
        return self.operations == ("load",)

    @property
    def loads_own(self) -> bool:
        """Are its loads from the rank's own memory, so that they cross no wire?"""
        return self.choices.get("of") == "own"

    @property
    def gpu_aware_mpi(self) -> bool:
        """Does it give device pointers to MPI, which may kill the process? Such paths are measured last."""
        return self.traits.takes_pointers and self.wants_gpu

    @property
    def gpu_aware_ucx(self) -> bool:
        """Does it need the UCX that the MPI loads to take device pointers?"""
        return self.gpu_aware_mpi or (self.traits.beside_mpi == "ucx" and self.needs_device)

    @property
    def staged(self) -> bool:
        """Does it copy device data through host memory by design?"""
        return self.traits.through_host and self.needs_device

    @property
    def on_device(self) -> bool:
        """Does one of the two buffers lie in device memory?"""
        return "device" in (self.memory, self.into)

    @property
    def cpu_moves(self) -> bool:
        """Do CPUs copy what goes from rank to rank? Then any other process is in their way."""
        between = not (self.intra_rank or self.work_alone)
        # A GPU copies to the chunks of a pipeline and from them.
        copied = self.staged and self.traits.serial
        return between and (copied or not self.on_device)

    @property
    def mover(self) -> str:
        """Kind of path, by who moves its bytes: launches of a kind differ alike (judge/spreads.py)."""
        if self.cpu_moves:
            return "copied" if self.staged else "host"
        if self.transport == "copy" and {self.memory, self.into} & {"pageable", "managed-host"}:
            return "driver"
        if "pageable" in (self.memory, self.into):
            return "copied"
        alone = self.choices.get("iterations") == "stream" or self.choices.get("enqueue") == "graph-only"
        return "device" if alone or self.transport in ("gpu", "ipc", "load") else "woken"

    @property
    def mixed(self) -> bool:
        """Does it cross between host and device memory: is one of the two buffers on a device alone?"""
        return (self.memory == "device") != ((self.into or self.memory) == "device")

    @property
    def data(self) -> str:
        """Memory of a message: 'device', or 'device to pageable' where its two ends differ."""
        return f"{self.memory} to {self.into}" if self.into and not self.intra_rank else self.memory

    @property
    def tried_first(self) -> bool:
        """Are a few messages tried first? If they fail, the whole path has one failure."""
        return self.traits.tried == "always" or (self.traits.tried == "on a GPU" and self.wants_gpu)

    @property
    def claims_direct(self) -> bool:
        """Is it declared direct: do bytes between GPUs of a host bypass the host's memory?"""
        on_device = self.memory == "device" and self.into in ("", "device")
        return on_device and not self.staged and not self.switch.without


@cache
def all_paths() -> tuple[TransferPath, ...]:
    """Every path known, in table order."""
    found: list[TransferPath] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").PATHS
    return tuple(sorted(found, key=lambda path: (path.order, path.name)))


def find_path(name: str) -> TransferPath:
    """The path called `name`. Raises WirespeedError that lists the names there are."""
    base, _, algorithm = name.partition(":")
    for path in all_paths():
        if path.name == base:
            return path.by(algorithm) if algorithm else path
    names = ", ".join(path.name for path in all_paths())
    raise WirespeedError(f"there is no path called '{name}'; there are: {names}")


@cache
def mover_of(name: str, memory: str = "") -> str:
    """`mover` of the path called `name`.

    Of one that is not known here, a CPU waits for messages from and to device `memory`, and may move others.
    """
    base = name.partition(":")[0]
    unknown = "woken" if memory == "device" else "host"
    return next((path.mover for path in all_paths() if path.name == base), unknown)


@cache
def _places() -> dict[str, int]:
    return {path.name: place for place, path in enumerate(all_paths())}


def table_order(name: str) -> tuple[int, str]:
    """Sorts names of paths as tables have them; unknown ones come last."""
    base, _, algorithm = name.partition(":")
    return _places().get(base, len(_places())), algorithm
