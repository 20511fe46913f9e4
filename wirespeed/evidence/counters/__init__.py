"""Witnesses: counters of a host's wires, read before and after bytes have crossed them.

Each module in this package knows one source of counters and has `find(devices)`, which gives a Witness or
None where this host has none; a new one is found by being there.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class CannotRead(Exception):
    """A counter that is there does not answer; the text says why."""


@dataclass(frozen=True)
class Wire:
    """What one pair of counters belongs to."""

    kind: str
    """nvlink, xgmi, pcie, infiniband, roce, network or loopback."""
    name: str
    """As its driver calls it: "GPU 0", "mlx5_0 port 1", "eth0"."""
    device: str | None = None
    """Identity of the GPU at its end; None: it belongs to the whole host."""
    granularity: int = 1
    """Its counters step by so many bytes."""
    wraps: int | None = None
    """They begin again after so many bytes."""
    rate: float | None = None
    """Bytes per second, one way, as the driver states it; None: it does not."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else the driver says: {"links": 18}, {"generation": 5, "width": 16}."""


@dataclass(frozen=True)
class Reading:
    """Bytes since an unknown moment."""

    sent: int
    received: int
    parts: tuple[tuple[int, int], ...] = ()
    """(sent, received) of each link, where a wire is a bundle of them."""


class Witness(ABC):
    """Counters of some wires of this host."""

    wires: tuple[Wire, ...]

    @abstractmethod
    def read(self) -> list[Reading]:
        """One for each wire. Raises CannotRead."""

    def close(self) -> None:  # noqa: B027  most have nothing to give back
        """Gives back what it has opened."""


def text_of(file: Path) -> str:
    """What a file of sysfs says; empty where it does not answer, as some do while an interface is down."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def counter_in(file: Path) -> int:
    """The number in a file of sysfs. Raises CannotRead."""
    try:
        return int(file.read_text())
    except (OSError, ValueError) as error:
        raise CannotRead(f"{file}: {error}") from None


def find_witnesses(devices: Sequence[Mapping[str, Any]]) -> tuple[list[Witness], list[str]]:
    """The witnesses of this host, and in a line each why another one cannot speak.

    `devices`: identities of the GPUs that this host's ranks use.
    """
    found, silent = [], []
    for module in sorted(one.name for one in pkgutil.iter_modules(__path__)):
        try:
            witness = importlib.import_module(f"{__name__}.{module}").find(devices)
            if witness is not None:
                witness.read()
                found.append(witness)
        except CannotRead as error:
            silent.append(f"{module}: {error}")
        except Exception as error:  # a witness may be wrong, but breaks no run: other ranks wait for this one
            silent.append(f"{module}: {type(error).__name__}: {error}")
    return found, silent
