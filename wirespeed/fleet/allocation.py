"""Hosts of a fleet: from a file, a list of names, or the batch system's allocation."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from wirespeed import inputs
from wirespeed.errors import WirespeedError
from wirespeed.fleet.names import expand, node_name

_ALLOWED = "write n1,n2 or n[1-4,7], or name a file with a host in each line"
NODE_FILES = {
    "PBS": ("PBS_NODEFILE",),
    "LSF": ("LSB_DJOB_HOSTFILE",),
    "Grid Engine": ("PE_HOSTFILE",),
    # What Kubernetes' MPI Operator gives a launcher of Open MPI, Intel MPI and MPICH.
    "Kubernetes": ("OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"),
}
"""Variables that name a file whose lines begin with hosts."""


def named_hosts(word: str) -> tuple[str, ...]:
    """The hosts of --hosts: those in a file of this name, else those of a list. Raises WirespeedError."""
    if not _is_file(word):
        return _checked(expand(word), word)
    try:
        return _checked(_lines(word), word)
    except (OSError, ValueError) as error:
        raise WirespeedError(f"--hosts {word}: cannot read it ({inputs.why(error)})") from None


def allocated_hosts(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts of the allocation that this process is in. Raises WirespeedError outside of one."""
    for name, find in {"Slurm": _slurm, "Flux": _flux}.items():
        if text := find(environment):
            return _checked(expand(text), f"{name}'s {text}")
    for name, variables in NODE_FILES.items():
        for variable in variables:
            file = environment.get(variable)
            if not file:
                continue
            try:
                hosts = _lines(file, pipes=False)
            except (OSError, ValueError) as error:
                raise WirespeedError(
                    f"{variable}={file}: cannot read {name}'s list of hosts ({inputs.why(error)})"
                ) from None
            # The first of LSF's is the launch node where that is none of the compute nodes.
            if name == "LSF" and len(hosts) > 2 and hosts.count(hosts[0]) == 1 < hosts.count(hosts[1]):
                hosts = hosts[1:]
            return _checked(hosts, file)
    raise WirespeedError(f"no allocation of a batch system here: name the hosts with --hosts ({_ALLOWED})")


def _slurm(environment: Mapping[str, str]) -> str:
    return environment.get("SLURM_JOB_NODELIST", "") if "SLURM_JOB_ID" in environment else ""


def _flux(environment: Mapping[str, str], run: Callable[..., str] = subprocess.check_output) -> str:
    """An attribute of the instance's broker has them: flux-hostlist(1)."""
    if "FLUX_URI" not in environment:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        return run(["flux", "getattr", "hostlist"], text=True, timeout=30).strip()
    return ""


def _is_file(word: str) -> bool:
    """Is there a file or a pipe of this name? A folder may be called as a host is."""
    with suppress(OSError, ValueError):
        return Path(word).exists() and not Path(word).is_dir()
    return False


def _lines(file: str, *, pipes: bool = True) -> list[str]:
    """The first word of each line, without the slots behind it."""
    lines = inputs.text(file, errors="replace", pipes=pipes).splitlines()
    words = (line.partition("#")[0].split() for line in lines)
    return [line[0].partition(":")[0] for line in words if line]


def _checked(hosts: list[str], where: str) -> tuple[str, ...]:
    """Each once, in their order."""
    for host in hosts:
        if node_name(host) is None:
            raise WirespeedError(f"{where}: '{host[:60]}' is no name of a host; {_ALLOWED}")
    found = tuple(dict.fromkeys(hosts))
    if len(found) < 2:
        missing = "there is no such file, and " if list(found) == [where] else ""
        raise WirespeedError(f"{where}: {missing}a fleet has two hosts or more, not {len(found)}")
    return found
