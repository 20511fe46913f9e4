"""Launchers: how ranks are started, and how a process learns that it is one of them.

Each module in this package has one `LAUNCHER`. A new module is found without being listed anywhere.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.mpi import NAMES, Mpi


@dataclass(frozen=True)
class LaunchedRank:
    """This process's rank, as its launcher gives it; -1: the launcher does not say."""

    launcher: str
    rank: int
    size: int
    local_rank: int


@dataclass(frozen=True)
class Job:
    """Command to start: the same in every rank."""

    command: tuple[str, ...]
    ranks: int
    hosts: tuple[str, ...]
    variables: Mapping[str, str]
    own_threads: bool = False
    """Has a rank a thread besides its own that must not wait for the rank's CPU?"""
    places_itself: bool = False
    """Do ranks choose among the CPUs that they inherit, instead of being bound to any of the machine's?"""


class Launcher:
    """One way to start ranks."""

    name: str
    variables: tuple[str, str, str]
    """Names of the environment variables for rank, size and local rank."""
    local_size: str = ""
    """Name of the variable for the number of ranks on this host, where local ranks are not in order."""
    starts_mpi: tuple[str, ...] = ()
    """Vendors whose ranks it starts; empty: it starts none, and is only recognised in a rank."""
    joins_mpi: bool = True
    """An MPI joins the ranks that it starts."""
    order: int
    """Batch systems (1-49) are preferred to a plain mpiexec (50 and more)."""
    allocation: str = ""
    """Environment variable of the batch system's allocation, in which alone it can start ranks."""

    def inside(self, environment: Mapping[str, str]) -> bool:
        """True where it really started this process, given that its variables are set."""
        return True

    def usable(self, environment: Mapping[str, str]) -> bool:
        """True where it can start ranks here, outside of any other launcher."""
        return not self.allocation or (self.allocation in environment and bool(shutil.which(self.name)))

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        """The command line that starts the job."""
        raise AssertionError(f"{self.name} starts no ranks")


@cache
def all_launchers() -> tuple[Launcher, ...]:
    """Every launcher; those of a batch system before a plain mpiexec."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [importlib.import_module(f"{__name__}.{name}").LAUNCHER for name in names]
    return tuple(sorted(found, key=lambda launcher: launcher.order))


def _numbers(environment: Mapping[str, str] | None) -> Iterator[tuple[Launcher, tuple[int, int, int]]]:
    """(rank, size, local rank) by each launcher's variables, the innermost launcher first.

    An mpiexec inside an allocation inherits the batch system's variables: its own are the right ones.
    """
    environment = os.environ if environment is None else environment

    def number(name: str) -> int:
        try:
            return int(environment[name])
        except (KeyError, ValueError):
            return -1

    for launcher in all_launchers()[::-1]:
        rank, size, local = map(number, launcher.variables)
        if launcher.local_size and 0 < size == number(launcher.local_size):
            local = rank  # neighbours are on one GPU, or on GPUs side by side
        yield launcher, (rank, size, local)


def launched_rank(environment: Mapping[str, str] | None = None) -> LaunchedRank | None:
    """This process's rank as its launcher gives it; None when no launcher started this process."""
    given = os.environ if environment is None else environment
    for launcher, (rank, size, local) in _numbers(given):
        if rank >= 0 and size > 0 and launcher.inside(given):
            return LaunchedRank(launcher.name, rank, size, local)
    return None


def joins_mpi(place: LaunchedRank) -> bool:
    """True where an MPI joins ranks that were started so."""
    return next(launcher.joins_mpi for launcher in all_launchers() if launcher.name == place.launcher)


def local_rank(environment: Mapping[str, str] | None = None) -> int:
    """This process's rank on its host, known before MPI starts; 0 when no launcher gives one."""
    return next((local for _, (_, _, local) in _numbers(environment) if local >= 0), 0)


def global_rank(environment: Mapping[str, str] | None = None) -> int:
    """This process's rank as its launcher gives it, before MPI starts; 0 when none does."""
    return next((rank for _, (rank, _, _) in _numbers(environment) if rank >= 0), 0)


def foreign_to(vendor: str, environment: Mapping[str, str] | None = None) -> str:
    """The MPIs whose mpiexec started this process, if a library of this vendor cannot join; else ''.

    Open MPI's mpiexec speaks PMIx, Hydra PMI; batch systems speak both.
    """
    place = launched_rank(environment)
    starter = next(
        (launcher for launcher in all_launchers() if place and launcher.name == place.launcher), None
    )
    started = starter.starts_mpi if starter else ()
    if (
        vendor not in NAMES
        or not started
        or any((name == "openmpi") == (vendor == "openmpi") for name in started)
    ):
        return ""
    return " or ".join(NAMES[name] for name in started)


def choose(name: str, mpi: Mpi) -> Launcher:
    """The launcher to start ranks with. Raises WirespeedError that lists those there are."""
    starters = {launcher.name: launcher for launcher in all_launchers() if launcher.starts_mpi}
    if name == "auto":
        for launcher in starters.values():
            if mpi.vendor in launcher.starts_mpi and launcher.usable(os.environ):
                return launcher
        raise WirespeedError(f"no launcher known here starts ranks of {mpi.title}")
    wanted = ("openmpi" if mpi.vendor == "openmpi" else "hydra") if name == "mpiexec" else name
    if wanted not in starters:
        known = ", ".join(["auto", "mpiexec", *starters])
        raise WirespeedError(f"--launcher {wanted}: there is no such launcher; there are: {known}")
    return starters[wanted]


def by_batch_system(name: str) -> bool:
    """True where --launcher NAME starts ranks through a batch system here."""
    batch = [launcher for launcher in all_launchers() if launcher.starts_mpi and launcher.order < 50]
    return any(
        launcher.name == name or (name == "auto" and launcher.usable(os.environ)) for launcher in batch
    )


def check_installed(launcher: Launcher) -> None:
    """Raises WirespeedError when a batch system's launcher is not on PATH."""
    if launcher.order < 50 and shutil.which(launcher.name) is None:
        text = f"--launcher {launcher.name}: there is no {launcher.name} on PATH"
        raise WirespeedError(text, ExitCode.UNAVAILABLE)


def spread(hosts: Sequence[str], ranks: int) -> int:
    """Ranks on each host when ranks are placed host by host."""
    return max(1, -(-ranks // max(1, len(hosts))))
