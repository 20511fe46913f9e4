"""Our own declarations of vendors' functions agree with the vendors' headers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import mpis
from support.command import captured

pytestmark = pytest.mark.slow(after=1)

DECLARATIONS = Path(__file__).parent / "declarations"
HEADERS = {
    "cuda": ("cuda.h nvrtc.h", "pip install nvidia-cuda-runtime nvidia-cuda-nvrtc"),
    "cupti": ("cuda.h cupti.h", "pip install nvidia-cuda-runtime nvidia-cuda-cupti"),
    "nvtx": ("nvtx3/nvToolsExt.h", "pip install nvidia-nvtx"),
    "nvshmem": ("cuda.h nvshmem_host.h", "pip install nvidia-cuda-runtime nvidia-nvshmem-cu13"),
    "oshmem": ("shmem.h", "apt install libopenmpi-dev"),
    "openmp": ("omp.h", "apt install g++"),
    "openacc": ("openacc.h", "apt install g++"),
    "gasnet": ("gasnetex.h", "tests/support has a stand-in"),
    "hip": ("hip/hip_runtime_api.h", "apt install libamdhip64-dev"),
    # Their wheels are too large to be brought for tests.
    "nccl": ("nccl.h", "pip install nvidia-nccl-cu13"),
    "rccl": ("rccl/rccl.h", "ROCm's package rccl"),
    "ucx": ("ucp/api/ucp.h", "apt install libucx-dev"),
}
"""The headers that each file of declarations/ is held against, and where they come from."""
FLAGS = {"hip": ["-D__HIP_PLATFORM_AMD__"], "rccl": ["-DRCCL", "-D__HIP_PLATFORM_AMD__"]}


@pytest.fixture(scope="module")
def include(native: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Flags with our folders, and every folder that vendors' headers are installed into."""
    found = [native, DECLARATIONS, native.parent / "tests/support/fake_gasnet"]
    # nccl.h wants CUDA's headers for a few types alone.
    found.append(tmp_path_factory.mktemp("cuda"))
    types = ("struct CUstream_st* cudaStream_t", "struct CUevent_st* cudaEvent_t")
    lines = ["#include <stddef.h>", *(f"typedef {each};" for each in types)]
    (found[-1] / "cuda_runtime.h").write_text("\n".join(lines) + "\n")
    (found[-1] / "cuda_fp16.h").touch()
    for entry in map(Path, filter(None, sys.path)):
        # The newest first; CUDA 12's NVRTC has its test elsewhere.
        folders = (*entry.glob("nvidia/*/include"), *entry.glob("libucx/include"))
        found += sorted((one for one in folders if one.parent.name != "cuda_nvrtc"), reverse=True)
    found += [Path("/opt/rocm/include"), *Path("/usr/lib").glob("*-linux-gnu/openmpi/include")]
    return [flag for folder in found if folder.exists() for flag in ("-I", str(folder))]


def compile_only(cxx: str, source: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [cxx, "-std=c++20", "-fsyntax-only", *flags, str(source)]
    return captured(command)


@pytest.mark.parametrize("name", HEADERS)
def test_declarations(cxx: str, include: list[str], tmp_path: Path, name: str) -> None:
    """Protects calls of libraries from arguments that they do not take, and places in what they hand out."""
    headers, hint = HEADERS[name]
    probe = tmp_path / "probe.cpp"
    probe.write_text("".join(f"#if !__has_include(<{one}>)\n#error\n#endif\n" for one in headers.split()))
    if compile_only(cxx, probe, *include).returncode:
        pytest.skip(f"no {headers} ({hint})")
    source = DECLARATIONS / f"{name.replace('rccl', 'nccl')}.cpp"
    done = compile_only(cxx, source, *include, *FLAGS.get(name, []))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "abi"), [("openmpi", "OpenMpiAbi"), ("mpich", "MpichAbi")])
def test_mpi(cxx: str, include: list[str], name: str, abi: str) -> None:
    found = mpis.installed(name)
    flags = ["-I", str(found.prefix / "include"), *include, f"-DABI={abi}"]
    done = compile_only(cxx, DECLARATIONS / "mpi.cpp", *flags)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("declaration", "right"),
    [
        ("int (*)(const void*, unsigned, double, Known*)", True),
        ("int (*)(unsigned long, unsigned, double, void*)", True),
        ("int (*)(void*, unsigned long, double, Known*)", False),
        ("int (*)(void*, unsigned, long, Known*)", False),
        ("int (*)(void*, unsigned, double)", False),
        ("void (*)(void*, unsigned, double, Known*)", False),
        ("int (*)(void*, unsigned, double, Known)", False),
        ("int (*)(void*, unsigned, double, Smaller*)", False),
    ],
)
def test_the_comparison_itself(
    cxx: str, include: list[str], tmp_path: Path, declaration: str, right: bool
) -> None:
    source = tmp_path / "declaration.cpp"
    source.write_text(
        f"""#include "abi.hpp"
        struct Known {{ char content[8]; }};
        struct Smaller {{ char content[4]; }};
        extern "C" int call(void*, unsigned, double, Known*);
        using Ours = {declaration};
        HOLD(Ours, call)
        """
    )
    done = compile_only(cxx, source, *include)
    assert (done.returncode == 0) == right, done.stderr
