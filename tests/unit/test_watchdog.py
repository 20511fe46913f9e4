"""The watchdog's thread, which runs for as long as its process does."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc, time
from wirespeed.host.core import Core
from wirespeed.rank.observe.watchdog import Watchdog

core = Core()
Watchdog(core, "test-unload", 0, reports=-1, give_up=True).close()
del core
gc.collect()
time.sleep(0.5)  # five times what the thread sleeps
"""


def test_the_core_stays_while_its_thread_runs() -> None:
    """Protects a process that ends by itself, slowly: Python lets go of the core before it is gone."""
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
