"""Launchers: how ranks are started, and how a process learns that it is one of them.

Each module in this package has one `LAUNCHER`. A new module is found without being listed anywhere.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import shutil
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.mpi import NAMES, Mpi
from wirespeed.host.process import process_state, siblings

_CLIENT = re.compile(r"PMIX?_(?!MCA_)")
"""Variables by which a process joins the ranks of its launcher: another one's ranks cannot use them."""
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_ENDS_S = 10.0
"""Seconds in which rank 0 has found an error that all ranks have, however busy the host is."""


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
    needs: tuple[str, ...] = ()
    """Names of others, without which these make no rank."""
    local_size: str = ""
    """Name of the variable for the number of ranks on this host."""
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


def _number(environment: Mapping[str, str], name: str) -> int:
    """-1 for what is no number of a rank."""
    word = environment.get(name, "")
    return int(word) if _NUMBER.fullmatch(word) else -1


@dataclass(frozen=True)
class _Said:
    """What a launcher's variables say; -1: nothing that is a number."""

    launcher: Launcher
    rank: int
    size: int
    local: int
    lacks: str
    """Why they make no rank, in words; '': they do, of one rank perhaps."""
    contradiction: str
    """Why they cannot be right; '': they can."""

    @property
    def job(self) -> bool:
        """Do they say that this process is one of several ranks?"""
        return not self.lacks and self.size > 1


def _said(environment: Mapping[str, str]) -> Iterator[_Said]:
    """By each launcher of which there are variables, the innermost launcher first.

    An mpiexec inside an allocation inherits the batch system's variables: its own are the right ones.
    """
    for launcher in all_launchers()[::-1]:
        if not _speaks(launcher, environment):
            continue
        rank, size, local = (_number(environment, name) for name in launcher.variables)
        if launcher.local_size and 0 < size == _number(environment, launcher.local_size):
            local = rank  # neighbours are on one GPU, or on GPUs side by side
        names = (*launcher.variables[:2], *launcher.needs)
        lacks = _lacks(environment, names) or ("" if size else f"{names[1]}=0 is no number of ranks")
        yield _Said(launcher, rank, size, local, lacks, _contradiction(environment, launcher))


def _speaks(launcher: Launcher, environment: Mapping[str, str]) -> bool:
    """Are variables of this launcher set, and no other's?"""
    rank, size, _ = launcher.variables
    alone = sum(size in other.variables for other in all_launchers()) == 1
    return (rank in environment or (alone and size in environment)) and launcher.inside(environment)


def _lacks(environment: Mapping[str, str], names: Sequence[str]) -> str:
    """The first of these that is missing, or no number: rank, size, and others."""
    for name in names[:2]:
        if name in environment and _number(environment, name) < 0:
            return f"{name}={environment[name]} is no number"
    there = [name for name in names if name in environment]
    missing = [name for name in names if name not in environment]
    return f"{' and '.join(there)} without {' and '.join(missing)}" if missing else ""


def launched_rank(environment: Mapping[str, str] | None = None) -> LaunchedRank | None:
    """This process's rank as its launcher gives it; None when none started it as one of several ranks.

    Raises WirespeedError where variables contradict each other.
    """
    given = os.environ if environment is None else environment
    found = list(_said(given))
    for said in found:
        if said.contradiction and not said.lacks:
            raise WirespeedError(said.contradiction)
        if said.job:
            if other := _other_size(said, found):
                raise WirespeedError(other)
            return LaunchedRank(said.launcher.name, said.rank, said.size, said.local)
    return None


def _other_size(said: _Said, found: Sequence[_Said]) -> str:
    """A number of ranks that contradicts an mpiexec's, in words; '' where none does.

    Steps of a batch system may hold jobs of their own: an mpiexec's, or torchrun's.
    """
    if said.launcher.order < 50:
        return ""
    for other in found:
        if other.size > 1 and not other.launcher.allocation and other.size != said.size:
            one, two = (f"{each.launcher.variables[1]}={each.size}" for each in (said, other))
            return (
                f"{one} contradicts {two}: a process is a rank of one job; unset the variables of the "
                f"launcher ({said.launcher.name} or {other.launcher.name}) whose rank this is not"
            )
    return ""


def _contradiction(environment: Mapping[str, str], launcher: Launcher) -> str:
    """Two of a launcher's variables that cannot both be right, in words; '' without."""
    rank, size, local = launcher.variables
    for lower, first, upper in (
        (rank, 0, size),
        (local, 0, launcher.local_size),
        (launcher.local_size, 1, size),
    ):
        number, most = _number(environment, lower), _number(environment, upper)
        if number >= 0 and 0 <= most < number + 1 - first:
            return (
                f"{lower}={environment[lower]} contradicts {upper}={environment[upper]}: ranks count from 0; "
                "a launcher sets both for each rank: start this with one, or unset both"
            )
    return ""


def forget_one_rank(environment: MutableMapping[str, str]) -> str | None:
    """Removes variables of launchers by which this process is none of several ranks, for a run of its own.

    Returns a line that names the innermost launcher's; None where there are none.
    """
    found = list(_said(environment))
    if not found or any(said.job for said in found):
        return None
    for name in [name for name in environment if _CLIENT.match(name)]:
        del environment[name]
    for said in found:
        for name in said.launcher.variables:
            environment.pop(name, None)
    why = found[0].lacks or f"{found[0].launcher.variables[1]}=1 says one rank"
    return f"{why} ({found[0].launcher.name}): wirespeed starts ranks of its own"


def first_rank_goes_on(unseen_s: float) -> bool:
    """Waits for the end of rank 0, which an error of all ranks ends. True: it has none, and goes on.

    `unseen_s`: so long it waits for a rank 0 that has ended already, or is on another host.
    """
    for pid, environment in siblings():
        with suppress(WirespeedError):
            place = launched_rank(environment)
            if place and place.rank == 0:
                until = time.monotonic() + _ENDS_S
                while process_state(pid) not in ("", "Z", "X"):
                    if time.monotonic() > until:
                        return True
                    time.sleep(0.05)
                return False
    time.sleep(unseen_s)
    return False


def joins_mpi(place: LaunchedRank) -> bool:
    """True where an MPI joins ranks that were started so."""
    return next(launcher.joins_mpi for launcher in all_launchers() if launcher.name == place.launcher)


def _innermost(environment: Mapping[str, str] | None) -> list[_Said]:
    """What tells the rank first: a job's complete variables, then others that are not of one rank."""
    found = [said for said in _said(os.environ if environment is None else environment) if said.rank >= 0]
    found = [said for said in found if said.size != 1 and not said.contradiction]
    return sorted(found, key=lambda said: not said.job)


def local_rank(environment: Mapping[str, str] | None = None) -> int:
    """This process's rank on its host, known before MPI starts; 0 when no launcher gives one."""
    return next((said.local for said in _innermost(environment) if said.local >= 0), 0)


def global_rank(environment: Mapping[str, str] | None = None) -> int:
    """This process's rank as its launcher gives it, before MPI starts; 0 when none does."""
    return next((said.rank for said in _innermost(environment)), 0)


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
