"""A prefix for --mpi whose MPI hangs in MPI_Recv until a variable is set: a hang with a known remedy."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = """
#include <dlfcn.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
extern "C" int MPI_Recv(void* to, int count, HANDLE type, int peer, int tag, HANDLE comm, void* status) {
    using Call = int(void*, int, HANDLE, int, int, HANDLE, void*);
    static auto* next = reinterpret_cast<Call*>(dlsym(RTLD_NEXT, "MPI_Recv"));
    const char* value = std::getenv(NAME);
    while (!value || std::strcmp(value, VALUE) != 0) usleep(1000);
    return next(to, count, type, peer, tag, comm, status);
}
"""


def hanging_prefix(folder: Path, mpiexec: Path, library: Path, name: str, value: str) -> Path:
    """The real MPI with this one call in front; made in the manner of support/shim.py."""
    for part in ("bin", "lib"):
        (folder / part).mkdir(parents=True)
    launcher = folder / "bin" / "mpiexec"
    launcher.write_text(f'#!/bin/sh\nexec "{mpiexec}" "$@"\n')
    launcher.chmod(0o755)
    source = folder / "hang.cpp"
    source.write_text(SOURCE)
    handle = "void*" if library.name.endswith(".40") else "int"
    command = ["g++", "-std=c++17", "-shared", "-fPIC", "-O1", f"-DHANDLE={handle}", str(source)]
    command += [f'-DNAME="{name}"', f'-DVALUE="{value}"', "-Wl,--no-as-needed"]
    command += ["-o", str(folder / "lib" / library.name), str(library), "-ldl"]
    command += [f"-Wl,-rpath,{library.parent}", "-Wl,-soname,libhanging_mpi.so"]
    command += ["-Wl,--unresolved-symbols=ignore-all"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder
