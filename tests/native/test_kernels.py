"""The kernels' text compiles for the GPUs that there are, on a machine without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirespeed.native import Core, NativeError


@pytest.fixture(scope="module")
def core() -> Core:
    return Core()


def compile_for(core: Core, architecture: str) -> int:
    return int(core.check(core.lib.ws_kernel_compile(architecture.encode())))


@pytest.fixture(scope="module")
def nvidia(core: Core, nvrtc: Path) -> Core:
    core.lib.ws_library_path(b"nvrtc", str(nvrtc).encode())
    return core


def test_source_needs_no_files(core: Core) -> None:
    source = core.text(core.lib.ws_kernel_source())
    assert "#include" not in source
    assert "#pragma once" not in source
    assert source.startswith('#line 1 "words.h"')
    for kernel in ("ws_payload_fill", "ws_payload_check", "ws_play_facts"):
        assert f"WS_KERNEL {kernel}(" in source
    ways = ("packets", "stores", "bulk", "pull", "bulk_pull")
    pairs = ("packet", "warp", "short", *ways)
    wide = ("ws_copy_and_tell", *(f"ws_play_{way}" for way in ways), *(f"ws_pair_{way}" for way in pairs))
    for kernel in wide:
        assert f"WS_WIDE_KERNEL {kernel}(" in source


# The oldest and the newest, and those of the large machines; nothing but sm_90 and newer has code of its own.
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_nvrtc(nvidia: Core, architecture: str) -> None:
    assert compile_for(nvidia, architecture) > 1000


def test_nvrtc_of_a_gpu_newer_than_itself(nvidia: Core) -> None:
    assert compile_for(nvidia, "sm_999") > 1000


def test_nvrtc_of_a_gpu_that_it_no_longer_knows(nvidia: Core) -> None:
    with pytest.raises(NativeError, match=r"NVRTC \d+\.\d+ compiles for sm_\d+ and newer, not for sm_30"):
        compile_for(nvidia, "sm_30")


@pytest.mark.parametrize("architecture", ["gfx906", "gfx90a", "gfx942", "gfx1030"])
def test_hiprtc(core: Core, architecture: str) -> None:
    try:
        assert compile_for(core, architecture) > 1000
    except NativeError as error:
        if "not found" in str(error):
            pytest.skip("no hipRTC (apt install libamdhip64-dev)")
        # The version installed may be older than the GPU: then it says so, and does not crash.
        if "does not compile for" not in str(error):
            raise
        pytest.skip(str(error).split(", only for")[0])


@pytest.mark.parametrize("architecture", ["", "sm_", "gfx", "avx512", "compute_90"])
def test_unknown_architectures(core: Core, architecture: str) -> None:
    with pytest.raises(NativeError, match=r"sm_\* or gfx\*"):
        compile_for(core, architecture)
