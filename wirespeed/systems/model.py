"""What is known of a machine: typed facts, each with its source. Rates are bytes per second, one way."""

from __future__ import annotations

from dataclasses import dataclass, field

BATCH_SYSTEMS = ("slurm", "lsf", "pbs", "flux", "cobalt", "none")
"""`none`: a machine of its own, without a batch system."""
JOINED = ("switch", "direct", "uneven")
"""How GPUs of a node are joined: all through switches; each to some others by links of its own, all alike;
or by links of different width."""


@dataclass(frozen=True)
class Node:
    """A compute node."""

    cpus: str
    gpu: str
    """What one of its GPUs is called; the driver may count two in a module."""
    gpus: int
    """As the driver counts them: as many ranks are started on it."""
    source: str
    driver_names: tuple[str, ...] = ()
    """What the driver calls the GPUs: the names in limits/links.toml."""
    names_source: str = ""
    """Where these names stand, when not in limits/links.toml."""
    cores: int = 0
    """Cores that a job may use; 0: not said."""


@dataclass(frozen=True)
class GpuLinks:
    """How the GPUs of a node reach each other."""

    joined: str
    text: str
    source: str
    peers: int = 0
    """direct: so many other GPUs of the node have a link to each."""
    links_per_pair: int = 0
    """direct: links between two GPUs; a link's rate is in limits/links.toml."""
    pair_rate: float = 0.0
    """direct, where links.toml does not know the GPU: rate between two of them."""
    least_pair_rate: float = 0.0
    most_pair_rate: float = 0.0
    """uneven: between those two GPUs that have the narrowest and the widest link."""


@dataclass(frozen=True)
class HostLink:
    """Between a CPU and one GPU."""

    text: str
    source: str
    rate: float = 0.0
    pcie: str = ""
    """Instead of a rate: generation and lanes, as '4.0 x16'; limits/links.toml has what one carries."""


@dataclass(frozen=True)
class Network:
    """Between nodes."""

    text: str
    nics: int
    source: str
    nic_rate: float = 0.0
    """0: not said."""
    node_rate: float = 0.0
    """What a node can send, where it is published as such."""


@dataclass(frozen=True)
class Batch:
    """How jobs get onto the machine."""

    system: str
    launcher: str
    source: str
    directives: tuple[str, ...] = ()
    """Further lines of the script's head, without the #WORD: '--constraint=gpu'."""
    queue: str = ""
    """Used when nobody names one."""
    queue_option: str = ""
    """Slurm: what takes the queue's name, where it is not --partition."""
    chunk: str = ""
    """PBS: what follows the number of nodes in `select`; otherwise the cores and GPUs of a node."""
    cores_per_rank: int = 0
    """Asked for each rank, when there is one a GPU; 0: not asked for."""


@dataclass(frozen=True)
class Affinity:
    """Which GPU is near which rank, when ranks are spread over the cores in order."""

    gpus: tuple[int, ...]
    """The driver's number of the GPU that is nearest to each rank of a node."""
    text: str
    source: str


@dataclass(frozen=True)
class Switch:
    """Something to set: exactly one of a module, a variable with its value, and an option of the launcher."""

    why: str
    source: str
    module: str = ""
    variable: str = ""
    value: str = ""
    """May name other variables, which the script's shell fills in."""
    option: str = ""
    ranks_only: bool = False
    """Set the variable for the ranks, not for the launcher."""
    active: bool = True
    """False: a script has it as a comment only."""


@dataclass(frozen=True)
class Breakage:
    """Something known not to work."""

    what: str
    source: str
    remedy: str = ""


@dataclass(frozen=True)
class Sign:
    """What tells the machine from others: a variable's value, its host's name, or its product name.

    Patterns are regular expressions that have to fit from end to end.
    """

    source: str
    variable: str = ""
    value: str = ""
    host: str = ""
    product: str = ""
    """Its DMI product name, together with `gpus` GPUs of one of `driver_names`."""


@dataclass(frozen=True)
class Curves:
    """Measurements of it that were published as a curve for each path."""

    file: str
    setting: str
    definition: str
    units: str
    source: str
    paths: dict[str, str] = field(default_factory=dict)
    """The paths' names in the file, where they are not ours -> our names."""


@dataclass(frozen=True)
class System:
    """A published machine."""

    name: str
    site: str
    node: Node
    batch: Batch
    gpu_links: GpuLinks | None = None
    host_link: HostLink | None = None
    network: Network | None = None
    affinity: Affinity | None = None
    switches: tuple[Switch, ...] = ()
    breakages: tuple[Breakage, ...] = ()
    signs: tuple[Sign, ...] = ()
    curves: Curves | None = None
