"""What is known of a machine, as plain values: findings are made from these alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wirespeed.results.runs import Run


@dataclass(frozen=True)
class PciLink:
    """A device's PCIe link: GT/s a lane and lanes; None where the kernel does not say."""

    speed: float | None = None
    width: int | None = None
    most_speed: float | None = None
    most_width: int | None = None
    slot_speed: float | None = None
    """The most that the port above it can do."""
    slot_width: int | None = None


@dataclass(frozen=True)
class Node:
    """A NUMA node."""

    number: int
    cpus: tuple[int, ...]
    bytes: int | None = None
    socket: int | None = None


@dataclass(frozen=True)
class NvLink:
    """One NVLink of a GPU."""

    number: int
    active: bool
    peer: str = ""
    """PCI address of the GPU at the other end, 'switch', or empty where unknown."""


@dataclass(frozen=True)
class Process:
    """Somebody who computes on a GPU."""

    pid: int
    name: str
    bytes: int | None = None


@dataclass(frozen=True)
class Gpu:
    """One GPU, as its driver or the kernel describes it."""

    index: int
    """The driver's number."""
    name: str
    kind: str
    """cuda, hip or emulated."""
    uuid: str = ""
    pci: str = ""
    number: int | None = None
    """The number that programs see; None where a variable hides it."""
    node: int | None = None
    near: tuple[int, ...] = ()
    """CPUs of its NUMA node; empty where unknown."""
    link: PciLink | None = None
    compute_mode: str = "default"
    """default, exclusive, prohibited."""
    mig: bool = False
    processes: tuple[Process, ...] = ()
    nvlinks: tuple[NvLink, ...] = ()
    fabric: str = ""
    """State of its NVSwitch fabric, if any: not started, in progress, completed, or what failed."""

    @property
    def title(self) -> str:
        number = self.index if self.number is None else self.number
        return f"GPU {number}"


@dataclass(frozen=True)
class GpuPair:
    """What lies between two GPUs, by their driver's numbers."""

    first: int
    second: int
    nvlinks: int = 0
    level: str = ""
    """The nearest common place of both on PCIe: PIX, PXB, PHB, NODE or SYS."""
    peer: str = ""
    """ok, why peer access is not possible, or empty where unknown."""


@dataclass(frozen=True)
class Port:
    """A port of an RDMA network adapter."""

    number: int
    layer: str
    """InfiniBand, Ethernet (RoCE), or what the kernel says."""
    state: str
    """ACTIVE, DOWN, INIT, ARMED."""
    rate: float | None = None
    """Gb/s."""
    lanes: int | None = None


@dataclass(frozen=True)
class Nic:
    """A network adapter that can read and write memory by itself (InfiniBand, RoCE, ...)."""

    name: str
    model: str = ""
    pci: str = ""
    node: int | None = None
    near: tuple[int, ...] = ()
    link: PciLink | None = None
    ports: tuple[Port, ...] = ()


@dataclass(frozen=True)
class Net:
    """A network interface of the kernel with hardware under it."""

    name: str
    state: str = ""
    rate: float | None = None
    """Gb/s."""
    driver: str = ""
    pci: str = ""
    node: int | None = None


@dataclass(frozen=True)
class Limits:
    """What this process may do. Bytes; None: without limit, or unknown where it says so."""

    memlock: int | None = None
    cpus: tuple[int, ...] = ()
    """CPUs that this process may run on; empty: unknown."""


@dataclass(frozen=True)
class HostMemory:
    """How processes of this host may share memory."""

    shm_bytes: int | None = None
    """Size of /dev/shm; None: there is none."""
    shm_free: int | None = None
    shm_writable: bool = True
    ptrace_scope: int | None = None
    """kernel.yama.ptrace_scope; None: no Yama."""
    cma: str = ""
    """works, after asking (PR_SET_PTRACER), the reason why not, or empty where it was not tried."""
    container: str = ""
    """docker, podman, kubernetes, ...; empty: none seen."""
    own_ipc: bool = False
    """In an IPC namespace of its own."""
    may_trace: bool = False
    """Has CAP_SYS_PTRACE."""


@dataclass(frozen=True)
class GpuDirect:
    """Ways for a network adapter to reach GPU memory."""

    modules: tuple[str, ...] = ()
    """Of nvidia_peermem and the like, those that are loaded."""
    dmabuf: bool | None = None
    """Can GPU memory be registered as DMA-BUF? None: unknown."""
    why: str = ""


@dataclass(frozen=True)
class MpiFact:
    """An MPI: what it says of itself, and what it did."""

    title: str
    vendor: str
    version: str = ""
    prefix: str = ""
    mpiexec: str = ""
    source: str = ""
    chosen: bool = False
    """The one that wirespeed measures with unless told otherwise."""
    says: bool | None = None
    """Does it say that it takes device pointers? None: it does not say."""
    says_text: str = ""
    ucx: str = ""
    """The UCX that it loaded: 'UCX 1.22.0 with cuda'; empty: none."""
    fabric: str = ""
    """The libfabric that it loaded."""
    tried: str = ""
    """works, crash, hang, death, error, mismatch; empty: not tried, or the trial did not come so far."""
    tried_text: str = ""
    """What was seen, or why it could not be tried."""
    where: str = ""
    """Where tried_text was learned: 'in a job step of its own', or a result file."""


@dataclass(frozen=True)
class RankPlacement:
    """Where a rank stood in a job step."""

    rank: int
    host: str
    cpus: tuple[int, ...]
    pci: str = ""
    """Of its GPU."""


@dataclass(frozen=True)
class Facts:
    """Everything known of one machine."""

    host: str = ""
    kernel: str = ""
    kind: str = "host"
    """Device that ranks would use: host, cuda, hip, emulated."""
    virtual: bool = False
    """In a virtual machine: its PCIe ports are made up."""
    cpu: Mapping[str, Any] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    pairs: tuple[GpuPair, ...] = ()
    nics: tuple[Nic, ...] = ()
    nets: tuple[Net, ...] = ()
    limits: Limits = Limits()
    memory: HostMemory = HostMemory()
    gpudirect: GpuDirect = GpuDirect()
    mpis: tuple[MpiFact, ...] = ()
    software: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    places: tuple[RankPlacement, ...] = ()
    lacking: tuple[str, ...] = ()
    """Sources that said nothing, and why."""
    runs: tuple[Run, ...] = field(default=(), compare=False, repr=False)
    """Measurements, oldest first."""
    trial: Run | None = field(default=None, compare=False, repr=False)
    """What trying path `aware` gave just now."""
    file: str = ""
    """The result file that they are from."""
    foreign: bool = False
    """Are they of another machine?"""

    @property
    def real_gpus(self) -> tuple[Gpu, ...]:
        return tuple(gpu for gpu in self.gpus if gpu.kind != "emulated")

    @property
    def chosen(self) -> MpiFact | None:
        return next((one for one in self.mpis if one.chosen), None)

    def can_run(self, path: str) -> bool:
        """Has this machine what a path needs at least: an MPI, and a GPU where it wants one?"""
        from wirespeed.paths import find_path

        return bool(self.mpis) and (self.kind != "host" or not find_path(path).needs_device)

    def to_dict(self) -> dict[str, Any]:
        """For a record: without the measurements, which have records of their own."""
        data = dataclasses.asdict(dataclasses.replace(self, runs=(), trial=None))
        del data["runs"], data["trial"]
        return data
