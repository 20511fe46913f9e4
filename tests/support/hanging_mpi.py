"""A prefix for --mpi whose MPI hangs in MPI_Recv until a variable is set: a hang with known remedies."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.builds import compiler

SOURCE = """
#include <dlfcn.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
extern "C" int MPI_Recv(void* to, int count, HANDLE type, int peer, int tag, HANDLE comm, void* status) {
    using Call = int(void*, int, HANDLE, int, int, HANDLE, void*);
    static auto* next = reinterpret_cast<Call*>(dlsym(RTLD_NEXT, "MPI_Recv"));
    static const char* const remedies[][2] = {REMEDIES};
    bool helped = false;
    for (auto& [name, value] : remedies) {
        const char* set = std::getenv(name);
        helped = helped || (set && std::strcmp(set, value) == 0);
    }
    while (!helped) usleep(1000);
    return next(to, count, type, peer, tag, comm, status);
}
"""


def hanging_prefix(folder: Path, mpiexec: Path, library: Path, remedies: dict[str, str]) -> Path:
    """The real MPI with this one call in front, made as in support/shim.py. Any of `remedies` will do."""
    for part in ("bin", "lib"):
        (folder / part).mkdir(parents=True)
    launcher = folder / "bin" / "mpiexec"
    launcher.write_text(f'#!/bin/sh\nexec "{mpiexec}" "$@"\n')
    launcher.chmod(0o755)
    source = folder / "hang.cpp"
    pairs = ", ".join(f'{{"{name}", "{value}"}}' for name, value in remedies.items())
    source.write_text(SOURCE.replace("REMEDIES", pairs))
    handle = "void*" if library.name.endswith(".40") else "int"
    command = [compiler(), "-std=c++17", "-shared", "-fPIC", "-O1", f"-DHANDLE={handle}", str(source)]
    command += ["-Wl,--no-as-needed"]
    command += ["-o", str(folder / "lib" / library.name), str(library), "-ldl"]
    command += [f"-Wl,-rpath,{library.parent}", "-Wl,-soname,libhanging_mpi.so"]
    command += ["-Wl,--unresolved-symbols=ignore-all"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder
