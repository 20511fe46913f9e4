"""Status pages are read while ranks come and go."""

from __future__ import annotations

import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from wirespeed.frontend.job_step import JobStep
from wirespeed.host import temporary
from wirespeed.host.process import process_state
from wirespeed.job.messages import Done
from wirespeed.job.status_page import read_pages


def test_a_folder_that_goes_while_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a whole run from its ranks' end: the last one takes the folder away between two looks."""
    folder = tmp_path / "pages"
    folder.mkdir(mode=0o700)

    def goes_before(function: Callable[..., Any]) -> Callable[..., Any]:
        def gone(path: Any = ".") -> Any:
            if folder.exists():
                folder.rmdir()
            return function(path)

        return gone

    # Which of the two pathlib asks depends on Python's version.
    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, goes_before(getattr(os, name)))
    assert read_pages(folder) == []
    assert not folder.exists()


def stepped(folder: Path, program: str, ranks: int) -> JobStep:
    """A job step whose launcher is this program; pages lie in a folder that it is given."""
    (pages := folder / "pages").mkdir(mode=0o700)
    script = folder / "ranks.py"
    script.write_text(program)
    return JobStep([sys.executable, str(script), str(pages)], dict(os.environ), pages, ranks, 10.0)


_RANKS = """
import os, signal, sys, time
from pathlib import Path
from wirespeed.host.core import core
from wirespeed.job.message_lines import send
from wirespeed.job.messages import RankError
from wirespeed.job.status_page import lost

folder, opened = Path(sys.argv[1]), core()
ranks = []
while len(ranks) < 2 and (child := os.fork()):
    ranks.append(child)
if len(ranks) == 2:
    sys.exit(max(os.waitpid(child, 0)[1] for child in ranks) and 1)
rank = len(ranks)
page = opened.check(opened.lib.ws_page_open(str(folder / f"{rank}.page").encode(), rank))
opened.lib.ws_page_stage(page, b"host", 64, 10.0)
if rank == 0:
    os.kill(os.getpid(), signal.SIGKILL)
gone = tuple(lost(folder, 10.0))
send(RankError(1, "MPI_Recv: no such process", lost=gone))
"""


def test_an_error_that_a_death_caused(tmp_path: Path) -> None:
    """Protects the dead rank's name where both ended before anybody looked: its peer's call failed first."""
    step = stepped(tmp_path, _RANKS, 2)
    assert list(step.messages()) == []
    assert (step.outcome.what, step.outcome.rank) == ("death", 0), step.outcome.log


_STUCK = """
import time
from wirespeed.job.message_lines import send
from wirespeed.job.messages import RankReport
for rank in (0, 1):
    time.sleep(1.3)
    send(RankReport("stuck", rank, 1, "n", "host", 8, 3, "MPI_Recv", 1 - rank, "spinning", "", [], []))
time.sleep(60)
"""


@pytest.mark.slow
def test_a_complaint_is_no_progress(tmp_path: Path) -> None:
    """Protects the time that a hang's line states: a rank that reports that it is stuck has not moved on."""
    step = stepped(tmp_path, _STUCK, 2)
    assert list(step.messages()) == []
    said = re.match(r"no progress for (\d+) s: rank 0 on n", step.outcome.text)
    assert said and int(said[1]) >= 2, step.outcome.text


_TOLD_LATE = """
import os, signal, sys, time
from pathlib import Path
from wirespeed.host.core import core
from wirespeed.job.message_lines import send
from wirespeed.job.messages import Note
from wirespeed.rank.observe import watchdog
from wirespeed.rank.observe.watchdog import Watchdog

folder, opened = Path(sys.argv[1]), core()
watchdog.own_folder = Path
ranks = []
while len(ranks) < 2 and (child := os.fork()):
    ranks.append(child)
if len(ranks) == 2:
    while not (folder.parent / "reap").exists():
        send(Note("still here"))
        time.sleep(0.02)
    os.waitpid(ranks[int((folder.parent / "reap").read_text())], 0)
    (folder.parent / "reaped").touch()
    sys.exit(1)
kept = Watchdog(opened, "x", len(ranks), 2, False)
signal.signal(signal.SIGUSR1, lambda *_: os.close(kept.held))
while True:
    signal.pause()
"""


@pytest.mark.parametrize("first", [0, 1])
def test_the_first_to_close_its_files_died_first(first: int, tmp_path: Path) -> None:
    """Protects a killed rank's name from a launcher that hears of its sockets, and is faster than its end."""
    step = told_late(tmp_path)
    for _ in step.messages():
        if len(step._seen.watched) == 2 and not (tmp_path / "reap").exists():
            pids = {state.rank: state.pid for state in read_pages(tmp_path / "pages")}
            os.kill(pids[first], signal.SIGUSR1)
            while holds_its_pipe(pids[first]):
                time.sleep(0.001)
            end_in_order([pids[1 - first], pids[first]])
            reap(tmp_path, first)
    assert (step.outcome.what, step.outcome.rank) == ("death", first), step.outcome.text


def holds_its_pipe(pid: int) -> bool:
    names = []
    for file in Path(f"/proc/{pid}/fd").iterdir():
        # It may close one while they are listed.
        with suppress(FileNotFoundError):
            names.append(file.readlink())
    return any(name.suffix == ".alive" for name in names)


_MANY_FILES = """
import os, signal, socket, sys
from pathlib import Path
from wirespeed.host.core import core
from wirespeed.rank.observe import watchdog

watchdog.own_folder = Path
heard = socket.socket(fileno=int(sys.argv[2])).dup()
kept = watchdog.Watchdog(core(), sys.argv[1], 0, 2, False)
later = heard.dup()
for file in [os.memfd_create("large") for _ in range(4)]:
    for _ in range(100):
        os.write(file, bytes(1 << 20))
print("ready", flush=True)
signal.pause()
"""


def test_the_pipe_of_a_killed_rank_closes_before_its_sockets(tmp_path: Path) -> None:
    """Protects the order of deaths: at a socket's end a launcher kills the peer."""
    ours, theirs = socket.socketpair()
    pages = tmp_path / "pages"
    pages.mkdir(mode=0o700)
    arguments = [sys.executable, "-I", "-c", _MANY_FILES, str(pages), str(theirs.fileno())]
    with ours, subprocess.Popen(arguments, stdout=subprocess.PIPE, pass_fds=[theirs.fileno()]) as rank:
        theirs.close()
        assert rank.stdout and rank.stdout.readline() == b"ready\n"
        pipe = os.open(pages / "0.alive", os.O_RDONLY | os.O_NONBLOCK)
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            selector.register(ours, selectors.EVENT_READ)
            rank.kill()
            closed = [key.fd for key, _ in selector.select(30)]
        os.close(pipe)
    assert closed[0] == pipe


def told_late(tmp_path: Path) -> JobStep:
    """Two ranks under a launcher that hears of no death until it is told to reap."""
    return stepped(tmp_path, _TOLD_LATE.replace('"x"', repr(str(tmp_path / "pages"))), 2)


def end_in_order(pids: list[int]) -> None:
    """While the front end stands still."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        # Its files are closed with the last of its threads.
        while process_state(pid) != "Z" or len([*Path(f"/proc/{pid}/task").iterdir()]) > 1:
            time.sleep(0.001)


def reap(tmp_path: Path, rank: int) -> None:
    (tmp_path / "part").write_text(str(rank))
    (tmp_path / "part").rename(tmp_path / "reap")
    while not (tmp_path / "reaped").exists():
        time.sleep(0.001)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("reaped", [0, 1])
def test_two_deaths_between_two_looks(first: int, reaped: int, tmp_path: Path) -> None:
    """Protects the peer on a busy machine: whichever the launcher reaped first, the first to end counts."""
    step = told_late(tmp_path)
    for _ in step.messages():
        if len(step._seen.watched) == 2 and not (tmp_path / "reap").exists():
            pids = {state.rank: state.pid for state in read_pages(tmp_path / "pages")}
            end_in_order([pids[first], pids[1 - first]])
            reap(tmp_path, reaped)
    assert (step.outcome.what, step.outcome.rank) == ("death", first), step.outcome.text


def test_folders_of_killed_processes_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects TMPDIR from what SIGKILL leaves, and folders of processes that run, wherever they do."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    mine = Path(temporary.make_folder("home"))
    start, _, rest = mine.name.rpartition(f"-{os.getpid()}-")
    killed, foreign = (tmp_path / f"{one}-{gone.pid}-{rest}" for one in (start, "wirespeed-home-0a1b2c3d"))
    other = tmp_path / f"{start}-notes"
    for folder in (killed, foreign, other):
        folder.mkdir(mode=0o700)
    with temporary.temporary_folder("home") as again:
        assert again.exists() and mine.exists() and foreign.exists() and other.exists()
        assert not killed.exists()
    assert not again.exists()


def test_namespaces_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a run from another host with the same TMPDIR, where its process has another number."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = []
    for host in ("n1", "n2"):
        monkeypatch.setattr(temporary, "process_namespace", lambda host=host: host)
        names.append(Path(temporary.make_folder("home")).name.rpartition(f"-{os.getpid()}-")[0])
    assert names[0] != names[1]


_SLOW = """
import os, sys, time
from wirespeed.host.core import core
from wirespeed.job.message_lines import send
from wirespeed.job.messages import Done, RankReport
opened = core()
page = opened.check(opened.lib.ws_page_open((sys.argv[1] + "/0.page").encode(), 0))
opened.lib.ws_page_stage(page, b"host", 8, 10.0)
time.sleep(0.5)
send(RankReport("stuck", 0, os.getpid(), "n", "host", 8, 3, "MPI_Recv", 1, "spinning", "", [], []))
time.sleep(0.5)
opened.lib.ws_page_stage(page, b"host", 16, 10.0)
time.sleep(2.5)
send(Done())
"""


@pytest.mark.slow
def test_a_rank_that_goes_on_takes_its_complaint_back(tmp_path: Path) -> None:
    """Protects figures on a busy machine: a rank that was slow for once does not hang."""
    step = stepped(tmp_path, _SLOW, 1)
    assert [type(message) for message in step.messages()] == [Done]
    assert step.outcome.what == "ok", step.outcome.text
