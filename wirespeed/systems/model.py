"""Facts about a machine, typed, each with its source. Rates are bytes per second, one way.

Where a file has what no type refuses, a table's `__post_init__` raises ValueError (systems/reading.py).
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct

Source = Annotated[str, Meta(pattern=r"https?://\S+")]
"""Source of a fact, with its address."""

BATCH_SYSTEMS = ("slurm", "lsf", "pbs", "flux", "cobalt", "none")
"""`none`: a machine of its own, without a batch system."""
JOINED = ("switch", "direct", "uneven")
"""Links between the GPUs of a node: all through switches; each to some others by links of its own, all alike;
or by links of different width."""


def _exactly_one(table: Switch | Sign, *names: str) -> None:
    """Raises ValueError where not just one of these members is given, or a variable without its value."""
    if sum(bool(getattr(table, name)) for name in names) != 1:
        raise ValueError(f"exactly one of {', '.join(names[:-1])} and {names[-1]}")
    if bool(table.variable) != bool(table.value):
        raise ValueError("a variable and its value")


class TomlTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a system's file."""


class ComputeNode(TomlTable, frozen=True):
    """A compute node."""

    cpus: str
    gpu: str
    """Name of one of its GPUs; the driver may count two in a module."""
    gpus: int
    """As the driver counts them: as many ranks are started on it."""
    source: Source
    driver_names: tuple[str, ...] = ()
    """Names that the driver gives the GPUs: those in limits/links.toml."""
    names_source: str = ""
    """Source of these names, when they are not in limits/links.toml."""
    cores: int = 0
    """Cores that a job may use; 0: not said."""

    def __post_init__(self) -> None:
        if self.gpus < 1:
            raise ValueError("gpus: at least 1")


class GpuLinks(TomlTable, frozen=True):
    """Links between the GPUs of a node."""

    joined: str
    text: str
    source: Source
    peers: int = 0
    """direct: so many other GPUs of the node have a link to each."""
    links_per_pair: int = 0
    """direct: links between two GPUs; a link's rate is in limits/links.toml."""
    pair_rate: float = 0.0
    """direct, where links.toml does not know the GPU: rate between two of them."""
    least_pair_rate: float = 0.0
    most_pair_rate: float = 0.0
    """uneven: between those two GPUs that have the narrowest and the widest link."""

    def __post_init__(self) -> None:
        if self.joined not in JOINED:
            raise ValueError(f"joined: allowed are {', '.join(JOINED)}")
        if self.joined == "direct" and (self.peers < 1 or bool(self.links_per_pair) == bool(self.pair_rate)):
            raise ValueError("direct links need peers, and one of links_per_pair and pair_rate")
        if self.joined == "uneven" and not 0 < self.least_pair_rate <= self.most_pair_rate:
            raise ValueError("uneven links need least_pair_rate and most_pair_rate")


class HostLink(TomlTable, frozen=True):
    """Between a CPU and one GPU."""

    text: str
    source: Source
    rate: float = 0.0
    pcie: str = ""
    """Instead of a rate: generation and lanes, as '4.0 x16'; limits/links.toml has what one carries."""


class Network(TomlTable, frozen=True):
    """Between nodes."""

    text: str
    nics: int
    source: Source
    nic_rate: float = 0.0
    """0: not said."""
    node_rate: float = 0.0
    """Rate at which a node can send, where it is published as such."""


class BatchSystem(TomlTable, frozen=True):
    """Batch system of the machine."""

    system: str
    launcher: str
    source: Source
    directives: tuple[str, ...] = ()
    """Further lines of the script's head, without the #WORD: '--constraint=gpu'."""
    queue: str = ""
    """Used when nobody names one."""
    queue_option: str = ""
    """Slurm: what takes the queue's name, where it is not --partition."""
    chunk: str = ""
    """PBS: what follows the number of nodes in `select`; otherwise the cores and GPUs of a node."""
    account: bool = False
    """Jobs are charged to a project: the site's own examples name one."""
    cores_per_rank: int = 0
    """Asked for each rank, when there is one a GPU; 0: not asked for."""

    def __post_init__(self) -> None:
        if self.system not in BATCH_SYSTEMS:
            raise ValueError(f"system: allowed are {', '.join(BATCH_SYSTEMS)}")


class Affinity(TomlTable, frozen=True):
    """GPUs near each rank, when ranks are spread over the cores in order."""

    gpus: tuple[int, ...]
    """The driver's number of the GPU that is nearest to each rank of a node."""
    text: str
    source: Source


class Switch(TomlTable, frozen=True):
    """Something to set: exactly one of a module, a variable with its value, and an option of the launcher."""

    why: str
    source: Source
    module: str = ""
    variable: str = ""
    value: str = ""
    """May name other variables, which the script's shell fills in."""
    option: str = ""
    ranks_only: bool = False
    """Set the variable for the ranks, not for the launcher."""
    active: bool = True
    """False: a script has it as a comment only."""

    def __post_init__(self) -> None:
        _exactly_one(self, "module", "variable", "option")
        if self.variable and not re.fullmatch(r"[A-Za-z_]\w*", self.variable, re.ASCII):
            raise ValueError(f"variable: {self.variable!r} is no variable's name")
        # Between the shell's double quotes: variables are filled in, nothing else happens.
        if re.search(r'["`\\\n]|\$\(', self.value + self.option + self.module):
            raise ValueError("no quotes, backslashes or commands in what a shell is to read")


class Breakage(TomlTable, frozen=True):
    """Something known not to work."""

    what: str
    source: Source
    remedy: str = ""


class Sign(TomlTable, frozen=True):
    """Sign of the machine: a variable's value, its host's name, or its product name.

    Patterns are regular expressions that have to fit from end to end.
    """

    source: Source
    variable: str = ""
    value: str = ""
    host: str = ""
    product: str = ""
    """Its DMI product name, together with `gpus` GPUs of one of `driver_names`."""

    def __post_init__(self) -> None:
        _exactly_one(self, "variable", "host", "product")
        for pattern in (self.value, self.host, self.product):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None


class System(TomlTable, frozen=True):
    """A published machine."""

    name: str
    site: str
    node: ComputeNode
    batch: BatchSystem
    gpu_links: GpuLinks | None = None
    host_link: HostLink | None = None
    network: Network | None = None
    affinity: Affinity | None = None
    switches: tuple[Switch, ...] = ()
    breakages: tuple[Breakage, ...] = ()
    signs: tuple[Sign, ...] = ()

    def __post_init__(self) -> None:
        if self.affinity and sorted(self.affinity.gpus) != list(range(self.node.gpus)):
            raise ValueError("affinity: gpus: each of the node's GPUs once, numbered from 0")
