"""Facts of a machine, as plain values: findings are derived from these alone."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from wirespeed.host.nvml import NvLink
from wirespeed.results.parts import Cpu
from wirespeed.results.runs import Run

LOADED = 0.25
"""Share of the CPUs in use by others above which figures measured meanwhile are doubtful."""


class PciLink(Struct, frozen=True):
    """A device's PCIe link: GT/s per lane, and lanes; None where the kernel does not say."""

    speed: float | None = None
    width: int | None = None
    most_speed: float | None = None
    most_width: int | None = None
    slot_speed: float | None = None
    """Highest speed of the port above it."""
    slot_width: int | None = None


class NumaNode(Struct, frozen=True):
    """A NUMA node."""

    number: int
    cpus: tuple[int, ...]
    bytes: int | None = None
    socket: int | None = None


class Process(Struct, frozen=True):
    """A process of others that computes on a GPU."""

    pid: int
    name: str
    bytes: int | None = None


class Gpu(Struct, frozen=True):
    """A GPU, as its driver or the kernel describes it."""

    index: int
    """Number that the driver uses."""
    name: str
    kind: str
    """cuda, hip or emulated."""
    uuid: str = ""
    pci: str = ""
    number: int | None = None
    """Number that programs see; None where a variable hides the GPU."""
    node: int | None = None
    near: tuple[int, ...] = ()
    """CPUs of its NUMA node; empty: unknown."""
    link: PciLink | None = None
    compute_mode: str = "default"
    """default, exclusive, prohibited."""
    mig: bool = False
    slices: tuple[str, ...] = ()
    """UUIDs of its MIG slices."""
    processes: tuple[Process, ...] = ()
    nvlinks: tuple[NvLink, ...] = ()
    fabric: str = ""
    """State of its NVSwitch fabric, if any: not started, in progress, completed, or what failed."""
    nearest: tuple[str, ...] = ()
    """RDMA adapters nearest to it on PCIe; empty: not known."""
    distance: str = ""
    """To these: PIX, PXB, PHB, NODE or SYS."""
    iommu: str = ""
    """Type of its IOMMU group: DMA and DMA-FQ translate, identity does not; empty: there is none."""
    redirects: tuple[str, ...] = ()
    """PCIe bridges above it that redirect peer traffic (ACS), as far as this user may read it."""
    lost: str = ""
    """The driver's words where it cannot reach the GPU; nothing else is known of it then."""

    @property
    def title(self) -> str:
        return f"GPU {self.index if self.number is None else self.number}"


class GpuPair(Struct, frozen=True):
    """The connection of two GPUs, by their driver's numbers."""

    first: int
    second: int
    nvlinks: int = 0
    level: str = ""
    """Nearest common ancestor of both on PCIe: PIX, PXB, PHB, NODE or SYS."""
    peer: str = ""
    """ok, the reason why peer access is not possible, or empty where unknown."""


class Port(Struct, frozen=True):
    """A port of an RDMA network adapter."""

    number: int
    layer: str
    """InfiniBand, Ethernet (RoCE), or what the kernel says."""
    state: str
    """ACTIVE, DOWN, INIT, ARMED."""
    rate: float | None = None
    """Gb/s."""
    lanes: int | None = None


class Nic(Struct, frozen=True):
    """A network adapter with RDMA (InfiniBand, RoCE, ...)."""

    name: str
    model: str = ""
    pci: str = ""
    node: int | None = None
    near: tuple[int, ...] = ()
    link: PciLink | None = None
    ports: tuple[Port, ...] = ()


class Net(Struct, frozen=True):
    """A network interface of the kernel that belongs to a device."""

    name: str
    state: str = ""
    rate: float | None = None
    """Gb/s."""
    driver: str = ""
    pci: str = ""
    node: int | None = None


class Limits(Struct, frozen=True):
    """Limits of this process."""

    memlock: int | None = None
    """Bytes that it may lock; None: no limit."""
    cpus: tuple[int, ...] = ()
    """CPUs that it may run on; empty: unknown."""


class HostMemory(Struct, frozen=True):
    """Ways in which processes of this host may share memory."""

    shm_bytes: int | None = None
    """Size of /dev/shm; None: there is none."""
    shm_free: int | None = None
    shm_writable: bool = True
    ptrace_scope: int | None = None
    """kernel.yama.ptrace_scope; None: no Yama."""
    cma: str = ""
    """works, after asking (PR_SET_PTRACER), the reason why not, or empty: not tried."""
    container: str = ""
    """docker, podman, kubernetes, ...; empty: none recognised."""
    may_trace: bool = False
    """This process has CAP_SYS_PTRACE."""
    left: Mapping[str, int] = {}
    """Segments of MPI libraries in /dev/shm that no process uses, with their sizes in bytes."""
    left_bytes: int = 0
    """Memory that they take."""
    others: Mapping[str, int] = {}
    """Memory that large files of other names there take, which no process uses, by name."""


class GpuDirect(Struct, frozen=True):
    """Ways for a network adapter to reach GPU memory."""

    modules: tuple[str, ...] = ()
    """Loaded kernel modules of nvidia_peermem and the like."""
    dmabuf: bool | None = None
    """GPU memory can be registered as DMA-BUF; None: unknown."""
    why: str = ""


class MpiFact(Struct, frozen=True):
    """An MPI: its own answers, and what became of a trial."""

    title: str
    vendor: str
    version: str = ""
    prefix: str = ""
    mpiexec: str = ""
    source: str = ""
    chosen: bool = False
    """By default wirespeed measures with it."""
    says: bool | None = None
    """Does it say that it takes device pointers? None: it does not say."""
    says_text: str = ""
    ucx: str = ""
    """UCX that it loaded: 'UCX 1.22.0 with cuda'; empty: none."""
    fabric: str = ""
    """libfabric that it loaded; empty: none."""
    tried: str = ""
    """works, crash, hang, death, error, mismatch; empty: not tried, or no pointer was passed."""
    tried_text: str = ""
    """Observation, or the reason why it could not be tried."""
    where: str = ""
    """Origin of tried_text: 'in a job step of its own', or a result file."""


class RankPlacement(Struct, frozen=True):
    """The CPUs and the GPU of a rank in a job step."""

    rank: int
    host: str
    cpus: tuple[int, ...]
    pci: str = ""
    """PCI address of its GPU."""
    gpu: str = ""
    """Identity of its GPU."""
    visible: tuple[str, ...] = ()
    """Identities of all GPUs that it sees; empty: unknown."""


class MachineFacts(Struct, frozen=True):
    """All facts of one machine."""

    host: str = ""
    kernel: str = ""
    kind: str = "host"
    """Kind of device that ranks would use: host, cuda, hip, emulated."""
    virtual: bool = False
    """It is a virtual machine, whose PCIe ports are made up."""
    cpu: Cpu = Cpu()
    nodes: tuple[NumaNode, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    pairs: tuple[GpuPair, ...] = ()
    nics: tuple[Nic, ...] = ()
    nets: tuple[Net, ...] = ()
    limits: Limits = Limits()
    memory: HostMemory = HostMemory()
    gpudirect: GpuDirect = GpuDirect()
    mpis: tuple[MpiFact, ...] = ()
    software: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}
    """Known ones that are no secret."""
    hidden: tuple[str, ...] = ()
    """Other variables of known libraries: their names alone."""
    places: tuple[RankPlacement, ...] = ()
    busy: float | None = None
    """CPUs that others used when this began, of those that this process may use; None: unknown."""
    lacking: tuple[str, ...] = ()
    """Sources without an answer, and why."""
    runs: tuple[Run, ...] = ()
    """Measurements, oldest first."""
    trial: Run | None = None
    """The trial of path `aware` just now."""
    ucx_choice: tuple[str, ...] = ()
    """UCX's protocols for large messages of that path, where they go through the host."""
    file: str = ""
    """Result file of the runs."""
    foreign: bool = False
    """The runs are of another machine."""

    @property
    def reservations(self) -> tuple[str, ...]:
        """Reasons why the figures may not be those of this machine at rest."""
        there = f"{self.file} was measured on another machine: what follows from it holds there"
        cpus = len(self.limits.cpus)
        loaded = (
            f"This host is loaded: others use {self.busy or 0:.1f} of {cpus} CPUs, so figures measured now "
            "are uncertain; repeat this when the host is quiet"
        )
        shown = ((there, self.foreign), (loaded, (self.busy or 0) > LOADED * cpus))
        return tuple(text for text, applies in shown if applies)

    @property
    def real_gpus(self) -> tuple[Gpu, ...]:
        """Without those that are lost."""
        return tuple(gpu for gpu in self.gpus if gpu.kind != "emulated" and not gpu.lost)

    @property
    def active_ports(self) -> list[str]:
        """'mlx5_0:1' of each RDMA port that is up."""
        return [
            f"{nic.name}:{port.number}" for nic in self.nics for port in nic.ports if port.state == "ACTIVE"
        ]

    @property
    def chosen(self) -> MpiFact | None:
        return next((mpi for mpi in self.mpis if mpi.chosen), None)

    @property
    def nic_names(self) -> str:
        return ", ".join(nic.name for nic in self.nics[:8])

    def can_run(self, path: str) -> bool:
        """True where this machine has an MPI, and a GPU if the path needs one."""
        from wirespeed.paths import find_path

        return bool(self.mpis) and (self.kind != "host" or not find_path(path).needs_device)
