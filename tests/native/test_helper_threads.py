"""Untimed work on much host memory, which several threads of a NUMA node share."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.command import captured

from wirespeed.host.core import Core, core

pytestmark = pytest.mark.slow(after=1)

MEMORY = b"pageable"
LARGE = (40 << 20) + 4096 + 5
SEED, TAG = 0x1234, 9
SEVERAL = len(os.sched_getaffinity(0)) > 1

FEW_THREADS_CAN_BE_HAD = """
import resource, sys
from pathlib import Path
sys.path[:0] = [{tests!r}, str(Path({tests!r}).parent)]
from test_helper_threads import LARGE, Host
host = Host()
with host.memory(LARGE) as address:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (room << 20), resource.RLIM_INFINITY))
    host.core.lib.ws_share_node(1, 8)
    host.fill(address, LARGE)
    assert host.first_wrong(address, LARGE) == LARGE
"""


class Host:
    """The host's memory as the core hands it out."""

    def __init__(self) -> None:
        self.core: Core = core()
        self.device = self.core.open_device("host", 0)
        self._first = self.core.ffi.new("uint64_t *")

    @contextmanager
    def memory(self, size: int) -> Iterator[Any]:
        lib = self.core.lib
        address = self.core.check(lib.ws_device_allocate(self.device, MEMORY, size))
        yield address
        lib.ws_device_release(self.device, MEMORY, address)

    def bytes_at(self, address: Any, size: int) -> Any:
        return self.core.ffi.buffer(address, size)

    def fill(self, address: Any, size: int) -> None:
        self.core.check(self.core.lib.ws_device_fill(self.device, MEMORY, address, size, SEED, TAG))

    def first_wrong(self, address: Any, size: int) -> int:
        check = self.core.lib.ws_device_check
        self.core.check(check(self.device, MEMORY, address, size, SEED, TAG, self._first))
        return int(self._first[0])

    def fill_sums(self, address: Any, size: int) -> None:
        self.core.check(self.core.lib.ws_device_fill_sums(self.device, MEMORY, address, size, 3.0))

    def first_wrong_sum(self, address: Any, size: int) -> int:
        check = self.core.lib.ws_device_check_sums
        self.core.check(check(self.device, MEMORY, address, size, 3.0, self._first))
        return int(self._first[0])


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.core.lib.ws_share_node(1, 1)


def own_faults(call: Callable[[], object]) -> int:
    """Pages that came into being because the calling thread touched them."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def faults_of_allocation(host: Host) -> int:
    def allocate() -> None:
        with host.memory(LARGE) as address:
            assert host.bytes_at(address, 1)[:] == host.bytes_at(address + LARGE - 1, 1)[:] == b"Z"

    return own_faults(allocate)


@pytest.mark.parametrize("size", [1, 4097, (8 << 20) - 1, 8 << 20, LARGE])
@pytest.mark.parametrize("start", [0, 8, 3])
def test_threads_make_the_same_content(host: Host, size: int, start: int) -> None:
    """Protects that a byte's content does not depend on how many threads wrote it."""
    with host.memory(size + start) as alone, host.memory(size + start) as shared:
        host.fill(alone + start, size)
        host.core.lib.ws_share_node(1, 8)
        host.fill(shared + start, size)
        assert host.bytes_at(alone, size + start)[:] == host.bytes_at(shared, size + start)[:]
        assert host.first_wrong(shared + start, size) == size


@pytest.mark.parametrize("start", [0, 3])
def test_the_first_wrong_byte_is_found_in_every_part(host: Host, start: int) -> None:
    """Protects that a wrong byte is named by its own offset, and of several the first."""
    host.core.lib.ws_share_node(1, 8)
    with host.memory(LARGE + start) as memory:
        address = memory + start
        host.fill(address, LARGE)
        content = host.bytes_at(address, LARGE)
        later = LARGE
        for place in (LARGE - 1, LARGE * 7 // 8 + 1, LARGE // 2, LARGE // 2 - 1, LARGE // 3, 4096, 1, 0):
            content[place] = bytes([content[place][0] ^ 1])
            assert host.first_wrong(address, LARGE) == place < later
            later = place


def test_sums_of_several_threads(host: Host) -> None:
    """Protects that doubles are made and checked alike, however many threads do it."""
    host.core.lib.ws_share_node(1, 8)
    with host.memory(LARGE) as address:
        host.fill_sums(address, LARGE)
        count = LARGE // 8
        assert host.first_wrong_sum(address, LARGE) == count
        doubles = host.core.ffi.cast("double *", address)
        assert [doubles[i] for i in (0, 1023, 1024, count - 1)] == [
            3.0,
            1026.0,
            3.0,
            3.0 + (count - 1) % 1024,
        ]
        for place in (count - 1, count // 2, 5):
            doubles[place] += 1
            assert host.first_wrong_sum(address, LARGE) == place


@pytest.mark.skipif(not SEVERAL, reason="one CPU")
def test_a_bound_rank_has_helpers_and_stays_bound(host: Host) -> None:
    """Protects that launchers' binding to one core slows no set-up, and holds for what is timed."""
    cpus = os.sched_getaffinity(0)
    pages = LARGE // resource.getpagesize()
    try:
        os.sched_setaffinity(0, {min(cpus)})
        assert faults_of_allocation(host) >= pages
        host.core.lib.ws_share_node(1, 8)
        before = set(Path("/proc/self/task").iterdir())
        assert faults_of_allocation(host) < pages // 10
        until = time.monotonic() + 2  # what has been joined may show for a moment
        while (after := set(Path("/proc/self/task").iterdir())) != before and time.monotonic() < until:
            time.sleep(0.001)
        assert after == before
        assert os.sched_getaffinity(0) == {min(cpus)}
    finally:
        os.sched_setaffinity(0, cpus)


@pytest.mark.parametrize(("processes", "most"), [(1, 1), (4096, 8)])
def test_no_cpus_to_spare(host: Host, processes: int, most: int) -> None:
    """Protects from ranks that take each other's CPUs."""
    host.core.lib.ws_share_node(processes, most)
    assert faults_of_allocation(host) >= LARGE // resource.getpagesize()
    with host.memory(LARGE) as address:
        host.fill(address, LARGE)
        assert host.first_wrong(address, LARGE) == LARGE


@pytest.mark.parametrize("room", [1, 9])
def test_threads_that_cannot_be_started(room: int) -> None:
    """Protects that a host which starts no more threads only loses time. A thread takes 8 MiB of room."""
    program = FEW_THREADS_CAN_BE_HAD.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-I", "-c", f"room = {room}\n{program}"]
    captured(command, ok=True)
