"""Who hands out device memory: pools, mapped memory, the real libgomp, and LLVM's runtime."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support import tools
from support.command import captured

pytestmark = pytest.mark.slow

RUNTIMES = ("openmp", "openmp:map", "openacc", "openacc:map")
ALLOCATORS = ("driver", "pool", "vmm", *RUNTIMES)


def under(allocator: str) -> dict[str, str]:
    """The environment in which scenarios' devices have that allocator; skips where it cannot be had."""
    if allocator.startswith(RUNTIMES) and (why := tools.why_no_gcc_offloading()):
        pytest.skip(why)
    return {"ALLOCATOR": allocator}


@pytest.fixture
def cuda(build_fake: Any) -> Any:
    return build_fake("cuda")


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("scenario", ["copies", "threads", "given_back"])
def test_device(cuda: Any, allocator: str, scenario: str) -> None:
    """Protects copies from and to memory that the driver did not hand out itself, and its release."""
    cuda.passes(scenario, under(allocator))


@pytest.mark.parametrize("allocator", RUNTIMES)
def test_other_processes_open_it(cuda: Any, allocator: str) -> None:
    """Protects ipc-write and gpu on memory of OpenMP and OpenACC, which lies inside an allocation."""
    cuda.passes("shared", under(allocator))
    cuda.passes("own_handle", under(allocator))


@pytest.mark.parametrize("allocator", ["openmp in own", "openacc in own"])
def test_other_processes_open_it_from_a_context_of_its_own(cuda: Any, allocator: str) -> None:
    """Protects the whole device, which then lives in the context that the runtime made."""
    for scenario in ("copies", "shared"):
        cuda.passes(scenario, under(allocator))


def test_a_pool_of_hip(build_fake: Any) -> None:
    build_fake("hip").passes("copies", {"ALLOCATOR": "pool"})
    assert "there is none for hip devices" in build_fake("hip").refuses("copies", {"ALLOCATOR": "vmm"})


@pytest.mark.parametrize(
    ("allocator", "context", "ipc"),
    [
        ("driver", "primary", True),
        ("pool", "none", False),
        ("vmm", "none", False),
        ("openmp", "primary", True),
        ("openacc:map", "primary", True),
        ("openmp in own", "own", True),
        ("openacc in own", "own", True),
    ],
)
def test_what_the_driver_says_of_it(cuda: Any, allocator: str, context: str, ipc: bool) -> None:
    """Protects the facts on record: libgomp takes the current context, or makes one of its own."""
    found = ast.literal_eval(cuda.passes("pointer", under(allocator)))
    library = "libgomp.so.1" if allocator.startswith(RUNTIMES) else None
    assert found == {
        "memory": "device",
        "context": context,
        "device": 1,
        "ipc": ipc,
        "rdma": True,
        "library": library,
    }


@pytest.mark.parametrize("allocator", ["pool", "vmm"])
def test_memory_without_handles_says_so(cuda: Any, allocator: str) -> None:
    said = cuda.passes("unshared", {"ALLOCATOR": allocator})
    assert f"memory of --allocator {allocator} has no IPC handle" in said
    assert "measure 'aware', 'staged' or 'nccl'" in said


@pytest.mark.parametrize(
    ("allocator", "failing", "text"),
    [
        ("pool", "cuMemAllocAsync=2", "cuMemAllocAsync(4096 bytes): made to fail"),
        ("vmm", "cuMemCreate=2", "cuMemCreate(2097152 bytes): made to fail"),
        ("vmm", "cuMemAddressReserve=2", "cuMemAddressReserve(2097152 bytes)"),
        ("vmm", "cuMemMap=2", "cuMemMap(2097152 bytes)"),
        ("vmm", "cuMemSetAccess=2", "cuMemSetAccess(2097152 bytes)"),
        ("driver in own", "", "--context own: the driver allocates in a context that is there already"),
    ],
)
def test_errors_name_the_call(cuda: Any, allocator: str, failing: str, text: str) -> None:
    assert text in cuda.refuses("pointer", {"ALLOCATOR": allocator, "FAKE_GPU_FAIL": failing})


def test_no_such_device_in_the_runtime(cuda: Any) -> None:
    """Protects from libgomp's silence: without a device it hands out host memory and says nothing."""
    environment = under("openmp") | {"OMP_TARGET_OFFLOAD": "DISABLED"}
    said = cuda.refuses("pointer", environment)
    assert "libgomp.so.1 has no device (omp_get_num_devices)" in said


@pytest.fixture
def llvm() -> Path:
    """LLVM's libomptarget, whose devices are the CPU where there is no GPU."""
    found = tools.llvm_offloading()
    if found is None:
        pytest.skip("no libomptarget.so (apt install libomp-14-dev)")
    return found


def test_memory_of_the_host_is_refused(cuda: Any, llvm: Path) -> None:
    """Protects from figures of a GPU that are those of the CPU: LLVM calls the CPU four devices."""
    said = cuda.refuses("pointer", {"ALLOCATOR": "openmp", "LIBRARY_OPENMP": str(llvm)})
    assert "libomptarget.so handed out host memory, which is no memory of a GPU" in said


def test_llvm_s_runtime_without_a_program(cxx: str, native: Path, tmp_path: Path, llvm: Path) -> None:
    """Protects the order of calls that makes LLVM's runtime look for devices; these are the CPU."""
    sources = [Path(__file__).with_name("openmp_runtime.cpp")]
    sources += [native / f"libraries/{name}.cpp" for name in ("openmp", "library")]
    built = tmp_path / "openmp_runtime"
    command = [cxx, "-std=c++20", "-I", str(native), *map(str, sources), "-ldl", "-o", str(built)]
    subprocess.run(command, check=True)
    done = captured([built, llvm], ok=True)
    assert done.stdout == "devices: yes\ncopied: yes\nassociated: yes\n"


Scenario = Callable[[str], str]


@pytest.fixture
def of_llvm(build_fake: Any, llvm: Path) -> Any:
    """Devices that are the CPU."""
    return replace(build_fake("cuda"), kind="openmp", fake=llvm)


@pytest.fixture
def of_libgomp(build_fake: Any) -> Scenario:
    """Runs a scenario on a fake CUDA driver's; the plugin asks the loader for libcuda.so.1, which it is."""
    if why := tools.why_no_gcc_offloading():
        pytest.skip(why)
    fake = build_fake("cuda")
    return partial(replace(fake, kind="openmp", fake=None).passes, environment={"LD_PRELOAD": str(fake.fake)})


@pytest.fixture(params=["of_libgomp", "of_llvm"])
def passes(request: pytest.FixtureRequest) -> Scenario:
    """Runs a scenario on each runtime's devices."""
    found = request.getfixturevalue(request.param)
    return found if request.param == "of_libgomp" else found.passes  # type: ignore[no-any-return]


@pytest.mark.parametrize("scenario", ["copies", "threads", "payload"])
def test_memory_and_copies(passes: Scenario, scenario: str) -> None:
    """Protects copies in every direction, from any thread, and the payload check without kernels."""
    passes(scenario)


def test_a_gpu_is_named_by_its_runtime(of_libgomp: Scenario) -> None:
    """Protects the record from a figure whose runtime nobody knows."""
    found = ast.literal_eval(of_libgomp("identity"))
    assert found["name"].startswith("GPU by libgomp of GCC ") and found["architecture"] != "cpu"
    assert found["driver"].startswith("GCC ") and "/libgomp.so.1" in found["driver"]


def test_the_cpu_is_called_so(of_llvm: Any) -> None:
    """Protects from a GPU's figure that is the CPU's: LLVM calls the CPU four devices."""
    found = ast.literal_eval(of_llvm.passes("identity"))
    assert found["name"].startswith("CPU by libomptarget") and found["architecture"] == "cpu"
    pointer = ast.literal_eval(of_llvm.passes("pointer"))
    assert (pointer["memory"], pointer["device"], pointer["ipc"]) == ("host", 1, False)


def test_a_runtime_without_a_device(build_fake: Any) -> None:
    """Protects from libgomp's silence: without a device it hands out host memory."""
    if why := tools.why_no_gcc_offloading():
        pytest.skip(why)
    bare = replace(build_fake("cuda"), kind="openmp", fake=None)
    said = bare.refuses("count", {"OMP_TARGET_OFFLOAD": "DISABLED"})
    assert "libgomp.so.1 has no device (omp_get_num_devices)" in said
