"""Streams of GPU devices: work in order, not waited for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.stand_ins import KERNELS

from wirespeed.libraries import known_libraries
from wirespeed.native import core

SOURCES = {
    "devices": (
        "device.cpp",
        "host/pages.cpp",
        "gpu/device.cpp",
        "gpu/shared.cpp",
        "cuda/copies.cpp",
        "cuda/cuda.cpp",
        "hip/hip.cpp",
    ),
    "kernels": ("cache.cpp", "compile.cpp", *(source.name for source in KERNELS)),
    "libraries": ("library.cpp", "nvrtc.cpp", "hiprtc.cpp"),
}


@pytest.fixture(scope="module")
def program(cxx: str, native: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("streams")
    built, kernels = folder / "stream", folder / "kernels.txt"
    kernels.write_text(core().text(core().lib.ws_kernel_source()))
    sources = [str(native / room / name) for room, names in SOURCES.items() for name in names]
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    own = str(Path(__file__).parent / "stream.cpp")
    command = [cxx, "-std=c++20", *sanitize, "-I", str(native), own, *sources, "-ldl", "-lpthread"]
    subprocess.run([*command, "-o", str(built)], check=True)
    return [str(built), str(kernels)]


def test_streams(driver: Any, program: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A vendor's driver leaks and reserves address space as it pleases.
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0:protect_shadow_gap=0")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [program[0], driver.kind, str(driver.fake or ""), program[1]]
    if nvrtc := known_libraries().get("nvrtc"):
        command.append(str(nvrtc))
        # The sanitizer's dlopen() loses the wheel's own search path.
        monkeypatch.setenv("LD_LIBRARY_PATH", str(nvrtc.parent))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 3 and "rtc not found" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
