"""Our own declarations of vendors' functions agree with the vendors' headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import mpis

pytestmark = pytest.mark.slow(after=1)

DECLARATIONS = Path(__file__).parent / "declarations"


def compile_only(cxx: str, source: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [cxx, "-std=c++20", "-fsyntax-only", "-I", str(DECLARATIONS), *flags, str(source)]
    return subprocess.run(command, capture_output=True, text=True)


def test_cuda(cxx: str, native: Path, cuda_include: list[Path]) -> None:
    folders = [flag for folder in (native, *cuda_include) for flag in ("-I", str(folder))]
    done = compile_only(cxx, DECLARATIONS / "cuda.cpp", *folders)
    assert done.returncode == 0, done.stderr


def test_cupti(cxx: str, native: Path, cuda_include: list[Path], cupti_include: Path) -> None:
    folders = [flag for folder in (native, *cuda_include, cupti_include) for flag in ("-I", str(folder))]
    done = compile_only(cxx, DECLARATIONS / "cupti.cpp", *folders)
    assert done.returncode == 0, done.stderr


def test_nvtx(cxx: str, native: Path, nvtx_include: Path) -> None:
    """Protects profilers from tables that are not NVTX's, into which they store their functions."""
    done = compile_only(cxx, DECLARATIONS / "nvtx.cpp", "-I", str(native), "-I", str(nvtx_include))
    assert done.returncode == 0, done.stderr


def test_nvshmem(cxx: str, native: Path, cuda_include: list[Path], nvshmem_include: Path) -> None:
    folders = [flag for folder in (native, *cuda_include, nvshmem_include) for flag in ("-I", str(folder))]
    done = compile_only(cxx, DECLARATIONS / "nvshmem.cpp", *folders)
    assert done.returncode == 0, done.stderr


def test_oshmem(cxx: str, native: Path, oshmem_include: Path) -> None:
    done = compile_only(cxx, DECLARATIONS / "oshmem.cpp", "-I", str(native), "-I", str(oshmem_include))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["openmp", "openacc"])
def test_offloading(cxx: str, native: Path, tmp_path: Path, name: str) -> None:
    """Protects calls of libgomp from arguments that it does not take, by the compiler's own header."""
    header = {"openmp": "omp.h", "openacc": "openacc.h"}[name]
    (tmp_path / "header.cpp").write_text(f"#include <{header}>\n")
    if compile_only(cxx, tmp_path / "header.cpp").returncode:
        pytest.skip(f"{cxx} has no {header} (apt install g++)")
    done = compile_only(cxx, DECLARATIONS / f"{name}.cpp", "-I", str(native))
    assert done.returncode == 0, done.stderr


def test_gasnet(cxx: str, native: Path) -> None:
    """Protects calls of the shim from arguments that it does not take, and its interface's number."""
    stand_in = Path(__file__).parents[1] / "support" / "fake_gasnet"
    done = compile_only(cxx, DECLARATIONS / "gasnet.cpp", "-I", str(native), "-I", str(stand_in))
    assert done.returncode == 0, done.stderr


def test_hip(cxx: str, native: Path, hip_include: Path) -> None:
    flags = ["-I", str(native), "-I", str(hip_include), "-D__HIP_PLATFORM_AMD__"]
    done = compile_only(cxx, DECLARATIONS / "hip.cpp", *flags)
    assert done.returncode == 0, done.stderr


def test_nccl(cxx: str, native: Path, nccl_flags: list[str]) -> None:
    """Protects calls of NCCL and RCCL from arguments that the libraries do not take."""
    done = compile_only(cxx, DECLARATIONS / "nccl.cpp", "-I", str(native), *nccl_flags)
    assert done.returncode == 0, done.stderr


def test_ucx(cxx: str, native: Path, ucx_include: Path) -> None:
    """Protects calls of UCX, and the places of what structures hold, which differ from version to version."""
    done = compile_only(cxx, DECLARATIONS / "ucx.cpp", "-I", str(native), "-I", str(ucx_include))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "abi"), [("openmpi", "OpenMpiAbi"), ("mpich", "MpichAbi")])
def test_mpi(cxx: str, native: Path, name: str, abi: str) -> None:
    found = mpis.installed(name)
    flags = ["-I", str(native), "-I", str(found.prefix / "include"), f"-DABI={abi}"]
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
def test_the_comparison_itself(cxx: str, tmp_path: Path, declaration: str, right: bool) -> None:
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
    done = compile_only(cxx, source)
    assert (done.returncode == 0) == right, done.stderr
