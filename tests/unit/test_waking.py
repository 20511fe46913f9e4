"""The driver of GPUs starts while modules are imported, where a command is going to ask it."""

from __future__ import annotations

import sys
import threading

import pytest
from support.command import captured

from wirespeed.cli.common.waking import wake_gpus
from wirespeed.host.core import Core, NativeError


@pytest.mark.parametrize(
    ("device", "launched", "asked"),
    [
        ("auto", False, ["cuda"]),
        ("cuda:1,cuda:0", False, ["cuda"]),
        ("cpu", False, []),
        ("emulated", False, []),
        ("auto", True, []),
    ],
)
def test_the_driver_is_asked_beside_the_imports(
    device: str, launched: bool, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a rank, whose GPU no one may touch before MPI starts, and commands without GPUs."""
    found = list[str]()

    def count(_: Core, kind: str) -> int:
        assert threading.current_thread() is not threading.main_thread()
        found.append(kind)
        raise NativeError("no driver")

    monkeypatch.setattr(Core, "device_count", count)
    if launched:
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
        monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    before = {*threading.enumerate()}
    wake_gpus(device)
    for thread in {*threading.enumerate()} - before:
        thread.join()
    assert found == asked


SLOW = """
import sys, time
from wirespeed.host.core import Core
Core.device_count = lambda self, kind: time.sleep(30)
from wirespeed.cli.common import waking
waking.wake_gpus("auto")
print("a last word")
waking.leave(3)
"""


def test_nobody_waits_for_a_driver_that_does_not_answer() -> None:
    """Protects a message about a wrong word, and Ctrl-C, from a driver that takes seconds, or hangs."""
    done = captured([sys.executable, "-I", "-c", SLOW], timeout=25)
    assert (done.returncode, done.stdout, done.stderr) == (3, "a last word\n", "")
