"""Every kernel on a real GPU, once and small; memory of each kind, and elements beside NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gpu.conftest import DEVICE, Ranks
from support import every_kernel, tools
from support.rank import Alone
from support.selection import slow_case

from wirespeed.patterns.collectives.rank_view import REDUCTIONS, TYPES

ALLOCATORS = ("driver", "pool", "vmm", "openmp", "openacc")
MEMORY = ("pinned", "device", "managed", "managed-host")
pytestmark = pytest.mark.gpus(1)


@pytest.mark.parametrize("part", every_kernel.ONE_GPU)
def test_every_kernel(part: str, ranks: Ranks, shared: bool) -> None:
    """Protects copies, chains, solvers, protocols, sums, soaks and lists, whichever a figure would choose."""
    every_kernel.judge(
        part, ranks(*every_kernel.command(DEVICE, part, shared), count=every_kernel.RANKS[part])
    )


@pytest.mark.gpus(2)
@pytest.mark.nvidia
def test_kernels_in_nccl_s_stream(ranks: Ranks) -> None:
    """Protects the check of a soak that goes with the next message in a stream."""
    every_kernel.judge("streams", ranks("every_kernel.py", DEVICE, "streams"))


@pytest.fixture
def alone(request: pytest.FixtureRequest) -> Iterator[Alone]:
    allocator = getattr(request, "param", "driver")
    if allocator.startswith("open") and (why := tools.why_no_gcc_offloading()):
        pytest.skip(why)
    rank = Alone(DEVICE, allocator)
    yield rank
    rank.core.lib.ws_device_close(rank.device)


def filled_and_checked(rank: Alone, memory: str, size: int, offset: int) -> None:
    """A fill is what a check expects, and a single wrong byte is found where it is."""
    core, lib, device = rank.core, rank.core.lib, rank.device
    transport = rank.transport("copy")
    buffers = rank.buffers(transport, size + 64, memory)
    at = core.ffi.cast("char *", lib.ws_buffers_send(buffers)) + offset
    first = core.ffi.new("uint64_t *")

    def wrong(tag: int) -> int:
        core.check(lib.ws_device_check(device, memory.encode(), at, size, 7, tag, first))
        return int(first[0])

    core.check(lib.ws_device_fill(device, memory.encode(), at, size, 7, 3))
    assert wrong(3) == size and wrong(4) < size
    byte = core.ffi.new("unsigned char *")
    place = size * 2 // 3
    core.check(lib.ws_device_copy(device, byte, at + place, 1))
    byte[0] ^= 0x40
    core.check(lib.ws_device_copy(device, at + place, byte, 1))
    assert wrong(3) == place
    core.check(lib.ws_buffers_close(buffers))
    core.check(lib.ws_transport_close(transport))


@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.parametrize("memory", MEMORY)
def test_a_wrong_byte_is_found(memory: str, offset: int, alone: Alone) -> None:
    """Protects the check of every figure, in each kind of memory and at odd addresses."""
    for size in (3, 4097, 1 << 22):
        filled_and_checked(alone, memory, size, offset)


@pytest.mark.parametrize("alone", ALLOCATORS, indirect=True)
def test_memory_of_each_allocator(alone: Alone) -> None:
    """Protects kernels and copies from memory that the driver did not hand out by cuMemAlloc."""
    filled_and_checked(alone, "device", 1 << 20, 1)


@pytest.mark.parametrize("origin", MEMORY)
@pytest.mark.parametrize("to", ["pinned", "device", *map(slow_case, ("managed", "managed-host"))])
def test_copies_between_kinds_of_memory(to: str, origin: str, alone: Alone) -> None:
    """Protects the driver's copies, which every path of the host is made of."""
    core, lib, size = alone.core, alone.core.lib, (1 << 20) + 5
    transport = alone.transport("copy")
    one, other = (alone.buffers(transport, size, memory) for memory in (origin, to))
    start, end = lib.ws_buffers_send(one), lib.ws_buffers_receive(other)
    core.check(lib.ws_device_fill(alone.device, origin.encode(), start, size, 1, 2))
    core.check(lib.ws_device_copy(alone.device, end, start, size))
    first = core.ffi.new("uint64_t *")
    core.check(lib.ws_device_check(alone.device, to.encode(), end, size, 1, 2, first))
    assert first[0] == size
    for buffers in (one, other):
        core.check(lib.ws_buffers_close(buffers))
    core.check(lib.ws_transport_close(transport))


def numbers(kind: str, seed: int) -> Any:
    """Numbers of a type, by their bits."""
    drawn = np.random.default_rng(seed).normal(0, 1000, 4096)
    if kind == "bf16":
        return (drawn.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return drawn.astype({"fp32": "f4", "fp64": "f8", "int32": "i4", "fp16": "f2"}[kind])


@pytest.mark.parametrize("kind", TYPES)
def test_elements_are_combined_as_on_the_cpu(kind: str, alone: Alone) -> None:
    """Protects sums from rounding of a GPU's own: bit for bit what the CPU makes (tests/native: NumPy's)."""
    one, other = numbers(kind, 1), numbers(kind, 2)
    core, lib, size = alone.core, alone.core.lib, one.nbytes
    transport = alone.transport("copy")
    buffers = [alone.buffers(transport, size) for _ in range(2)]
    places = [lib.ws_buffers_receive(buffers[1]), *(lib.ws_buffers_send(each) for each in buffers)]
    for place, given in zip(places[1:], (one, other), strict=True):
        core.check(lib.ws_device_copy(alone.device, place, core.ffi.from_buffer(given), size))
    for reduction in range(len(REDUCTIONS)):
        on_gpu, on_cpu = np.zeros_like(one), np.zeros_like(one)
        combined(alone, "device", places, kind, reduction)
        core.check(lib.ws_device_copy(alone.device, core.ffi.from_buffer(on_gpu), places[0], size))
        combined(
            alone,
            "pageable",
            [core.ffi.from_buffer(array) for array in (on_cpu, one, other)],
            kind,
            reduction,
        )
        assert on_gpu.tobytes() == on_cpu.tobytes() != np.zeros_like(one).tobytes()
    for each in buffers:
        core.check(lib.ws_buffers_close(each))
    core.check(lib.ws_transport_close(transport))


def combined(rank: Alone, memory: str, places: list[Any], kind: str, reduction: int) -> None:
    addresses = [int(rank.core.ffi.cast("uintptr_t", place)) for place in places]
    words = rank.core.ffi.new("uint64_t[]", [*addresses, 4096, list(TYPES).index(kind), reduction])
    call = rank.core.lib.ws_device_launch
    rank.core.check(call(rank.device, memory.encode(), b"ws_elements_combine", 4, 128, words, len(words)))
