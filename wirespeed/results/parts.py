"""Parts of the records of a result file. Members: see model.py."""

from __future__ import annotations

from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, datetime, timezone
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from wirespeed.host.mps import STATES as MPS_STATES
from wirespeed.host.pci_topology import DISTANCES
from wirespeed.job.records import LARGEST, rate

MUCH_WAITED, SOME_WAITED = 0.2, 0.02
"""Shares of the timed seconds without a CPU. A few waits change no median. Ranks that take turns wait for
half of the time or more; those that sleep until their GPU has done the work do not wait."""
SHORTEST = 1e-15
"""Seconds: no clock tells less, and rates stay finite."""


def one_of(*words: str) -> Meta:
    """Words that are written; a reader takes any text."""
    return Meta(extra_json_schema={"enum": list(words)})


Whole = Annotated[int, Meta(ge=0, le=LARGEST)]
Amount = Annotated[float, Meta(ge=0, lt=LARGEST)]
Rate = Annotated[float, Meta(gt=0, lt=LARGEST)]
Fact = Annotated[int, Meta(gt=0, le=LARGEST)]
Share = Annotated[float, Meta(gt=-LARGEST, lt=LARGEST)]
Texts = dict[str, str]


class RecordPart(Struct, frozen=True, kw_only=True, gc=False):
    """Members that are written even where they are not known."""


class Sparse(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Members that are written where they are known."""


class Device(RecordPart, frozen=True, kw_only=True):
    """A GPU, as its driver names it."""

    kind: str = ""
    index: int | None = None
    name: str = ""
    id: str = ""
    pci: str | None = None
    architecture: str | None = None
    driver: str | None = None
    bytes: Whole | None = None
    multiprocessors: Whole | None = None


class Cpu(RecordPart, frozen=True, kw_only=True):
    """The processors of a host; null: the kernel does not say."""

    model: str = ""
    sockets: Whole | None = None
    cores: Whole | None = None
    threads: Whole | None = None
    numa_nodes: Whole | None = None


class Environment(RecordPart, frozen=True, kw_only=True):
    """Place where the run was started."""

    host: str = ""
    kernel: str = ""
    cpu: Cpu = field(default_factory=Cpu)
    memory_bytes: Whole | None = None
    devices: list[Device] = []
    python: str = ""
    packages: Texts = {}
    variables: Texts = {}


class Clock(RecordPart, frozen=True, kw_only=True):
    """The clock that samples are taken with."""

    cost_s: Amount
    """One reading of the clock."""
    resolution_s: Amount
    """The smallest step of the clock."""


class LoadedMpi(RecordPart, frozen=True, kw_only=True):
    """The MPI that the ranks loaded."""

    vendor: str = ""
    version: str = ""
    string: str = ""
    """The library's own description of itself."""
    library: str = ""
    """The file loaded."""
    source: str = ""
    """wheel, machine, launcher, ..."""


class Rank(RecordPart, frozen=True, kw_only=True):
    """Place of a rank."""

    rank: Whole = 0
    host: str = ""
    pid: int = 0
    cpus: str = ""
    """CPUs on which it may run, as in 0-7,16."""
    cpu_quota: Amount | None = None
    """CPUs' worth of time that its control group may use; null: no limit."""
    cpu_model: str = ""
    device: Device | None = None
    """null: the host's own memory only."""
    mps: Annotated[str, one_of(*MPS_STATES)] | UnsetType = UNSET
    """Does NVIDIA's Multi-Process Service run on its host? Missing: no CUDA device."""
    copies: str | None = None
    """Outcome of reading the memory of another rank of its host (process_vm_readv), once they had joined:
    works, or why not; null: there is no other."""
    visible: list[str] = []
    """Identities of all GPUs that it sees; empty: unknown, or its own memory is the host's."""
    apart: list[str] = []
    """Namespaces (pid, user, ipc) and /dev/shm (shm) that are not those of the first rank of its host."""


class Interval(RecordPart, frozen=True, kw_only=True):
    """Seconds, by the definition, for one message."""

    median: Amount
    """Median of all samples."""
    low: Amount | None = None
    """Lower end of the interval of the median; null: too few batches for one."""
    high: Amount | None = None
    """Upper end."""
    min: Amount | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a time of which neither a rate nor a ratio can be computed."""
        if min(end for end in (self.median, self.low, self.high) if end is not None) <= SHORTEST:
            raise ValueError("a time that cannot be")


class Times(Interval, frozen=True, kw_only=True):
    """Seconds, by the definition, for one message."""

    max: Amount | None = None
    p99: Amount | None = None
    mean: Amount | None = None
    speeds: tuple[Amount, Amount] | None = None
    """Two times between which a figure beyond ±5 % switched, if it did so again and again."""
    changed: tuple[Amount, Amount] | None = None
    """Two times between which it changed once or twice: what slowed it lasts longer than its measurement."""

    def __post_init__(self) -> None:
        """Nothing: a figure's own time is judged with its entry, whose line a warning names."""


class Rates(RecordPart, frozen=True, kw_only=True):
    """Bytes over the time. 1 GB/s is 1e9 of these."""

    median: Amount | None = None
    low: Amount | None = None
    high: Amount | None = None


class DerivedFigure(RecordPart, frozen=True, kw_only=True):
    """Another figure of the same samples."""

    name: str
    unit: Annotated[str, one_of("GB/s", "messages/s", "blocks/s", "sites/s", "flop/s", "s")]
    amount: Amount = 0
    """Bytes or messages over the time; a factor of it with unit s."""
    median: Amount | None = None
    """In the unit."""


class MeasuredConstant(RecordPart, frozen=True, kw_only=True):
    """A constant of physics, taken from a program's field, beside theory."""

    name: str = ""
    """viscosity, speed of sound, thermal diffusivity."""
    unit: str = ""
    measured: Amount
    theory: Amount


class Converged(RecordPart, frozen=True, kw_only=True):
    """Steps of a program that went on until its norm was small enough."""

    until: Amount
    norm: Amount
    """After the last step."""
    steps: Whole
    reached: bool = True
    """False: --steps were over first."""
    runs: Whole = 1
    times: Interval = field(name="seconds")
    """Of all steps and looks at the norm; median, shortest and longest of the runs."""


class ProgramTimes(RecordPart, frozen=True, kw_only=True):
    """Times that a program's steps are compared with, and how it was divided."""

    grid: tuple[Whole, Whole] = (0, 0)
    """Points of all ranks in x and y."""
    block: tuple[Whole, Whole] = (0, 0)
    """Points of a rank."""
    ranks: tuple[Whole, Whole] = (1, 1)
    """In x and y."""
    steps_per_iteration: Fact = 1
    bytes_per_site: Whole = 0
    """Read from and written to memory in a step at least."""
    flops_per_site: Whole = 0
    compute: Interval | None = None
    """Seconds of a step without any transfer, of the slowest rank."""
    compute_waited: Amount | None = None
    """Share of that time in which the rank that waited most had no CPU; null: not counted."""
    copy: Interval | None = None
    """Seconds of a copy of a rank's field by the driver, or by the CPU."""
    copied_bytes: Whole = 0
    constant: MeasuredConstant | None = None
    converged: Converged | None = None
    """null: nobody asked for it."""


def rates(amount: float, times: Interval) -> Rates:
    """Bytes per second, and its interval."""
    median, low, high = (rate(amount, seconds) for seconds in (times.median, times.high, times.low))
    return Rates(median=median, low=low, high=high)


class Timed:
    """Anything with a median time and an interval; without one the interval's ends are the median."""

    __slots__ = ()
    if TYPE_CHECKING:
        times: Interval

    @property
    def seconds(self) -> float:
        """The median."""
        return self.times.median

    @property
    def low(self) -> float:
        return self.times.low or self.seconds

    @property
    def high(self) -> float:
        return self.times.high or self.seconds

    @property
    def uncertain(self) -> bool:
        """Is the interval wider than ±100 %?"""
        return self.high - self.low > 2 * self.seconds


class TeamFigure(RecordPart, Timed, frozen=True, kw_only=True):
    """One team's figure: a pair's, a group's, a rank's."""

    name: str
    """group 3, 0-5, rank 2 alone, ..."""
    first: Whole = 0
    """Its first rank."""
    ranks: Whole = 1
    """Number of its ranks."""
    times: Interval = field(name="seconds")
    waited: Amount | None = None
    """Share of the timed seconds in which a rank of it was ready to run and had no CPU, of the one that
    waited most; null: not known."""


class Baseline(RecordPart, Timed, frozen=True, kw_only=True):
    """The same bytes moved in a simpler way, by turns with the figure."""

    name: str
    """contiguous: in one message."""
    times: Interval = field(name="seconds")


class RecordedHistogram(RecordPart, frozen=True, kw_only=True):
    """All samples in log-spaced bins: counts[i] of them lie from unit_s * base^(first + i) up to the next."""

    base: Annotated[float, Meta(gt=1, lt=LARGEST)]
    unit_s: Rate
    first: int
    counts: tuple[Whole, ...]


class Checked(RecordPart, frozen=True, kw_only=True):
    """Data that were compared, byte by byte."""

    iterations: Whole = 0
    """Untimed ones, each alone."""
    batches: Whole = 0
    """Timed runs of iterations that began with new content, and were compared at their end."""
    of_batches: Whole = 0
    """All timed runs."""
    seconds: Amount | None = None
    """Seconds of the figure's `elapsed_s` that new content for timed runs and their comparison took."""
    rerun_steps: Whole | None = None
    """Time steps of a program in these batches, which were repeated over set-up traffic."""
    bytes: Whole = 0
    """By the rank that compared most."""
    wrong: Whole | None = None
    """Elements that were not the exact result; null: not counted by element."""
    conserved: tuple[str, ...] = ()
    """Sums over a program's field that the untimed iterations left as they were."""


class Cores(RecordPart, frozen=True, kw_only=True):
    """CPUs of each rank while a figure was timed, by the kernel's scheduler."""

    waited: Amount | None = None
    """Share of the timed seconds in which a rank was ready to run and had no CPU, of the one that waited
    most; null: the kernel does not count."""
    rank: Whole | None = None
    """That rank."""
    preempted: Whole = 0
    """Number of times that the kernel took its CPU away from it (involuntary context switches)."""
    by: Annotated[str, one_of("others", "threads", "ranks", "quota")] | None = None
    """Who had its CPU: other processes, its own threads, or other ranks; quota: the control group had used up
    its time; null: not known."""
    shared: str | None = None
    """Ranks that have fewer CPUs than they are, and so take turns; null: each can have one of its own."""

    @property
    def contended(self) -> bool:
        """Is the figure the scheduler's as much as the path's?"""
        if self.waited is None:
            return self.shared is not None
        return self.waited >= (SOME_WAITED if self.shared else MUCH_WAITED)


class Stack(RecordPart, frozen=True, kw_only=True):
    """Place of a rank in its code."""

    rank: Whole = 0
    host: str = ""
    pid: int | None = None
    state: str | None = None
    call: str | None = None
    peer: int | None = None
    native: list[str] | None = None
    python: list[str] | None = None


class Wire(Sparse, frozen=True, kw_only=True):
    """Wire that ranks can use, by its driver."""

    host: str
    kind: str
    """nvlink, xgmi, pcie, infiniband, roce, network, loopback; memory: of the host, measured."""
    name: str
    device: str | None = None
    """The GPU at its end."""
    rate: Rate | None = None
    """Bytes per second, one way; missing: nobody says."""
    stated: bool = False
    """true: --link said the rate."""
    said: str | None = None
    """The rate in the driver's words."""
    links: Fact | None = None
    """Number of links that are bundled."""
    ends: dict[str, int] = {}
    """Links to each other GPU, by its PCI address."""
    generation: Fact | None = None
    """Generation of PCIe."""
    width: Fact | None = None
    """Lanes of PCIe."""
    mtu: Fact | None = None
    """Bytes of a packet."""
    slower: str | None = None
    """Name of the one of `rates` that is `rate`."""
    rates: dict[str, Rate] = {}
    """Bytes per second of memory, by what one core does."""
    low: Rate | None = None
    """Lower end of a measured rate's interval."""
    high: Rate | None = None
    """Its upper end."""
    caches: Fact | None = None
    """Bytes that the caches of one core hold; for memory alone."""
    pci: str = ""
    """Address of a NIC."""
    distances: Texts = {}
    """From a NIC to each rank's GPU, by the GPU's PCI address: PIX, PXB, PHB, NODE or SYS."""
    near: str = ""
    """CPUs of a NIC's NUMA node, as in 0-7,16; empty: not known."""


class CountedWire(RecordPart, frozen=True, kw_only=True):
    """Rise of a wire's counters, in bytes."""

    kind: str
    name: str
    host: str
    device: str | None = None
    sent: Whole
    """Background included."""
    received: Whole
    background: Whole = 0
    """Bytes that passed in the same time without us, sent and received together, measured before."""
    granularity: Whole = 0
    expected_sent: Whole
    expected_received: Whole = 0
    links: list[tuple[Whole, Whole]] = []
    """[sent, received] of each link of a bundle."""


class Copied(RecordPart, frozen=True, kw_only=True):
    """Copies of one kind."""

    count: Whole = 0
    bytes: Whole = 0


NO_COPIES = Copied()


class Copies(Sparse, frozen=True, kw_only=True):
    """Copies that the driver of a rank's GPU made."""

    rank: Whole
    host_to_device: Copied = NO_COPIES
    device_to_host: Copied = NO_COPIES
    on_device: Copied = NO_COPIES
    peer: Copied = NO_COPIES
    setup_host_to_device: Copied = NO_COPIES
    """Outside of iterations: while buffers were filled and compared, once."""
    setup_device_to_host: Copied = NO_COPIES


MUCH_SKEW = 0.05
"""Share of a figure, above which it is said how far apart the ranks began."""


class Start(RecordPart, frozen=True, kw_only=True):
    """Common beginning of samples, and the distance between the ranks of a host."""

    by: str = ""
    """agreed time: at one moment, from which every rank's sample counts; else the barrier that they left."""
    samples: Whole = 0
    """Number of samples that were looked at."""
    skew_s: Amount | None = None
    """Median over the samples of how long after the agreed moment, or after the first rank, the last rank of
    a host began; null: not known."""
    skew_max_s: Amount | None = None
    """The largest."""
    why: str | None = None
    """Why the ranks of a host could not agree on a moment."""


class Pointer(RecordPart, frozen=True, kw_only=True):
    """The driver's facts about a rank's device memory; null: it does not say."""

    rank: Whole = 0
    memory: str | None = None
    """device, host, managed, unregistered."""
    device: Whole | None = None
    """Number of the GPU that it lies on."""
    context: str | None = None
    """primary; own: of another context; none: memory of a pool or of a mapping."""
    ipc: bool | None = None
    """Can another process open it by a legacy IPC handle?"""
    rdma: bool | None = None
    """Can a network adapter reach it by GPUDirect RDMA?"""
    library: str | None = None
    """The library that handed it out; null: the driver."""


class NewErrors(RecordPart, frozen=True, kw_only=True):
    """Errors of one kind that a counter rose by."""

    host: str = ""
    place: str
    """GPU 0 link 3, mlx5_0 port 1, eth0, ..."""
    what: str
    """NVLink replay errors, PCIe replays, ..."""
    count: Fact


class Throttled(Sparse, frozen=True, kw_only=True):
    """Clocks that something held back. Settings and idling do not count."""

    host: str = ""
    place: str
    """GPU 0, CPU."""
    reason: str
    """its power cap, its temperature limit, ..."""
    seconds: Amount | None = None
    """For how long; missing: there is no counter."""
    times: Whole | None = None
    """Number of times; missing: there is no counter."""
    before: bool = False
    """Were they held back when the path began?"""
    after: bool = False
    """Were they when it ended?"""


class ClockRates(RecordPart, frozen=True, kw_only=True):
    """Clocks of one GPU, in megahertz: sm, memory, most_sm, most_memory."""

    host: str = ""
    place: str
    before: dict[str, Whole] = {}
    after: dict[str, Whole] = {}


class UsedNic(Sparse, frozen=True, kw_only=True):
    """A port or an interface by which bytes of a rank left its host."""

    name: str
    """mlx5_0:1 or eth0."""
    share: Share | None = None
    """Share of the bytes that all NICs of the rank's host carried, by their counters; missing: not known."""
    distance: Annotated[str, one_of(*DISTANCES)] = ""
    """From the rank's GPU, or its CPUs where it has none, as nvidia-smi topo names it; missing: not known."""
    transport: str = ""
    """By the log of UCX or NCCL: tcp, rc_mlx5, IB, Socket, ...; missing: no log names the NIC."""
    gpudirect: bool | UnsetType = UNSET
    """Did the NIC reach GPU memory by itself (GPUDirect RDMA), by NCCL's log? Missing: no log says."""


class RankNics(Sparse, frozen=True, kw_only=True):
    """The NICs of one rank."""

    rank: Whole
    host: str = ""
    nics: tuple[UsedNic, ...] = ()
    by: tuple[str, ...] = ()
    """counters; counters of its host, where several ranks share several NICs; log."""


Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""ISO 8601, with its offset from UTC."""


class RunRecord(RecordPart, frozen=True, kw_only=True, tag_field="kind"):
    """A line of a run."""

    run: Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{12}$"})]
    """Names the run; every line of it carries this."""


def moment(text: str) -> datetime | None:
    """A time in UTC, without an offset; None of a text that is no date, or too far off to reckon with."""
    with suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(text)
        at = (at.astimezone(timezone.utc) if at.tzinfo else at).replace(tzinfo=None)
        return at if MINYEAR < at.year < MAXYEAR else None
    return None
