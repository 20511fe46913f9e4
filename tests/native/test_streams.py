"""Streams of GPU devices: work in order, not waited for. The rate of the devices' clocks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.builds import program as builds_program
from support.command import captured
from support.stand_ins import kernels

from wirespeed.host.core import core
from wirespeed.host.libraries import known_libraries

pytestmark = pytest.mark.slow

SOURCES = {
    "core": ("helpers.cpp",),
    "devices": (
        *("device.cpp", "host/pages.cpp", "gpu/device.cpp", "gpu/shared_allocation.cpp"),
        *("cuda/cupti_copies.cpp", "cuda/cuda.cpp", "cuda/mapped_memory.cpp", "hip/hip.cpp"),
    ),
    "kernels": ("cache.cpp", "compile.cpp", "compile_apart.cpp"),
    "libraries": ("library.cpp", "nvrtc.cpp", "hiprtc.cpp"),
}


@pytest.fixture(scope="module")
def program(native: Path, builds: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    text = tmp_path_factory.mktemp("streams") / "kernels.txt"
    text.write_text(core().text(core().lib.ws_kernel_source(b"ws_payload_fill")))
    sources = [native / room / name for room, names in SOURCES.items() for name in names]
    sanitize = ("-fsanitize=address,undefined", "-fno-sanitize-recover", "-I", native)
    own = Path(__file__).parent / "stream.cpp"
    # What runs kernels on the CPU is sanitized in tests of its own.
    sources += sorted(kernels(builds).glob("*.o"))
    built = builds_program(builds, "stream", *sanitize, own, *sources, "-ldl", "-lpthread")
    return [str(built), str(text)]


@pytest.fixture(autouse=True)
def sanitizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendor's driver leaks and reserves address space as it pleases."""
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0:protect_shadow_gap=0")


def test_streams(driver: Any, program: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [program[0], "work", driver.kind, str(driver.fake or ""), program[1]]
    if nvrtc := known_libraries().get("nvrtc"):
        command.append(str(nvrtc))
        # The sanitizer's dlopen() loses the wheel's own search path.
        monkeypatch.setenv("LD_LIBRARY_PATH", str(nvrtc.parent))
    done = captured(command)
    if done.returncode == 3 and "rtc not found" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("kind", "said", "hertz"),
    [
        ("cuda", "", 1_000_000_000),
        ("hip", "25000", 25_000_000),
        ("hip", "100000", 100_000_000),
        ("hip", "0", 0),
        ("hip", "unknown", 0),
    ],
)
def test_clock_rate(build_fake: Any, program: list[str], kind: str, said: str, hertz: int) -> None:
    """A kernel's stamps become seconds by the device's own rate: MI200's is a quarter of MI300's."""
    command = [program[0], "clock", kind, str(build_fake(kind).fake), program[1]]
    environment = {**os.environ, "FAKE_HIP_CLOCK": said}
    done = captured(command, env=environment, ok=True)
    assert set(map(int, done.stdout.split())) == {hertz}
