"""Launchers: how ranks are started, and how a process learns that it is one of them.

Each module in this package has one `LAUNCHER`; a new one is found by being there.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.mpi import Mpi


@dataclass(frozen=True)
class Place:
    """Where a launcher says that this process stands; -1: it does not say."""

    launcher: str
    rank: int
    size: int
    local_rank: int


@dataclass(frozen=True)
class Job:
    """What to start: the same command in every rank."""

    command: tuple[str, ...]
    ranks: int
    hosts: tuple[str, ...]
    variables: Mapping[str, str]


class Launcher(Protocol):
    """One way to start ranks."""

    name: str
    variables: tuple[str, str, str]
    """Names of the rank's, the size's and the local rank's environment variables."""
    starts_mpi: tuple[str, ...]
    """Vendors whose ranks it starts; empty: it is no starter, only known from inside."""
    order: int
    """Batch systems (1-49) are preferred to a plain mpiexec (50 and more)."""

    def inside(self, environment: Mapping[str, str]) -> bool:
        """Given that its variables are set: was this process really started by it?"""
        ...

    def usable(self, environment: Mapping[str, str]) -> bool:
        """Can it start ranks here, outside of any other launcher?"""
        ...

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        """The command line that starts the job."""
        ...


@cache
def all_launchers() -> tuple[Launcher, ...]:
    """Every launcher; those of a batch system before a plain mpiexec."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [importlib.import_module(f"{__name__}.{name}").LAUNCHER for name in names]
    return tuple(sorted(found, key=lambda launcher: launcher.order))


def _innermost_first() -> tuple[Launcher, ...]:
    """An mpiexec inside an allocation inherits the batch system's variables: its own tell the truth."""
    return all_launchers()[::-1]


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except (KeyError, ValueError):
        return -1


def place(environment: Mapping[str, str] | None = None) -> Place | None:
    """Where a launcher put this process; None when none started it."""
    environment = os.environ if environment is None else environment
    for launcher in _innermost_first():
        rank, size, local = (_number(environment, name) for name in launcher.variables)
        if rank >= 0 and size > 0 and launcher.inside(environment):
            return Place(launcher.name, rank, size, local)
    return None


def local_rank(environment: Mapping[str, str] | None = None) -> int:
    """This process's number on its host, known before MPI is; 0 when no launcher says it."""
    environment = os.environ if environment is None else environment
    for launcher in _innermost_first():
        local = _number(environment, launcher.variables[2])
        if local >= 0:
            return local
    return 0


def global_rank(environment: Mapping[str, str] | None = None) -> int:
    """This process's rank as its launcher says it, before MPI is there; 0 when none does."""
    environment = os.environ if environment is None else environment
    for launcher in _innermost_first():
        rank = _number(environment, launcher.variables[0])
        if rank >= 0:
            return rank
    return 0


def choose(name: str, mpi: Mpi) -> Launcher:
    """The launcher to start ranks with. Raises WirespeedError that lists those there are."""
    starters = [launcher for launcher in all_launchers() if launcher.starts_mpi]
    if name == "auto":
        for launcher in starters:
            if mpi.vendor in launcher.starts_mpi and launcher.usable(os.environ):
                return launcher
        raise WirespeedError(f"no launcher known here starts ranks of {mpi.title}")
    if name == "mpiexec":
        name = "openmpi" if mpi.vendor == "openmpi" else "hydra"
    for launcher in starters:
        if launcher.name == name:
            return launcher
    known = ", ".join(["auto", "mpiexec", *(launcher.name for launcher in starters)])
    raise WirespeedError(f"--launcher {name}: there is no such launcher; there are: {known}")


def check_installed(launcher: Launcher) -> None:
    """Raises WirespeedError when a batch system's launcher is not on PATH."""
    if launcher.order < 50 and shutil.which(launcher.name) is None:
        text = f"--launcher {launcher.name}: there is no {launcher.name} on PATH"
        raise WirespeedError(text, ExitCode.UNAVAILABLE)


def spread(hosts: Sequence[str], ranks: int) -> int:
    """Ranks on each host when ranks are placed host by host."""
    return max(1, -(-ranks // max(1, len(hosts))))
