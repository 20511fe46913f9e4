"""Who hands out device memory: pools, mapped memory, and the real libgomp over a fake CUDA driver."""

from __future__ import annotations

import ast
import subprocess
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
