"""The plan of a run: everything that it needs to know before any process starts."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wirespeed.statistics.stopping import Stopping

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ALLOCATORS = ("driver", "pool", "vmm", "openmp", "openmp:map", "openacc", "openacc:map")
CONTEXTS = ("primary", "own")
_UNRECORDED = ("share_gpus",)


@dataclass(frozen=True)
class Plan:
    """One run of the command: a pattern over several paths."""

    pattern: str = "pingpong"
    paths: tuple[str, ...] = ()
    """Names from wirespeed.paths, patterns of them, or "all"; empty: every default path that fits."""
    sizes: tuple[int, ...] = ()
    """Bytes of one message, in the order measured; empty: those that the pattern has by default."""
    stopping: Stopping = field(default_factory=Stopping)
    budget: float = 0.0
    """Seconds in which figures that are far from precise are measured on, as long as they last."""
    soak: float | None = None
    """Seconds for each size in which messages are checked on their way; None: times are measured."""
    fresh: int = 0
    """Number of further messages of each size, each from newly allocated memory, checked and timed."""
    launches: int = 1
    """Number of times that every path is measured, with new processes each time."""
    device: str = "auto"
    """auto, cpu, cuda, hip, openmp or emulated; or GPUs by number or UUID: cuda:GPU-3f,cuda:MIG-8a."""
    allocator: str = "driver"
    """Who hands out device memory: one of ALLOCATORS."""
    context: str = "primary"
    """primary; own: the allocator's first memory is older than any context."""
    between: tuple[int, ...] = ()
    """Processor of each rank: GPU numbers, or CPU cores with device cpu; empty: rank i, GPU i mod n."""
    ranks_per_gpu: int | None = None
    """Ranks that share each GPU: the host's first ones share GPU 0; None: ranks take GPUs in turn."""
    share_gpus: bool = False
    """Ranks may share GPUs, though neither of the two says so. It is no condition of a figure."""
    ranks: int = 2
    oversubscribe: bool = False
    """Start the ranks even if there are many more of them than CPUs."""
    options: tuple[tuple[str, Any], ...] = ()
    """The pattern's own: ("window", 64), ..."""
    background: str | None = None
    """Another pattern that runs at the same time: PATTERN:PATH:SIZE."""
    mpi: str | None = None
    """An MPI's prefix or its mpiexec; None: the machine's own, else a wheel's."""
    launcher: str = "auto"
    hosts: tuple[str, ...] = ()
    out: str | None = None
    """Result file; None: ./wirespeed-<time>.jsonl."""
    picture: str | None = None
    """File to draw a program's field into."""
    timeline: str | None = None
    """File for the ranks' ranges on one clock."""
    timing: bool = False
    """Say where the time of each path went."""
    profile: str | None = None
    """Profiler to start each rank under: nsys, rocprof, ncu or vtune."""
    resume: bool = False
    timeout: float | None = None
    """Seconds without progress that count as a hang; None: scaled to the message size."""
    links: tuple[tuple[str, float], ...] = ()
    """(wire, bytes per second one way) as the user states them: ("eth0", 125e6)."""
    evidence: bool = True
    """Read the wires' counters around counted iterations, after the figures."""
    reported_phase_only: bool = False
    """Measure only the phase that the figure is of."""
    debug: bool = False
    test: tuple[tuple[str, str], ...] = ()
    """For the project's tests alone: ("fault", "drop-byte"), ("offset", "3"), ..."""

    @classmethod
    def of(cls, members: dict[str, Any]) -> Plan:
        """As encode() has packed it."""
        found = {name: tuples(value) for name, value in members.items()}
        return cls(**{**found, "stopping": Stopping(**members["stopping"])})

    def to_dict(self) -> dict[str, Any]:
        """What a result file says of it."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in _UNRECORDED}


def encode(order: DataclassInstance) -> str:
    """Packs what a process of this package is to do into one word that survives every launcher's quoting:
    deflated JSON.
    """
    text = json.dumps(dataclasses.asdict(order), separators=(",", ":"))
    return base64.urlsafe_b64encode(zlib.compress(text.encode())).decode()


def decode(word: str) -> dict[str, Any]:
    """The members of what encode() has packed, or of the same JSON in a file NAME.json."""
    if word.endswith(".json"):
        text = Path(word).read_text()
    else:
        text = zlib.decompress(base64.urlsafe_b64decode(word)).decode()
    members: dict[str, Any] = json.loads(text)
    return {name: tuples(value) for name, value in members.items()}


def tuples(value: Any) -> Any:
    """Tuples in place of lists, which JSON has alone."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value
