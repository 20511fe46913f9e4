"""Programs that must not outlive their parent, whoever wrote them and however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command import captured

from wirespeed.doctor.job import run_process
from wirespeed.host.die_with_parent import dies_with_parent
from wirespeed.host.process import process_state

_PARENT = """
import subprocess, time
from wirespeed.host.die_with_parent import dies_with_parent
print(subprocess.Popen(dies_with_parent(["sleep", "60"])).pid, flush=True)
time.sleep(60)
"""


def gone(pid: int) -> bool:
    return process_state(pid) in ("", "Z")


def test_it_ends_with_its_parent() -> None:
    """Protects the machine from launchers whose front end was killed."""
    parent = subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    child = int(parent.stdout.readline())
    program = Path(f"/proc/{child}/comm")
    while program.read_text() != "sleep\n":
        time.sleep(0.01)
    parent.kill()
    parent.communicate()
    while not gone(child):
        time.sleep(0.01)


def test_it_does_not_start_after_its_parent() -> None:
    """The parent may end before the kernel is told."""
    *words, _, program = dies_with_parent(["true"])
    done = captured([*words, "1", program])
    assert (done.returncode, done.stderr) == (1, "its parent has ended\n")


def test_it_is_the_program_itself() -> None:
    """Nothing stays between a front end and its launcher: no process, descriptor or signal ignored."""
    words = ["sh", "-c", "echo $$; grep SigIgn /proc/self/status; ls /proc/self/fd | wc -l; exit 7"]
    alone = subprocess.run(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    with subprocess.Popen(
        dies_with_parent(words), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        said = process.communicate()[0].splitlines()
    assert process.returncode == 7
    assert said == [str(process.pid), *alone.stdout.splitlines()[1:]]


def test_a_program_that_is_not_there() -> None:
    done = captured(dies_with_parent(["no-such-program", "-x"]))
    assert (done.returncode, done.stderr) == (127, "no-such-program: No such file or directory\n")


def test_a_measurement_runs_on_the_cpus_asked_for() -> None:
    """Where the doctor's measurements run is no place for the doctor itself to stay."""
    mine = os.sched_getaffinity(0)
    last = max(mine)
    said, _ = run_process(("grep", "Cpus_allowed_list", "/proc/self/status"), os.environ, 60.0, (last,))
    assert said.split() == ["Cpus_allowed_list:", str(last)]
    assert os.sched_getaffinity(0) == mine


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_end_it(name: str) -> None:
    """Python's own handlers are gone once the program runs."""
    process = subprocess.Popen(
        dies_with_parent(["sh", "-c", "echo ready; exec sleep 60"]), stdout=subprocess.PIPE
    )
    assert process.stdout
    process.stdout.readline()
    process.send_signal(signal.Signals[name])
    process.communicate()
    assert process.returncode == -signal.Signals[name]
