"""The device of OpenMP's own interface: over LLVM's host devices, and the real libgomp over a fake driver."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from support import tools

pytestmark = pytest.mark.slow

Scenario = Callable[[str], str]


@pytest.fixture
def llvm(build_fake: Any) -> Any:
    """Devices that are the CPU."""
    if (found := tools.llvm_offloading()) is None:
        pytest.skip("no libomptarget.so (apt install libomp-14-dev)")
    return replace(build_fake("cuda"), kind="openmp", fake=found)


@pytest.fixture
def libgomp(build_fake: Any) -> Scenario:
    """Runs a scenario on a fake CUDA driver's; the plugin asks the loader for libcuda.so.1, which it is."""
    if why := tools.why_no_gcc_offloading():
        pytest.skip(why)
    fake = build_fake("cuda")
    return partial(replace(fake, kind="openmp", fake=None).passes, environment={"LD_PRELOAD": str(fake.fake)})


@pytest.fixture(params=["libgomp", "llvm"])
def passes(request: pytest.FixtureRequest) -> Scenario:
    """Runs a scenario on each runtime's devices."""
    found = request.getfixturevalue(request.param)
    return found if request.param == "libgomp" else found.passes  # type: ignore[no-any-return]


@pytest.mark.parametrize("scenario", ["copies", "threads", "payload"])
def test_memory_and_copies(passes: Scenario, scenario: str) -> None:
    """Protects copies in every direction, from any thread, and the payload check without kernels."""
    passes(scenario)


def test_a_gpu_is_named_by_its_runtime(libgomp: Scenario) -> None:
    """Protects the record from a figure whose runtime nobody knows."""
    found = ast.literal_eval(libgomp("identity"))
    assert found["name"].startswith("GPU by libgomp of GCC ") and found["architecture"] != "cpu"
    assert found["driver"].startswith("GCC ") and "/libgomp.so.1" in found["driver"]


def test_the_cpu_is_called_so(llvm: Any) -> None:
    """Protects from a GPU's figure that is the CPU's: LLVM calls the CPU four devices."""
    found = ast.literal_eval(llvm.passes("identity"))
    assert found["name"].startswith("CPU by libomptarget") and found["architecture"] == "cpu"
    pointer = ast.literal_eval(llvm.passes("pointer"))
    assert (pointer["memory"], pointer["device"], pointer["ipc"]) == ("host", 1, False)


def test_a_runtime_without_a_device(build_fake: Any) -> None:
    """Protects from libgomp's silence: without a device it hands out host memory."""
    if why := tools.why_no_gcc_offloading():
        pytest.skip(why)
    bare = replace(build_fake("cuda"), kind="openmp", fake=None)
    said = bare.refuses("count", {"OMP_TARGET_OFFLOAD": "DISABLED"})
    assert "libgomp.so.1 has no device (omp_get_num_devices)" in said
