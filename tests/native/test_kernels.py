"""The kernels' text compiles for the GPUs that there are, on a machine without any."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support import every_kernel
from support.command import captured
from support.mpis import InstalledMpi
from support.nvrtc import Compiled, compiled
from support.selection import slow_case

from wirespeed.host.core import Core, NativeError
from wirespeed.host.libraries import known_libraries
from wirespeed.programs import lbm_math

pytestmark = pytest.mark.slow(after=1)


@pytest.fixture(scope="module")
def core() -> Core:
    return Core()


def compile_for(core: Core, architecture: str) -> int:
    return int(core.check(core.lib.ws_kernel_compile(architecture.encode())))


@pytest.fixture(scope="module")
def nvidia(core: Core, nvrtc: Path) -> Core:
    core.lib.ws_library_path(b"nvrtc", str(nvrtc).encode())
    return core


@pytest.mark.slow
def test_gpus_have_every_kernel_that_the_cpu_has(
    nvrtc: Path, units: dict[str, str], cpu_kernels: dict[str, int]
) -> None:
    """Protects GPUs from a kernel that ran in all other tests: they find it by name, with its arguments."""
    assert len(units) > 1, "programs' kernels are compiled when they are needed"
    on_gpus: dict[str, int] = {}
    for text in units.values():
        assembly = compiled(nvrtc, text, "--gpu-architecture=compute_90").assembly
        entries = re.findall(r"\.entry (\w+)\(([^)]*)\)", assembly)
        on_gpus |= {name: parameters.count(".param") for name, parameters in entries}
    assert on_gpus == cpu_kernels
    assert cpu_kernels


# The oldest and the newest, and those of the large machines; nothing but sm_90 and newer has code of its own,
# and the test above compiles for sm_90 as well.
@pytest.mark.parametrize("architecture", [*map(slow_case, ("sm_75", "sm_80", "sm_90", "sm_120"))])
def test_nvrtc(nvidia: Core, architecture: str) -> None:
    assert compile_for(nvidia, architecture) > 1000


OLDEST = """
import sys
from wirespeed.host.core import Core, NativeError

core = Core()
core.lib.ws_library_path(b"nvrtc", sys.argv[1].encode())
print(core.check(core.lib.ws_kernel_compile(b"sm_90")))
try:
    core.check(core.lib.ws_kernel_compile(b"sm_30"))
except NativeError as error:
    print(error)
"""
"""In a process of its own: a process opens one NVRTC."""


@pytest.mark.slow
def test_the_oldest_nvrtc(oldest_nvrtc: Path) -> None:
    """Protects GPUs whose NVRTC is older than the one here, which refuses more."""
    done = captured([sys.executable, "-I", "-c", OLDEST, oldest_nvrtc], ok=True)
    size, refusal = done.stdout.splitlines()
    assert int(size) > 1000
    assert "NVRTC 12.0 compiles for" in refusal, "another version was opened"


def test_the_newest_nvrtc_is_the_one_used(nvrtc: Path, oldest_nvrtc: Path) -> None:
    """Protects figures and other tests from the old one that stands beside it for a test."""
    assert nvrtc != oldest_nvrtc and nvrtc.name > oldest_nvrtc.name
    assert known_libraries()["nvrtc"] == nvrtc


@pytest.mark.slow
def test_nvrtc_of_a_gpu_newer_than_itself(nvidia: Core) -> None:
    assert compile_for(nvidia, "sm_999") > 1000


def test_nvrtc_of_a_gpu_that_it_no_longer_knows(nvidia: Core) -> None:
    with pytest.raises(NativeError, match=r"NVRTC \d+\.\d+ compiles for sm_\d+ and newer, not for sm_30"):
        compile_for(nvidia, "sm_30")


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gfx90a", *map(slow_case, ("gfx906", "gfx942", "gfx1030"))])
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


@pytest.mark.slow
def test_a_kernel_is_in_the_unit_that_has_it(core: Core, cpu_kernels: dict[str, int]) -> None:
    """Protects launches from a unit whose text names a kernel, alone or in another name, and has it not."""
    for name in cpu_kernels:
        text = core.text(core.lib.ws_kernel_source(name.encode()))
        assert re.search(rf"(KERNEL\w*(\([^()]*\))?[\s(]|WS_\w+\([^()]*){name}\b", text), name


@pytest.mark.slow
def test_none_is_left_out(mpi: InstalledMpi, cpu_kernels: dict[str, int], tmp_path: Path) -> None:
    """Protects a new kernel from being launched on no GPU, and seen by no sanitizer."""
    file = tmp_path / "launches"
    environment = {**mpi.environment(), "WIRESPEED_EMULATED": f"count=1,threads=64,launches={file}"}
    for part in every_kernel.ONE_GPU:
        script, *words = every_kernel.command("emulated", part, shared=True)
        count = every_kernel.RANKS[part]
        command = mpi.command(count, sys.executable, Path(every_kernel.__file__).with_name(script), *words)
        captured(command, env=environment, timeout=280, ok=True)
    assert {*cpu_kernels} == {*file.read_text().split()}


@pytest.fixture(scope="module")
def step(nvrtc: Path) -> Compiled:
    opened = Core()
    source = opened.text(opened.lib.ws_kernel_source(b"ws_lbm_step"))
    return compiled(nvrtc, source, "--gpu-architecture=sm_90", "--fmad=false", "--ptxas-options=-v")


def test_populations_stay_in_registers(step: Compiled) -> None:
    """Protects the rate on GPUs: populations in slow memory, or fewer threads at a time, would halve it."""
    facts = re.search(r"properties for ws_lbm_step\n(.*)\n.*Used (\d+) registers", step.log)
    assert facts, step.log
    assert "0 bytes spill stores, 0 bytes spill loads" in facts[1]
    assert int(facts[2]) <= 168


def test_operations_are_as_stated(step: Compiled) -> None:
    """Protects GFLOP/s: the stated operations are those that are compiled, in the text's two copies."""
    text = step.assembly[step.assembly.index(".entry ws_lbm_step(") :].split(".entry")[1]
    found = re.findall(r"\b(fma|add|sub|mul|div|rcp)\.\S*f64\s", text)
    count = sum(2 if each == "fma" else 1 for each in found) / 2
    assert count == pytest.approx(lbm_math.OPERATIONS_PER_SITE, rel=0.02)
