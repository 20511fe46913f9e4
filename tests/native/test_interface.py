"""The C interface by itself: its header, what it refuses, and what closing communicates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from support.command import captured
from support.rank import Alone

from wirespeed.host.core import NativeError, core

pytestmark = pytest.mark.slow(after=1)

ROOT = Path(__file__).parents[2]


def script() -> Any:
    """scripts/interface.py."""
    spec = spec_from_file_location("written", ROOT / "scripts" / "interface.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_python_knows_of_the_headers_is_up_to_date() -> None:
    """Protects ranks, which do not parse the headers when they start, from a stale interface."""
    written, file = script(), ROOT / "wirespeed" / "host" / "interface.py"
    for path, text in ((file, written.emitted()), (file.with_suffix(".pyi"), written.stub())):
        assert path.read_text() == text, "run: python scripts/interface.py"


def test_mypy_knows_every_call() -> None:
    """Protects from a call of the core whose handles could be mixed up unseen."""
    typed = set(re.findall(r"def (ws_\w+)\(self, ", script().stub()))
    assert typed == {name for name in dir(core().lib) if name.startswith("ws_")}


@pytest.mark.parametrize("header", ["wirespeed.h", "wirespeed_test.h"])
@pytest.mark.parametrize(
    ("language", "standard"), [("c", "c99"), ("c", "c17"), ("c++", "c++11"), ("c++", "c++20")]
)
def test_a_header_compiles_alone(language: str, standard: str, header: str, cxx: str, native: Path) -> None:
    """Protects other programs' use of the core: one include, no warnings."""
    flags = [f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    source = f'#include "{native}/{header}"\n' * 2
    captured([cxx, "-x", language, *flags, "-"], input=source, ok=True)


@pytest.mark.parametrize("header", ["wirespeed.h", "wirespeed_test.h"])
def test_a_header_declares_what_the_library_has(header: str, native: Path) -> None:
    """Protects callers from a function that was renamed on one side: cffi looks only when it is called."""
    declared = set(re.findall(r"\b(ws_\w+)\(", script().declarations((native / header).read_text())))
    assert len(declared) > 5
    assert [name for name in sorted(declared) if not hasattr(core().lib, name)] == []


@pytest.fixture
def alone() -> Iterator[Alone]:
    rank = Alone()
    yield rank
    rank.core.lib.ws_device_close(rank.device)


def mapped() -> int:
    """Pieces of emulated GPU memory that this process has."""
    return Path("/proc/self/maps").read_text().count("memfd:")


@pytest.mark.parametrize("name", ["ipc", "gpu"])
def test_closing_meets_before_it_frees(name: str, alone: Alone) -> None:
    """Protects memory that a peer has mapped: all ranks meet first, and that is not done by a destructor."""
    lib = alone.core.lib
    transport = alone.transport(name)
    held = mapped()
    buffers = alone.buffers(transport)
    assert mapped() > held
    alone.calls.clear()
    alone.core.check(lib.ws_buffers_close(buffers))
    assert alone.calls == ["barrier"] and mapped() == held
    alone.core.check(lib.ws_transport_close(transport))
    # Copy engines need no memory of their own that peers open.
    assert alone.calls == ["barrier"] * (2 if name == "gpu" else 1)
    assert mapped() < held


@pytest.mark.parametrize("name", ["ipc", "gpu"])
def test_what_fails_while_closing_is_an_error_and_leaves_the_memory(name: str, alone: Alone) -> None:
    """Protects the process: an exception in a destructor ends it, and memory in use may not be freed."""
    lib = alone.core.lib
    transport = alone.transport(name)
    buffers = alone.buffers(transport)
    held = mapped()
    alone.failing = True
    with pytest.raises(NativeError, match="set-up traffic failed in barrier"):
        alone.core.check(lib.ws_buffers_close(buffers))
    assert mapped() == held
    if name == "gpu":
        with pytest.raises(NativeError, match="set-up traffic failed in barrier"):
            alone.core.check(lib.ws_transport_close(transport))
        assert mapped() == held


@pytest.mark.parametrize("name", ["ipc", "gpu"])
def test_abandoning_communicates_nothing(name: str, alone: Alone) -> None:
    """Protects a rank that ends early from waiting for others."""
    lib = alone.core.lib
    transport = alone.transport(name)
    buffers = alone.buffers(transport)
    program = alone.program(transport, buffers, [])
    addresses = [lib.ws_buffers_send(buffers), lib.ws_buffers_receive(buffers)]
    alone.calls.clear()
    lib.ws_program_close(program)
    lib.ws_buffers_abandon(buffers)
    lib.ws_transport_abandon(transport)
    assert not alone.calls
    lines = Path("/proc/self/maps").read_text().splitlines()
    mapped = [[int(end, 16) for end in line.split()[0].split("-")] for line in lines if "memfd:" in line]
    for address in addresses:
        at = int(alone.core.ffi.cast("uintptr_t", address))
        assert any(start <= at < end for start, end in mapped), "a peer may have this memory mapped"


WHOLE = 1 << 64
BAD = {
    "negative step": ([(-1, 0, 0, 0, 8)], "step -1: steps count from 0"),
    "huge step": ([(1 << 30, 0, 0, 0, 8)], "steps count from 0"),
    "backwards": ([(1, 0, 0, 0, 8), (0, 1, 0, 0, 8)], "transfer 1 has step 0"),
    "peer": ([(0, 0, 1, 0, 8)], "peer 1: there are 1 ranks"),
    "negative peer": ([(0, 0, -1, 0, 8)], "peer -1"),
    "too long": ([(0, 0, 0, 1, 1 << 16)], "do not fit the buffers of 65536"),
    "wraps": ([(0, 0, 0, 16, WHOLE - 8)], "do not fit the buffers of 65536"),
}


@pytest.mark.parametrize("case", BAD)
def test_transfers_that_cannot_be_are_refused(case: str, alone: Alone) -> None:
    """Protects the core's memory: a bad number is one line, never a write out of bounds."""
    transfers, complaint = BAD[case]
    transport = alone.transport("ipc")
    buffers = alone.buffers(transport)
    with pytest.raises(NativeError, match=complaint):
        alone.program(transport, buffers, transfers)
    alone.close(transport, buffers)


def test_work_that_cannot_be_is_refused(alone: Alone) -> None:
    """Protects the device from a kernel that there is not, and from places outside of the buffers."""
    lib, ffi = alone.core.lib, alone.core.ffi
    transport = alone.transport("ipc")
    buffers = alone.buffers(transport)
    name, arguments = ffi.new("char[]", b"ws_sums_add"), ffi.new("uint64_t[]", [1 << 40, 1, 0])
    for work, complaint in (
        ((0, 0, ffi.new("char[]", b"ws_nothing"), 1, 1, 0, 0, arguments), "no kernel called ws_nothing"),
        ((0, 0, name, 1, 1, 2, 0, arguments), "takes 3 arguments, not 2"),
        ((0, 0, name, 1, 1, 3, 1, arguments), "do not fit"),
        ((0, 3, name, 1, 1, 3, 0, arguments), "not 3"),
        ((-1, 0, name, 1, 1, 3, 0, arguments), "work of step -1"),
    ):
        with pytest.raises(NativeError, match=complaint):
            alone.core.check(
                lib.ws_program_open(transport, buffers, ffi.NULL, 0, ffi.new("ws_work[]", [work]), 1, 0)
            )
    alone.close(transport, buffers)
