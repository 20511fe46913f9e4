"""Faults of a job over several hosts: each strikes while a size is measured, to see what is said and kept."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support import hosts, mpis, slurm, tools
from support.command import WIRESPEED, Record, read, whole_lines
from support.hosts import Host, Hosts, HostsError
from support.mpis import InstalledMpi

_TOOLS = {"mkfs.ext4": "e2fsprogs", "fsfreeze": "util-linux", "mount": "mount"}
_LAUNCHERS = ("mpiexec", "mpirun", "prterun", "mpiexec.hydra", "mpiexec.openmpi", "orterun", "srun")
FROZEN, THAWED = 15.0, 0.3
"""Seconds: a slow disk takes nothing for so long, then everything for so long."""
STARTS = ("openmpi", "mpich", "slurm")
"""Open MPI's mpiexec, MPICH's, and srun with Debian's Open MPI, whose ranks give way while they wait."""


class Unstruck(Exception):
    """What ended a run before its fault, or kept it from its end."""


@dataclass(frozen=True)
class Cluster:
    """Hosts, the last but two of which is struck, and a disk of its own for the result files."""

    hosts: Hosts
    slurm: dict[str, str]
    disk: Path
    each: int
    """Ranks on each host."""

    @property
    def names(self) -> list[str]:
        return [host.name for host in self.hosts]

    @property
    def struck(self) -> Host:
        return list(self.hosts)[-3]

    def command(self, start: str, *words: str) -> tuple[list[str], dict[str, str]]:
        """What runs a command of wirespeed's on the first host, and its environment."""
        mpi = mpi_of(start)
        first = next(iter(self.hosts))
        before = ["salloc", "--quiet", f"--nodes={len(self.names)}", f"--ntasks={self.ranks}"]
        placed = [] if start == "slurm" else ["--hosts", ",".join(self.names)]
        where = ["--mpi", str(mpi.mpiexec), "--ranks", str(self.ranks), "--oversubscribe", *placed]
        command = first.enter(*(before if start == "slurm" else []), WIRESPEED, *words, *where)
        return list(command), self.slurm if start == "slurm" else self.hosts.environment

    @property
    def ranks(self) -> int:
        return self.each * len(self.names)


def mpi_of(start: str) -> InstalledMpi:
    """Raises HostsError where it is not installed."""
    found = mpis.find("debian" if start == "slurm" else start)
    if isinstance(found, str):
        raise HostsError(found)
    return found


@contextmanager
def cluster(count: int, each: int, folder: Path) -> Iterator[Cluster]:
    """Hosts with Slurm and a disk. Raises HostsError where that cannot be."""
    if why := hosts.missing() or tools.missing(_TOOLS) or slurm.missing():
        raise HostsError(why)
    with ExitStack() as stack:
        disk = folder / "disk"
        stack.enter_context(_disk(disk))
        there = stack.enter_context(hosts.hosts([f"n{number + 1}" for number in range(count)], folder))
        yield Cluster(there, slurm.start(there, cpus=each), disk, each)


@contextmanager
def _disk(place: Path) -> Iterator[None]:
    """A file system of 4 MiB, in a file. The hosts' namespaces, which begin later, have it too."""
    image = place.with_suffix(".img")
    image.write_bytes(bytes(4 << 20))
    place.mkdir()
    environment = {**os.environ, "PATH": tools.PATH}
    for command in (f"mkfs.ext4 -q -m 0 {image}", f"mount -o loop,noatime {image} {place}"):
        done = subprocess.run(command.split(), env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HostsError(f"no disk of its own here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], env=environment, check=False)


@dataclass
class Job:
    """A run that goes on, at the moment of the fault."""

    cluster: Cluster
    process: subprocess.Popen[str]
    out: Path
    undo: ExitStack = field(default_factory=ExitStack)

    def rank_there(self) -> int:
        """The process number, on its host, of a rank of the host that is struck."""
        step = [record for record in whole_lines(self.out) if record["kind"] == "step"][-1]
        return [int(rank["pid"]) for rank in step["ranks"] if rank["host"] == self.cluster.struck.name][-2]

    def launcher(self) -> int:
        """The process number of mpiexec or srun."""
        found = [self.process.pid]
        for pid in found:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            if Path(words[0]).name in _LAUNCHERS:
                return pid
            found += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        raise AssertionError("no launcher among the processes of the run")


def _signal(number: int) -> Callable[[Job], None]:
    return lambda job: job.cluster.struck.signal(job.rank_there(), number)


def _cut(job: Job) -> None:
    name = job.cluster.struck.name
    job.cluster.hosts.link(name, up=False)
    job.undo.callback(job.cluster.hosts.link, name, up=True)


def _kill_the_launcher(job: Job) -> None:
    os.kill(job.launcher(), signal.SIGKILL)


def _fill(job: Job) -> None:
    """Leaves no room on the disk of the result file."""
    filler = job.cluster.disk / "filler"
    job.undo.callback(filler.unlink, missing_ok=True)
    with filler.open("wb", buffering=0) as file:
        for piece in (1 << 16, 1 << 10):
            try:
                while file.write(bytes(piece)):
                    pass
            except OSError:
                continue


def _slow(job: Job) -> None:
    """Stops the disk of the result file again and again, until the run has ended."""
    over = threading.Event()

    def act() -> None:
        environment = {**os.environ, "PATH": tools.PATH}
        while not over.is_set():
            for word, seconds in (("--freeze", FROZEN), ("--unfreeze", THAWED)):
                subprocess.run(["fsfreeze", word, job.cluster.disk], env=environment, check=False)
                over.wait(seconds) if word == "--freeze" else time.sleep(seconds)

    thread = threading.Thread(target=act)
    thread.start()
    job.undo.callback(thread.join)
    job.undo.callback(over.set)


FAULTS: dict[str, Callable[[Job], None]] = {
    "a rank is killed": _signal(signal.SIGKILL),
    "a rank is stopped": _signal(signal.SIGSTOP),
    "a host is cut off": _cut,
    "the launcher is killed": _kill_the_launcher,
    "the result file's disk is slow": _slow,
    "the result file's disk is full": _fill,
}


@dataclass(frozen=True)
class Seen:
    """What a run left of a fault."""

    code: int
    lines: list[str]
    """That name it, and what came of it."""
    seconds: float
    """From the fault to the first failure on record, or to the end."""
    before: list[Record]
    """Entries that were there when it happened."""
    records: list[Record]
    printed: str
    left: list[str]
    """Ranks that did not end by themselves."""

    @property
    def entries(self) -> list[Record]:
        return [record for record in self.records if record["kind"] == "entry"]


def struck(cluster: Cluster, start: str, fault: str, out: Path, words: list[str], patience: float) -> Seen:
    """A run with a fault while its second size is measured. Nothing may be left of the fault afterwards."""
    command, environment = cluster.command(start, *words, "--out", str(out))
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    job = Job(cluster, process, out)
    deadline = time.monotonic() + patience
    while process.poll() is None and not _of(whole_lines(out), "entry"):
        if time.monotonic() > deadline:
            _end(process)
            raise Unstruck(f"no figure within {patience:.0f} s")
        time.sleep(0.1)
    time.sleep(0.5)
    if process.poll() is not None:
        raise Unstruck(f"ended before the fault: {' '.join(process.communicate())}")
    with job.undo:
        before = _of(whole_lines(out), "entry")
        began = time.monotonic()
        FAULTS[fault](job)
        named = 0.0
        streams: list[str] = []
        reader = threading.Thread(target=lambda: streams.extend(process.communicate()))
        reader.start()
        while reader.is_alive():
            if time.monotonic() > began + patience:
                _end(process)
                raise Unstruck(f"no end within {patience:.0f} s after the fault")
            if not named and _of(whole_lines(out), "failure"):
                named = time.monotonic() - began
            reader.join(0.1)
        seconds = named or time.monotonic() - began
    left = [f"{host.name}: {line}" for host in cluster.hosts for line in host.emptied(60)]
    records, printed = read(out), "\n".join(streams)
    lines = [failure["text"] for failure in _of(records, "failure")]
    errors = streams[1].splitlines() if len(streams) > 1 else []
    lines += [line for line in errors if out.name in line and not line.startswith("results: ")]
    return Seen(process.returncode, lines, seconds, before, records, printed, left)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait(60)


def _of(records: list[Record], kind: str) -> list[Record]:
    return [record for record in records if record["kind"] == kind]
