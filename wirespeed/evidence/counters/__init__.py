"""Counter sources: counters of a host's wires, read before and after bytes have travelled over them.

Each module in this package knows one kind of counter and has `find(devices)`, which returns a CounterSource,
or None where this host has none. A new module is found without being listed anywhere.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wirespeed.host.nvml import GpuHandle, Nvml, NvmlError
from wirespeed.host.pci_topology import address_of


class CannotRead(Exception):
    """A counter exists and cannot be read; the text says why."""


@dataclass(frozen=True)
class CounterOwner:
    """Device to which one pair of counters belongs."""

    kind: str
    """nvlink, xgmi, pcie, infiniband, roce, network or loopback."""
    name: str
    """Name that its driver uses: "GPU 0", "mlx5_0 port 1", "eth0"."""
    device: str | None = None
    """Identity of the GPU at its end; None: the wire belongs to the whole host."""
    granularity: int = 1
    """Bytes by which its counters step."""
    wraps: int | None = None
    """Bytes after which its counters start again at 0."""
    rate: float | None = None
    """Bytes per second in one direction, as the driver states it; None: it states none."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further statements of the driver: {"links": 18}, {"generation": 5, "width": 16}."""


def gpu_wire(kind: str, gpu: Mapping[str, Any], **more: Any) -> CounterOwner:
    """The wire of this kind that ends at a GPU, by the GPU's identity."""
    return CounterOwner(kind, f"GPU {gpu['index']}", str(gpu["id"]), **more)


@dataclass(frozen=True)
class Reading:
    """Bytes counted since an unknown moment."""

    sent: int
    received: int
    parts: tuple[tuple[int, int], ...] = ()
    """(sent, received) of each link, where a wire is a bundle of links."""


class CounterSource(ABC):
    """Counters of some wires of this host."""

    wires: tuple[CounterOwner, ...]

    @abstractmethod
    def read(self, parts: bool = True) -> list[Reading]:
        """One reading for each wire. Raises CannotRead or NvmlError.

        `parts`: each link of a bundle, too, which takes a driver a while.
        """

    def close(self) -> None:  # noqa: B027  most have nothing to release
        """Releases what it has opened."""


class SysfsCounters(CounterSource):
    """Counters in files of sysfs: for each wire those of bytes sent and received, in `unit` bytes."""

    def __init__(self, files: Mapping[Path, CounterOwner], sent: str, received: str, unit: int = 1) -> None:
        self._files = [(folder / sent, folder / received) for folder in files]
        self.wires, self._unit = tuple(files.values()), unit

    def read(self, parts: bool = True) -> list[Reading]:
        unit = self._unit
        return [
            Reading(counter_in(sent) * unit, counter_in(received) * unit) for sent, received in self._files
        ]


class NvmlCounters(CounterSource):
    """Fields of NVML that count bytes sent and received: of each GPU, and of each of its links."""

    def __init__(
        self,
        nvml: Nvml,
        gpus: Sequence[tuple[GpuHandle, CounterOwner, Sequence[int]]],
        fields: tuple[int, int],
        scope: int,
    ) -> None:
        """`gpus`: handle, wire and links of each; `scope`: the one of the whole GPU."""
        self._nvml, self._gpus, self._fields, self._scope = nvml, gpus, fields, scope
        self.wires = tuple(wire for _, wire, _ in gpus)

    def read(self, parts: bool = True) -> list[Reading]:
        return [self._read(gpu, wire, links if parts else ()) for gpu, wire, links in self._gpus]

    def _read(self, gpu: GpuHandle, wire: CounterOwner, links: Sequence[int]) -> Reading:
        scopes, unit = (self._scope, *links), wire.granularity
        values = self._nvml.fields(gpu, [(field, scope) for scope in scopes for field in self._fields])
        pairs = zip(values[::2], values[1::2], strict=True)
        known = [(s * unit, r * unit) for s, r in pairs if s is not None and r is not None]
        if None in values[:2]:
            what = "slot" if wire.kind == "pcie" else "links"
            raise CannotRead(f"the driver does not count the bytes of this GPU's {what}")
        return Reading(*known[0], tuple(known[1:]) if len(known) == len(scopes) else ())

    def close(self) -> None:
        self._nvml.close()


def text_of(file: Path) -> str:
    """Content of a file of sysfs; empty where it cannot be read, as some while an interface is down."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def pci_fact(device: Path) -> dict[str, str]:
    """{"pci": "0000:18:00.0"} of an interface or adapter in sysfs; empty where it is virtual."""
    address = address_of(device / "device")
    return {"pci": address} if address else {}


def counter_in(file: Path) -> int:
    """The number in a file of sysfs. Raises CannotRead."""
    try:
        return int(file.read_text())
    except (OSError, ValueError) as error:
        raise CannotRead(f"{file}: {error}") from None


def reason(error: Exception) -> str:
    """Why counters cannot be read, in one line; an unexpected error has its type's name."""
    known = isinstance(error, (CannotRead, NvmlError))
    return str(error) if known else f"{type(error).__name__}: {error}"


def find_counter_sources(devices: Sequence[Mapping[str, Any]]) -> tuple[list[CounterSource], list[str]]:
    """The counter sources of this host, and a line for each one that exists and cannot be read.

    `devices`: identities of the GPUs that this host's ranks use.
    """
    found, unreadable = [], []
    for module in sorted(iter_module.name for iter_module in pkgutil.iter_modules(__path__)):
        try:
            source = importlib.import_module(f"{__name__}.{module}").find(devices)
            if source is not None:
                source.read()
                found.append(source)
        except Exception as error:  # a broken source must not end this rank: the others wait for it
            unreadable.append(f"{module}: {reason(error)}")
    return found, unreadable
