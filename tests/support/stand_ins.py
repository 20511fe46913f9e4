"""Builds stand-ins of vendors' libraries; the environment that makes wirespeed open them."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

from support.builds import compiler, once

SUPPORT = Path(__file__).parent
NATIVE = SUPPORT.parents[1] / "native"
FAKES = SUPPORT.parent / "native"
# What runs kernels on the CPU, and the kernels.
LAUNCHER = tuple(NATIVE / "kernels" / f"{name}.cpp" for name in ("cpu", "lanes", "fiber", "tma_model"))
KERNELS = (*LAUNCHER, NATIVE / "kernels/kernels.cpp")
PROGRAMS = NATIVE.parent / "wirespeed/programs"
KERNEL_OBJECTS = {"kernels.cpp.o", "program_kernels.cpp.o"}


def program_kernels(folder: Path) -> Path:
    """A source that compiles the kernels of all programs."""
    source = folder / "program_kernels.cpp"
    headers = sorted(PROGRAMS.glob("*.h"))
    source.write_text("".join(f'#include "{header}"\n' for header in headers))
    return source


def _of_the_package() -> list[Path]:
    """The objects of all kernels from which the package was built; none where a source is newer."""
    sources = [*(NATIVE / "kernels").iterdir(), *(NATIVE / "core").iterdir(), *PROGRAMS.glob("*.h")]
    newest = max(source.stat().st_mtime for source in sources)
    found = [*NATIVE.parent.glob("build/py3-none-linux_*/CMakeFiles/kernels.dir/**/*kernels.cpp.o")]
    names = {file.name for file in found if file.stat().st_mtime > newest}
    return found if len(found) == 2 and names == KERNEL_OBJECTS else []


def kernels(builds: Path) -> Path:
    """The folder of the objects of KERNELS and of all programs' kernels, compiled once."""

    def build(folder: Path) -> None:
        folder.mkdir()
        made = _of_the_package()
        for object_file in made:
            shutil.copy(object_file, folder / object_file.name.replace(".cpp.o", ".o"))
        sources = map(str, LAUNCHER if made else (*KERNELS, program_kernels(folder)))
        command = [compiler(), "-std=c++20", "-O1", "-fPIC", "-I", str(NATIVE), "-c", *sources]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)

    return once(builds / "kernels", build)


def _build(name: str, sources: tuple[Path, ...], folder: Path, *more: str) -> None:
    folder.mkdir(exist_ok=True)
    # Other libraries open it by the vendor's name, which is known once we have opened the file.
    soname = {"libcuda.so": "-Wl,-soname,libcuda.so.1"}.get(name, f"-Wl,-soname,{name}")
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", soname, "-I", str(NATIVE)]
    command = [compiler(), *flags, *more, "-o", str(folder / name), *map(str, sources), "-ldl", "-lrt"]
    subprocess.run(command, check=True, capture_output=True, text=True)


def _build_nccl(folder: Path) -> None:
    _build("libnccl.so.2", (SUPPORT / "fake_nccl.cpp",), folder)
    shutil.copy(folder / "libnccl.so.2", folder / "librccl.so.2")


def old_nccl(builds: Path) -> dict[str, str]:
    """An NCCL 2.18, which registers no buffers."""

    def build(folder: Path) -> None:
        _build("libnccl.so.2", (SUPPORT / "fake_nccl.cpp",), folder, "-DOLD")

    return {"WIRESPEED_LIBRARY_NCCL": str(once(builds / "old-nccl", build) / "libnccl.so.2")}


def fake_nccl(builds: Path, name: str = "nccl") -> dict[str, str]:
    """An NCCL (or RCCL) over shared memory; works on emulated GPUs and on those of a fake driver."""
    library = once(builds / "fake-nccl", _build_nccl) / f"lib{name}.so.2"
    return {f"WIRESPEED_LIBRARY_{name.upper()}": str(library)}


def fake_ucx(builds: Path) -> Path:
    """A libucp for one rank, whose puts arrive in any order that UCX allows."""
    file = "libfake_ucx.so"
    build = partial(_build, file, (SUPPORT / "fake_ucx.cpp",))
    return once(builds / "fake-ucx", build) / file


def gasnet_of_one_rank(builds: Path) -> Path:
    """What the core opens as a conduit of GASNet: shim.c over fake_gasnet.cpp."""
    file, shim = "libfake_gasnet.so", NATIVE.parent / "wirespeed/host/gasnet/shim.c"
    fake = SUPPORT / "fake_gasnet"

    def build(folder: Path) -> None:
        folder.mkdir()
        compiled = folder / "shim.o"
        command = [compiler(), "-x", "c", "-fPIC", "-I", str(fake), "-c", str(shim), "-o", str(compiled)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        _build(file, (fake / "fake_gasnet.cpp", compiled), folder)

    return once(builds / "fake-gasnet-of-one-rank", build) / file


def driver(builds: Path, kind: str) -> Path:
    """A CUDA or HIP driver over host memory, with streams that do nothing until they are looked at."""
    file = f"lib{kind}.so"
    sources = (FAKES / f"fake_{kind}.cpp", *sorted(kernels(builds).glob("*.o")))
    return once(builds / f"fake-{kind}", partial(_build, file, sources)) / file


def fake_driver(builds: Path, kind: str) -> dict[str, str]:
    """The environment in which that driver is the machine's."""
    return {f"WIRESPEED_LIBRARY_{kind.upper()}": str(driver(builds, kind))}


def fake_hiprtc(builds: Path) -> dict[str, str]:
    """The environment with a hipRTC for the fake HIP driver; FAKE_HIPRTC_ABORTS: it ends its process."""
    file = "libhiprtc.so"
    build = partial(_build, file, (SUPPORT / "fake_hiprtc.cpp",))
    return {"WIRESPEED_LIBRARY_HIPRTC": str(once(builds / "fake-hiprtc", build) / file)}


def nvml(builds: Path) -> Path:
    """An NVML of two GPUs whose counters rise as the environment says (fake_nvml.cpp)."""
    file = "libnvidia-ml.so.1"
    return once(builds / "fake-nvml", partial(_build, file, (SUPPORT / "fake_nvml.cpp",))) / file


def fake_nvml(builds: Path) -> dict[str, str]:
    """The environment in which the package pynvml opens that library."""
    return {"LD_LIBRARY_PATH": str(nvml(builds).parent)}
