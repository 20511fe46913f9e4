"""The watchdog's thread, which runs for as long as its process does."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import time

import pytest
from support.command import captured

from wirespeed.host.removal import remove_folder
from wirespeed.job.status_page import own_folder


@pytest.fixture
def run() -> str:
    """A folder's name in /dev/shm, which other sessions of the tests use as well."""
    return f"test-{secrets.token_hex(8)}"


SCRIPT = """
import gc, sys, time
from wirespeed.host.core import Core
from wirespeed.rank.observe.watchdog import Watchdog

core = Core()
Watchdog(core, sys.argv[1], 0, reports=-1, give_up=True).close()
del core
gc.collect()
time.sleep(0.5)  # five times what the thread sleeps
"""


def test_the_core_stays_while_its_thread_runs(run: str) -> None:
    """Protects a process that ends by itself, slowly: Python lets go of the core before it is gone."""
    command = [sys.executable, "-c", SCRIPT, run]
    done = captured(command, cwd="/")
    assert done.returncode == 0, (done.returncode, done.stderr)


WAITING = """
import mmap, struct, sys, threading, time
from wirespeed.host.core import core
from wirespeed.job import status_page
from wirespeed.rank.observe.watchdog import Watchdog

name, moves, ranks = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
opened = core()
watchdog = Watchdog(opened, name, 0, reports=-1, give_up=True)
watchdog.stage("host", 8, 0.8)
with watchdog.file.open("r+b") as file:
    page = mmap.mmap(file.fileno(), status_page.SIZE)
at = status_page.SIZE - 16
page[at:at + 12] = struct.pack("=di", 3.0, ranks)
other = opened.check(opened.lib.ws_page_open(str(watchdog.file.with_name("1.page")).encode(), 1))

def other_rank():
    until = time.monotonic() + moves
    while time.monotonic() < until:
        opened.lib.ws_page_stage(other, b"host", 8, 0.8)
        time.sleep(0.05)

threading.Thread(target=other_rank, daemon=True).start()
time.sleep(60)
"""


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("moves", "ranks", "least"),
    [(3.0, 2, 3.0), (0.0, 2, 0.8), (0.0, 3, 3.8)],
    ids=["the other rank works", "nobody works", "a rank on another host"],
)
def test_a_rank_that_only_waits(moves: float, ranks: int, least: float, run: str) -> None:
    """Protects a healthy job, which a rank with nothing to do must not end while others get somewhere."""
    began = time.monotonic()
    command = [sys.executable, "-c", WAITING, run, str(moves), str(ranks)]
    done = captured(command, cwd="/", timeout=60)
    assert done.returncode == 75, (done.returncode, done.stderr)
    assert "no progress for" in done.stderr
    assert time.monotonic() - began >= least


CRASHING = """
import fcntl, os, signal, sys, time
from wirespeed.host.core import core
from wirespeed.rank.observe.watchdog import Watchdog

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
read, write = os.pipe()
while fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK) == 0:
    try:
        os.write(write, bytes(1 << 16))
    except BlockingIOError:
        break
os.set_blocking(write, True)
Watchdog(core(), sys.argv[1], 0, reports=write, give_up=False).stage("host", 8, 60.0)
signal.signal(signal.SIGALRM, lambda *_: None)
os.kill(os.getpid(), signal.SIGSEGV)
time.sleep(60)
"""


@pytest.mark.slow
def test_a_crash_whose_report_never_ends(run: str) -> None:
    """Protects the end of a crashed rank from what it dies of, where a library has taken SIGALRM away."""
    command = [sys.executable, "-c", CRASHING, run]
    done = subprocess.run(command, cwd="/", capture_output=True, timeout=30, check=False)
    # As the front end does, which alone outlives the rank.
    remove_folder(own_folder(run))
    assert done.returncode == -signal.SIGSEGV
