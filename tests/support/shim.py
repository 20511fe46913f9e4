"""Builds the GPU-aware MPI of aware_mpi.cpp in front of a real one, as a prefix for --mpi."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

from support.builds import compiler, once
from support.mpis import InstalledMpi


def aware(builds: Path, mpi: InstalledMpi, needs: str | None = None) -> Path:
    """The prefix that stands for a GPU-aware build of this MPI; see aware_prefix()."""
    folder = builds / f"aware-{mpi.name}{'-' + needs if needs else ''}"
    return once(folder, partial(aware_prefix, mpiexec=mpi.mpiexec, library=mpi.library, needs=needs))


def particular(builds: Path, mpi: InstalledMpi) -> Path:
    """The prefix of an MPI that takes memory of primary contexts alone (context_mpi.cpp)."""
    make = partial(aware_prefix, mpiexec=mpi.mpiexec, library=mpi.library, source="context_mpi.cpp")
    return once(builds / f"particular-{mpi.name}", make)


def early(builds: Path, mpi: InstalledMpi) -> Path:
    """The prefix of an MPI that says too early that it has sent a long message (early_mpi.cpp)."""
    make = partial(aware_prefix, mpiexec=mpi.mpiexec, library=mpi.library, source="early_mpi.cpp")
    return once(builds / f"early-{mpi.name}", make)


def aware_prefix(
    folder: Path, mpiexec: Path, library: Path, needs: str | None = None, source: str = "aware_mpi.cpp"
) -> Path:
    """A prefix whose mpiexec is the real one and whose libmpi takes emulated device pointers.

    `needs`: the name of a library, of nothing, that comes into the process with it.
    """
    handle = "void*" if library.name.endswith(".40") else "int"
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    # A script, not a link: Hydra looks for its proxy beside the name that it was called by.
    launcher = folder / "bin" / "mpiexec"
    launcher.write_text(f'#!/bin/sh\nexec "{mpiexec}" "$@"\n')
    launcher.chmod(0o755)
    file = str(Path(__file__).with_name(source))
    command = [compiler(), "-std=c++17", "-shared", "-fPIC", "-O2", f"-DHANDLE={handle}", file]
    command += ["-Wl,--no-as-needed"]
    if needs:
        # Not in lib: the real library would be looked for there, too, and the shim found again.
        other = folder / "beside" / needs
        other.parent.mkdir()
        made = [compiler(), "-shared", "-fPIC", "-x", "c++", "/dev/null"]
        made += [f"-Wl,-soname,{needs}", "-o", str(other)]
        subprocess.run(made, check=True, capture_output=True, text=True)
        command += [str(other), f"-Wl,-rpath,{other.parent}"]
    command += ["-o", str(folder / "lib" / library.name), str(library), "-ldl"]
    # Another soname than the real one's, or the loader would take the one for the other.
    command += [f"-Wl,-rpath,{library.parent}", "-Wl,-soname,libaware_mpi.so"]
    # The real library's own needs are found at run time, through its own run path.
    command += ["-Wl,--unresolved-symbols=ignore-all"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder


def fake_nvshmem(builds: Path) -> Path:
    """A folder for PYTHONPATH in which wirespeed finds the libnvshmem_host.so.3 of fake_nvshmem.cpp."""
    here = Path(__file__).parent

    def build(folder: Path) -> None:
        library = folder / "nvidia/nvshmem/lib/libnvshmem_host.so.3"
        library.parent.mkdir(parents=True)
        command = [compiler(), "-std=c++20", "-O1", "-shared", "-fPIC", "-I", str(here.parents[1] / "native")]
        command += ["-o", str(library), str(here / "fake_nvshmem.cpp")]
        subprocess.run(command, check=True, capture_output=True, text=True)

    return once(builds / "fake-nvshmem", build)


def fake_gasnet(prefix: Path, *flags: str) -> Path:
    """A prefix with the GASNet of fake_gasnet.cpp, its conduit compiled with these flags."""
    here = Path(__file__).with_name("fake_gasnet")
    (prefix / "include").mkdir(parents=True)
    (prefix / "lib" / "pkgconfig").mkdir(parents=True)
    (prefix / "include" / "gasnetex.h").write_text((here / "gasnetex.h").read_text())
    made, library = prefix / "lib" / "fake.o", prefix / "lib" / "libgasnet-udp-seq.a"
    command = [compiler(), "-std=c++20", "-O1", *flags, "-c", str(here / "fake_gasnet.cpp"), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    subprocess.run(["ar", "rc", str(library), str(made)], check=True, capture_output=True, text=True)
    (prefix / "lib" / "pkgconfig" / "gasnet-udp-seq.pc").write_text(
        f"GASNET_PREFIX={prefix}\nGASNET_CC=/nowhere/cc -std=gnu23\nGASNET_DEFINES=-DGASNET_SEQ\n"
        "GASNET_INCLUDES=-I${GASNET_PREFIX}/include\nGASNET_LD_REQUIRES_CXX=1\n"
        "GASNET_LIBS=-L${GASNET_PREFIX}/lib -lgasnet-udp-seq -lm\nName: gasnet-udp-seq\nVersion: 2000.1.0\n"
    )
    return prefix
