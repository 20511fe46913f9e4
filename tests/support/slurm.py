"""A real Slurm on hosts of network namespaces: its controller on the first, a node on each."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from support import tools
from support.hosts import TEMPORARY, Hosts, HostsError

_TOOLS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "munged": "munge", "salloc": "slurm-client"}

_CONFIGURATION = """
ClusterName=test
SlurmctldHost={first}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
StateSaveLocation={folder}/state
SlurmdSpoolDir=/run/slurmd-spool
TmpFS=/run
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SchedulerParameters=sched_interval=1
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def missing() -> str | None:
    """Why there can be no Slurm here; None when there can."""
    return tools.missing(_TOOLS)


def start(hosts: Hosts, cpus: int = 2) -> dict[str, str]:
    """Starts the daemons, which end with the hosts; the environment of who wants to use them.

    `cpus`: so many tasks each node takes, however many CPUs it has.
    """
    if why := missing():
        raise HostsError(why)
    folder = hosts.folder / "slurm"
    (folder / "state").mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    first = next(iter(hosts)).name
    nodes = "\n".join(f"NodeName={host.name} NodeAddr={host.address} CPUs={cpus}" for host in hosts)
    configuration = folder / "slurm.conf"
    configuration.write_text(_CONFIGURATION.format(first=first, folder=folder, nodes=nodes))
    # Nothing here needs control groups, and v1's plugin looks for none until asked.
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    environment = {"SLURM_CONF": str(configuration), "TMPDIR": TEMPORARY}
    for host in hosts:
        host.run("mkdir", "-p", "/run/munge", "/run/slurmd-spool")
        host.run("munged", "--force", f"--key-file={key}", *_munge_files(folder, host.name))
    hosts[first].run("env", f"SLURM_CONF={configuration}", "slurmctld")
    for host in hosts:
        host.run("env", f"SLURM_CONF={configuration}", "slurmd")
    _wait(hosts, first, configuration)
    return environment


def _munge_files(folder: Path, name: str) -> list[str]:
    return [
        f"--log-file={folder}/munged-{name}.log",
        "--pid-file=/run/munge/munged.pid",
        "--seed-file=/run/munge/munged.seed",
        "--socket=/run/munge/munge.socket.2",
    ]


def _wait(hosts: Hosts, first: str, configuration: Path, patience: float = 120) -> None:
    deadline = time.monotonic() + patience
    states = ""
    while time.monotonic() < deadline:
        states = hosts[first].run(
            "env", f"SLURM_CONF={configuration}", "sinfo", "-h", "-N", "-o", "%T", check=False
        )
        if states.split() == ["idle"] * len(list(hosts)):
            return
        time.sleep(0.1)
    logs = "".join(file.read_text()[-2000:] for file in sorted(configuration.parent.glob("*.log")))
    raise HostsError(f"Slurm did not start within {patience:.0f} s ({states.split()}): {logs}")


def speaks_pmix(hosts: Hosts, environment: dict[str, str]) -> bool:
    """Slurm opens PMIx by the name that only its development package has."""
    words = [f"{name}={value}" for name, value in environment.items()]
    first = next(iter(hosts))
    return "pmix" in first.run(
        "env", *words, "srun", "--nodes=1", "--mpi=pmix", "echo", "pmix", check=False
    ).replace("mpi/pmix", "")
