"""What a GPU device must do, each in a process of its own: python scenarios.py NAME KIND [ARGUMENT].

The drivers' tables are opened once per process, so a test that needs another driver (a fake one, one that
fails) needs another process. In the environment, LIBRARY_<name> says where a library lies,
and ALLOCATOR who hands out device memory ("openmp"), and in which context ("openmp in own").
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from wirespeed.frontend.machine import look
from wirespeed.host.core import NativeError, core
from wirespeed.job.plan import Plan

SIZES = (1, 7, 4096, 65537, 3 << 20)
MEMORIES = ("pageable", "pinned", "device", "managed", "managed-host")


class Gpu:
    """One device of the core, without any cleverness."""

    def __init__(self, kind: str, index: int = 0) -> None:
        self.core = core()
        self.lib, self.ffi = self.core.lib, self.core.ffi
        for name, path in os.environ.items():
            if name.startswith("LIBRARY_"):
                self.lib.ws_library_path(name[len("LIBRARY_") :].lower().encode(), path.encode())
        self.kind = kind
        self.memories = MEMORIES if kind != "openmp" else ("pageable", "device")
        self.device: Any = None
        self.index = index

    def open(self) -> Gpu:
        allocator, _, context = os.environ.get("ALLOCATOR", "driver").partition(" in ")
        self.device = self.core.open_device(self.kind, self.index, allocator, context == "own")
        return self

    def sibling(self, index: int) -> Gpu:
        return Gpu(self.kind, index).open()

    def allocate(self, memory: str, size: int) -> Any:
        return self.core.check(self.lib.ws_device_allocate(self.device, memory.encode(), size))

    def release(self, memory: str, address: Any) -> None:
        self.lib.ws_device_release(self.device, memory.encode(), address)

    def copy(self, to: Any, source: Any, size: int) -> None:
        self.core.check(self.lib.ws_device_copy(self.device, to, source, size))

    def put(self, address: Any, content: bytes) -> None:
        self.copy(address, self.ffi.from_buffer(content), len(content))

    def get(self, address: Any, size: int) -> bytes:
        content = self.ffi.new("char[]", size)
        self.copy(content, address, size)
        return bytes(self.ffi.buffer(content, size))

    def must_hold(self, address: Any, content: bytes) -> None:
        """Looks without asking the driver, which may finish work late: a fake's memory is the host's."""
        if "LIBRARY_" + self.kind.upper() in os.environ:
            assert bytes(self.ffi.buffer(address, len(content))) == content

    def share(self, address: Any) -> bytes:
        handle = self.ffi.new("char[128]")
        self.core.check(self.lib.ws_device_share(self.device, address, handle))
        return bytes(self.ffi.buffer(handle))

    def open_shared(self, handle: bytes) -> Any:
        return self.core.check(self.lib.ws_device_open_shared(self.device, self.ffi.from_buffer(handle)))

    def close_shared(self, address: Any) -> None:
        self.core.check(self.lib.ws_device_close_shared(self.device, address))

    def fill(self, memory: str, address: Any, size: int, seed: int, tag: int) -> None:
        self.core.check(self.lib.ws_device_fill(self.device, memory.encode(), address, size, seed, tag))

    def first_wrong(self, memory: str, address: Any, size: int, seed: int, tag: int) -> int:
        first = self.ffi.new("uint64_t *")
        self.core.check(
            self.lib.ws_device_check(self.device, memory.encode(), address, size, seed, tag, first)
        )
        return int(first[0])


def content_of(size: int, salt: int) -> bytes:
    return bytes((i * 167 + salt) % 251 for i in range(min(size, 1 << 16))) * (-(-size // (1 << 16)))


def error_of(call: Any, *arguments: Any) -> str:
    try:
        call(*arguments)
    except NativeError as error:
        return str(error)
    raise AssertionError("no error")


def count(gpu: Gpu) -> None:
    """Prints how many devices there are."""
    print(gpu.core.device_count(gpu.kind))


def identity(gpu: Gpu) -> None:
    """Prints the device's identity."""
    print(gpu.core.identity(gpu.open().device))


def of_fake(gpu: Gpu, count: str) -> int:
    """A count that the fake driver keeps of this process."""
    found: int = getattr(ctypes.CDLL(os.environ["LIBRARY_" + gpu.kind.upper()]), count)()
    return found


def looks(gpu: Gpu) -> None:
    """The front end names every GPU and takes a context on none."""
    seen = [device["id"] for device in look(Plan(device=gpu.kind)).devices]
    assert of_fake(gpu, "fake_retained") == 0
    assert seen == [gpu.core.identity(gpu.sibling(index).device)["id"] for index in (0, 1)]
    assert of_fake(gpu, "fake_contexts") == 2


def closes(gpu: Gpu) -> None:
    """A device that is closed holds nothing any more, of its peers either."""
    gpu.open()
    handle = gpu.share(gpu.allocate("device", 4096))
    other = gpu.sibling(1)
    other.open_shared(handle)
    gpu.lib.ws_device_close(other.device)
    gpu.put(gpu.allocate("device", 64), bytes(64))
    gpu.lib.ws_device_close(gpu.device)
    assert of_fake(gpu, "fake_contexts") == 0


def copies(gpu: Gpu) -> None:
    """Every pairing of memory is copied, and the copy is there when the call is back."""
    gpu.open()
    for size in SIZES:
        for to_memory in gpu.memories:
            for from_memory in gpu.memories:
                to, source = gpu.allocate(to_memory, size), gpu.allocate(from_memory, size)
                content = content_of(size, size % 97)[:size]
                gpu.put(to, bytes(size))
                gpu.put(source, content)
                gpu.copy(to, source, size)
                gpu.must_hold(to, content)
                assert gpu.get(to, size) == content, (size, from_memory, to_memory)
                gpu.release(to_memory, to)
                gpu.release(from_memory, source)
    gpu.copy(gpu.ffi.NULL, gpu.ffi.NULL, 0)


def threads(gpu: Gpu) -> None:
    """A thread that never chose a device may copy."""
    gpu.open()
    address = gpu.allocate("device", 4096)
    failures: list[str] = []

    def work() -> None:
        try:
            gpu.put(address, content_of(4096, 3)[:4096])
        except NativeError as error:
            failures.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures, failures
    assert gpu.get(address, 4096) == content_of(4096, 3)[:4096]


def payload(gpu: Gpu) -> None:
    """Kernels fill and check, and find the first wrong byte; the CPU makes the same content."""
    gpu.open()
    for size in SIZES:
        host = gpu.allocate("pageable", size)
        gpu.fill("pageable", host, size, 12345, 7)
        expected = gpu.get(host, size)
        for memory in {"device", "managed", "pinned"}.intersection(gpu.memories):
            address = gpu.allocate(memory, size + 8)
            for start in (address, address + 1):
                gpu.fill(memory, start, size, 12345, 7)
                gpu.must_hold(start, expected)
                assert gpu.get(start, size) == expected, (memory, size)
                assert gpu.first_wrong(memory, start, size, 12345, 7) == size
                assert gpu.first_wrong(memory, start, size, 12345, 8) == 0
                wrong = size // 2
                gpu.put(start + wrong, bytes([expected[wrong] ^ 0x40]))
                assert gpu.first_wrong(memory, start, size, 12345, 7) == wrong
            gpu.release(memory, address)
        gpu.release("pageable", host)


def kernel(gpu: Gpu) -> None:
    """One fill by a kernel."""
    gpu.open()
    gpu.fill("device", gpu.allocate("device", 64), 64, 1, 1)


def own_handle(gpu: Gpu) -> None:
    """A handle opened by its own process is the address itself, also on another device."""
    gpu.open()
    address = gpu.allocate("device", 4096)
    handle = gpu.share(address + 40)
    assert gpu.open_shared(handle) == address + 40
    gpu.close_shared(address + 40)
    assert "was not opened" in error_of(gpu.close_shared, address + 40)
    if gpu.core.device_count(gpu.kind) > 1:
        other = gpu.sibling(1)
        for _ in range(2):
            assert other.open_shared(handle) == address + 40


def shared(gpu: Gpu) -> None:
    """Another process reads and writes through a handle, also in the middle of an allocation."""
    gpu.open()
    size, offset = 1 << 20, 12344
    address = gpu.allocate("device", size)
    gpu.put(address, content_of(size, 1)[:size])
    handle = gpu.share(address + offset).hex()
    command = [sys.executable, __file__, "peer", gpu.kind, handle]
    subprocess.run(command, check=True)
    got = gpu.get(address, size)
    assert got[offset : offset + 5000] == content_of(5000, 2)[:5000]
    assert got[:offset] == content_of(size, 1)[:offset]
    assert got[offset + 5000 :] == content_of(size, 1)[offset + 5000 : size]


def peer(gpu: Gpu) -> None:
    """The other process of `shared`."""
    gpu.open()
    handle = bytes.fromhex(sys.argv[3])
    first, second = gpu.open_shared(handle), gpu.open_shared(handle)
    for address in (first, second):
        assert gpu.get(address, 5000) == content_of(1 << 20, 1)[12344 : 12344 + 5000]
    gpu.close_shared(second)
    gpu.put(first, content_of(5000, 2)[:5000])
    gpu.close_shared(first)


def bad_handles(gpu: Gpu) -> None:
    """What is no handle, or another vendor's, is refused; so is memory that cannot be shared."""
    gpu.open()
    assert "not one of" in error_of(gpu.open_shared, bytes(128))
    handle = bytearray(gpu.share(gpu.allocate("device", 64)))
    handle[0:4] = b"emul"
    assert "not one of" in error_of(gpu.open_shared, bytes(handle))
    assert error_of(gpu.share, gpu.allocate("pinned", 64))


def too_much(gpu: Gpu) -> None:
    """Impossible sizes are errors, with the size in the text."""
    gpu.open()
    for memory in ("device", "managed", "managed-host"):
        assert f"{1 << 50} bytes" in error_of(gpu.allocate, memory, 1 << 50)


def fails(gpu: Gpu) -> None:
    """Prints the error of a copy and a kernel under a driver that is made to fail."""
    gpu.open()
    address = gpu.allocate("device", 64)
    gpu.put(address, bytes(64))
    gpu.fill("device", address, 64, 1, 1)


def pointer(gpu: Gpu) -> None:
    """Prints what the driver says of memory on the second device, whose neighbour is in use, too."""
    gpu.index = 1
    gpu.open()
    print(gpu.core.pointer(gpu.device, gpu.allocate("device", 4096)))


def unshared(gpu: Gpu) -> None:
    """Prints why memory cannot be shared; the rest of the device can."""
    gpu.open()
    print(error_of(gpu.share, gpu.allocate("device", 64)))


def given_back(gpu: Gpu) -> None:
    """Memory that is released is the driver's again, also what was mapped and what a host block held."""
    gpu.open()
    before = of_fake(gpu, "fake_blocks")
    for size in SIZES:
        gpu.release("device", gpu.allocate("device", size))
    assert of_fake(gpu, "fake_blocks") == before


def main() -> None:
    try:
        globals()[sys.argv[1]](Gpu(sys.argv[2]))
    except NativeError as error:
        Path("/dev/stderr").write_text(f"NativeError: {error}\n")
        sys.exit(3)


if __name__ == "__main__":
    main()
