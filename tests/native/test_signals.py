"""Words that signal messages, over libraries whose puts arrive in any order that they allow.

Each runs in a process of its own: where another test has opened UCX, that one would be used, and its hooks
of mremap() move the memory of GASNet's stand-in.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support import stand_ins
from support.command import captured

pytestmark = pytest.mark.slow(after=1)


def of_ucx(builds: Path, *words: str) -> Any:
    """What ucx_signals.py prints, over the UCX of fake_ucx.cpp."""
    script = Path(__file__).with_name("ucx_signals.py")
    command = [sys.executable, str(script), str(stand_ins.fake_ucx(builds)), *words]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = captured(command, env=environment, timeout=60, ok=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("in_place", [False, True], ids=["two buffers", "in place"])
def test_puts_of_ucx(in_place: bool, cxx: str, builds: Path) -> None:
    """Protects ucx-put where several messages of a step, or steps of no bytes, signal one word.

    A signal leaves when its bytes have arrived, and none overtakes another: the word would fall back.
    """
    counted = of_ucx(builds, "puts", *(["in place"] if in_place else []))
    # One for each step that sends and, where what is sent may not be overwritten, one before it.
    assert counted == [50 if in_place else 40, 0, 0]


def test_ranks_flush_and_meet_once_a_run(cxx: str, builds: Path) -> None:
    """Protects runs with work from a flush, and a meeting of all ranks, in every step."""
    assert of_ucx(builds, "flushes") == [2, 2]


SIGNALS_OF_GASNET = """
import ctypes, os, sys

shim = ctypes.CDLL(sys.argv[1])
assert shim.wirespeed_gasnet_join(ctypes.c_size_t(1 << 16)) == 0
os.unlink(sys.argv[2])
shim.wirespeed_gasnet_memory.restype = ctypes.c_void_p
base = shim.wirespeed_gasnet_memory(0, ctypes.byref(ctypes.c_size_t()))
word, to, sent = (ctypes.c_uint64.from_address(base + at) for at in (0, 8, 16))

def put(value):
    sent.value = value
    places = ctypes.byref(to), ctypes.byref(sent), ctypes.c_size_t(8), ctypes.byref(word)
    shim.wirespeed_gasnet_put(*places, ctypes.c_uint64(value), 0)

for value in (1, 2, 3):
    shim.wirespeed_gasnet_signal(ctypes.byref(word), ctypes.c_uint64(value), 0)
shim.wirespeed_gasnet_poll()
assert word.value == 3
put(4)
shim.wirespeed_gasnet_poll()
assert word.value == 3, "the signal came before the bytes"
# More than the shim keeps at once.
for value in range(5, 205):
    put(value)
shim.wirespeed_gasnet_quiet()
assert (word.value, to.value) == (204, 204)
"""


def test_signals_of_gasnet(builds: Path, tmp_path: Path) -> None:
    """Protects the shim: a signal leaves when its bytes have arrived, and none overtakes another."""
    file = Path("/dev/shm") / f"wirespeed-fake-gasnet-{tmp_path.name}-{os.getpid()}"
    told = {"AMUDP_WORKER_ARGS": f"1,/{file.name},", "GASNET_WORKER_RANK": "0"}
    command = [sys.executable, "-c", SIGNALS_OF_GASNET, str(stand_ins.gasnet_of_one_rank(builds)), str(file)]
    captured(command, env=os.environ | told, timeout=60, ok=True)
