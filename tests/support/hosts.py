"""Several hosts on one machine: each with its own network, name, processes, shared memory and IPC.

A host is a set of namespaces that one process holds. When that process ends, the kernel ends every other
process in there and takes the network down, so nothing can stay behind, whatever a test or pytest does.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support import tools

from wirespeed.host.die_with_parent import dies_with_parent

_NAMESPACES = ("--net", "--uts", "--ipc", "--mount", "--pid")
_TOOLS = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "ps": "procps"}

# SIGCHLD ignored: the kernel reaps what is orphaned, as a host's first process would.
_FIRST_PROCESS = """
set -e
hostname {name}
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mkdir {temporary}
mount --bind {folder}/hosts /etc/hosts
mount -t sysfs sysfs /sys 2>/dev/null || true
ip link set lo up
TMPDIR={temporary} {python} {remote_shell} serve {folder}/{name}.socket >&2 &
while ! test -S {folder}/{name}.socket; do sleep 0.01; done
echo ready
trap '' CHLD
exec sleep infinity
"""

# /tmp is shared, and numbers of processes start anew: launchers would find each other's folders there.
TEMPORARY = "/run/tmp"

# As ssh's: options that it does not know come first, then the host, then words for its shell.
_AGENT = """#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1
shift
echo "$host $*" >>{folder}/agent.log
exec {python} {remote_shell} {folder}/"$host".socket "$@"
"""


class HostsError(Exception):
    """Why there can be no hosts here."""


@dataclass(frozen=True)
class Host:
    """One of them."""

    name: str
    address: str
    pid: int
    """Of the process that holds it, as seen from outside."""

    def enter(self, *command: str | Path) -> tuple[str, ...]:
        """The words that run a command there."""
        return ("nsenter", "--all", f"--target={self.pid}", *map(str, command))

    def run(self, *command: str | Path, check: bool = True) -> str:
        done = subprocess.run(
            self.enter(*command), env=_environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, f"{self.name}: {command}: {done.stderr}"
        return done.stdout

    def until(self, *command: str, gives: str, patience: float = 60) -> None:
        """Runs the command again and again until it prints this."""
        deadline = time.monotonic() + patience
        while (said := self.run(*command)) != gives:
            assert time.monotonic() < deadline, f"{self.name}: {command}: {said!r}"
            time.sleep(0.02)

    def signal(self, pid: int, number: int) -> None:
        """Sends a signal to a process by its number on that host."""
        self.run("kill", f"-{number}", str(pid))

    def sent_bytes(self) -> int:
        return int(self.run("cat", "/sys/class/net/eth0/statistics/tx_bytes"))

    def shared_memory(self) -> list[str]:
        # A user's private folder stays.
        found = self.run("find", "/dev/shm", "-mindepth", "1", "!", "-name", f"wirespeed-{os.getuid()}")
        return sorted(found.split())

    def ranks(self) -> list[str]:
        """Command lines of wirespeed's processes that live there."""
        lines = self.run("ps", "-eo", "stat=,args=").splitlines()
        ours = ("/wirespeed/rank ", "/bin/wirespeed ")
        return [line for line in lines if not line.startswith("Z") and any(word in line for word in ours)]

    def emptied(self, patience: float = 60) -> list[str]:
        """The ranks that do not go away by themselves."""
        deadline = time.monotonic() + patience
        while (left := self.ranks()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left


class Hosts:
    """Hosts on one switch, and the agent that starts commands on them as ssh would."""

    def __init__(self, hosts: Sequence[Host], switch: Host, folder: Path) -> None:
        self._hosts, self._switch, self.folder = {host.name: host for host in hosts}, switch, folder
        self.names = ",".join(self._hosts)

    def __getitem__(self, name: str) -> Host:
        return self._hosts[name]

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts.values())

    @property
    def environment(self) -> dict[str, str]:
        """What makes every MPI's launcher use the agent."""
        agent = str(self.folder / "agent")
        return {
            "TMPDIR": TEMPORARY,
            "OMPI_MCA_plm_rsh_agent": agent,
            "PRTE_MCA_plm_ssh_agent": agent,
            "HYDRA_LAUNCHER": "ssh",
            "HYDRA_LAUNCHER_EXEC": agent,
            "I_MPI_HYDRA_BOOTSTRAP": "ssh",
            "I_MPI_HYDRA_BOOTSTRAP_EXEC": agent,
        }

    def pages(self) -> list[str]:
        """Status pages with a name, on any host."""
        names = (f"{host.name}:{name}" for host in self for name in host.shared_memory())
        return [name for name in names if ":wirespeed-" in name]

    def link(self, name: str, up: bool) -> None:
        """Plugs a host's cable in or out."""
        self._switch.run("ip", "link", "set", f"to-{name}", "up" if up else "down")


def missing() -> str | None:
    """Why there can be no hosts on this machine; None when there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "hosts of network namespaces need root on Linux"
    return tools.missing(_TOOLS)


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": tools.PATH}


def _words(folder: Path) -> dict[str, str]:
    remote_shell = Path(__file__).with_name("remote_shell.py")
    return {
        "temporary": TEMPORARY,
        "folder": shlex.quote(str(folder)),
        "python": shlex.quote(sys.executable),
        "remote_shell": shlex.quote(str(remote_shell)),
    }


def _start(name: str, address: str, folder: Path) -> tuple[subprocess.Popen[str], Host]:
    script = _FIRST_PROCESS.format(name=name, **_words(folder))
    holder = subprocess.Popen(
        dies_with_parent(
            ["unshare", *_NAMESPACES, "--mount-proc", "--fork", "--kill-child", "sh", "-c", script]
        ),
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert holder.stdout
    said = holder.stdout.readline().strip()
    if said != "ready":
        holder.kill()
        holder.wait()
        raise HostsError(f"no namespaces here: {said or 'unshare said nothing'}")
    inside = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()[0]
    return holder, Host(name, address, int(inside))


@contextmanager
def hosts(names: Sequence[str], folder: Path) -> Iterator[Hosts]:
    """Hosts of these names on one switch. Raises HostsError where that cannot be."""
    if why := missing():
        raise HostsError(why)
    addresses = {name: f"10.77.0.{number}" for number, name in enumerate(names, 1)}
    (folder / "hosts").write_text(
        "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items())
    )
    holders: list[subprocess.Popen[str]] = []
    try:
        holder, switch = _start("switch", "", folder)
        holders.append(holder)
        try:
            switch.run("ip", "link", "add", "bridge", "type", "bridge")
        except AssertionError as error:
            raise HostsError(f"no bridge between namespaces here: {error}") from None
        switch.run("ip", "link", "set", "bridge", "up")
        there: list[Host] = []
        for name, address in addresses.items():
            holder, host = _start(name, address, folder)
            holders.append(holder)
            there.append(host)
            _connect(host, switch)
        agent = folder / "agent"
        agent.write_text(_AGENT.format(**_words(folder)))
        agent.chmod(0o755)
        yield Hosts(there, switch, folder)
    finally:
        for holder in holders:
            holder.send_signal(signal.SIGKILL)  # --kill-child: all that is in there ends with it
        for holder in holders:
            holder.wait()
            if holder.stdout:
                holder.stdout.close()


def _connect(host: Host, switch: Host) -> None:
    cable = f"link add to-{host.name} netns {switch.pid} type veth peer name eth0 netns {host.pid}"
    subprocess.run(["ip", *cable.split()], env=_environment(), check=True)
    switch.run("ip", "link", "set", f"to-{host.name}", "master", "bridge", "up")
    host.run("ip", "address", "add", f"{host.address}/24", "dev", "eth0")
    host.run("ip", "link", "set", "eth0", "up")
