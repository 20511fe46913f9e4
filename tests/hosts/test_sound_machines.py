"""Ten sound machines, of namespaces and control groups: the doctor finds nothing, and tries nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import control_groups, hosts, tools
from support.command import Done, wirespeed
from support.hosts import Hosts
from support.mpis import InstalledMpi
from support.selection import slow_case

QUICK = ("--device", "cpu", "--sizes", "8,1K,64K,1M", "--max-time", "0.1")


@dataclass(frozen=True)
class Sound:
    """A machine without a fault."""

    shm: str
    """Size of each host's /dev/shm."""
    hosts: int = 1
    cpus: str = ""
    """CPUs that everything is pinned to; empty: not pinned."""
    quota: float | None = None
    """CPUs' time that its control group may use; None: no limit."""


MACHINES = {
    "64 MiB of shared memory": ("openmpi", Sound("64m")),
    "4 GiB of shared memory": ("mpich", Sound("4g")),
    "pinned to its CPUs": ("mpich", Sound("64m", cpus="0,1")),
    "an MPI that pins its ranks": ("impi", Sound("4g")),
    "a quota that is not used up": ("openmpi", Sound("4g", quota=4)),
    "a quota, and pinned": ("mpich", Sound("64m", cpus="0,1", quota=4)),
    "two hosts, Open MPI": ("openmpi", Sound("64m", hosts=2)),
    "two hosts, MPICH": ("mpich", Sound("4g", hosts=2)),
    "three hosts": ("openmpi", Sound("4g", hosts=3)),
    "four hosts": ("mpich", Sound("64m", hosts=4)),
}


class Machine:
    """Commands on the first host of a machine."""

    def __init__(self, sound: Sound, there: Hosts, group: Path | None) -> None:
        self._sound, self._there, self._group = sound, there, group

    def run(self, folder: Path, *words: str | Path, out: Path | None = None) -> Done:
        """wirespeed with these words."""
        before = list(self._there["n1"].enter())
        if self._sound.cpus:
            before = ["taskset", "-c", self._sound.cpus, *before]
        if self._group:
            joins = f'echo $$ >{self._group}/cgroup.procs && exec "$@"'
            before = ["sh", "-c", joins, "sh", *before]
        return wirespeed(
            *words, out=out, before=tuple(before), environment=self._there.environment, cwd=folder
        )


@contextmanager
def made(sound: Sound, folder: Path) -> Iterator[Machine]:
    """The machine; skips the test where there can be none."""
    if sound.cpus and (lacks := tools.missing({"taskset": "util-linux"})):
        pytest.skip(lacks)
    with ExitStack() as opened:
        group = None
        if sound.quota:
            if why := control_groups.why_none():
                pytest.skip(why)
            group = opened.enter_context(control_groups.cpu_group(sound.quota))
        try:
            names = [f"n{number + 1}" for number in range(sound.hosts)]
            there = opened.enter_context(hosts.hosts(names, folder))
        except hosts.HostsError as why_not:
            pytest.skip(str(why_not))
        for host in there:
            host.run("mount", "-o", f"remount,size={sound.shm}", "/dev/shm")
        yield Machine(sound, there, group)


def findings(done: Done) -> list[dict[str, Any]]:
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)["findings"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mpi", "name"),
    [
        (mpi, name) if number == 0 else slow_case(mpi, name)
        for number, (name, (mpi, _)) in enumerate(MACHINES.items())
    ],
    indirect=["mpi"],
)
def test_a_sound_machine_has_no_finding(mpi: InstalledMpi, name: str, tmp_path: Path) -> None:
    """Protects operators from findings that are none, with a result file of the machine and without."""
    _, sound = MACHINES[name]
    (tmp_path / "work").mkdir()
    with made(sound, tmp_path) as machine:
        names = ",".join(f"n{number + 1}" for number in range(sound.hosts))
        where = ("--hosts", names) if sound.hosts > 1 else ()
        pattern = ("pingpong",) if sound.hosts < 3 else ("halo", "--ranks", str(sound.hosts))
        paths = ("--paths", "host,host-tcp" if sound.hosts > 1 else "host,host-shared,host-tcp")
        file = tmp_path / "r.jsonl"
        machine.run(tmp_path / "work", *pattern, "--mpi", mpi.mpiexec, *where, *paths, *QUICK, out=file).ok()
        for words in ((), ("--try",), (file,), (file, "--try")):
            asked = ("doctor", "--device", "cpu", "--mpi", mpi.mpiexec, "--json", *words)
            found = findings(machine.run(tmp_path / "work", *asked))
            told = [(one["key"], one["title"], one["evidence"]) for one in found]
            assert not told, f"{name}: {words}: {told}"
