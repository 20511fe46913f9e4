"""Builds what the path `gasnet` opens from a user's own GASNet-EX.

GASNet is a set of headers and static libraries; `shim.c` and one of its conduits make a library that the core
can open at run time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wirespeed import interrupts
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.gasnet import CONDUITS, file_of, folder

_EXPORTS = "{ global: wirespeed_gasnet_*; local: *; };"
_PIC = "--with-cflags=-fPIC --with-cxxflags=-fPIC"


def installed(prefix: Path) -> dict[str, dict[str, str]]:
    """Conduit -> the variables of its pkg-config file, for each one installed under `prefix`.

    Raises WirespeedError where there is none.
    """
    found: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        for mode in ("seq", "par"):
            for file in sorted(prefix.glob(f"lib*/**/pkgconfig/gasnet-*-{mode}.pc")):
                if (conduit := file.name.split("-")[1]) in CONDUITS:
                    found.setdefault(conduit, _variables(file))
    if not found:
        raise WirespeedError(
            f"{prefix}: no GASNet-EX with a conduit {', '.join(CONDUITS[:-1])} or {CONDUITS[-1]} there "
            "(lib/pkgconfig/gasnet-CONDUIT-seq.pc); give the folder into which GASNet was installed"
        )
    return found


def _variables(file: Path) -> dict[str, str]:
    pairs = (
        line.split("=", 1)
        for line in file.read_text(errors="replace").splitlines()
        if re.match(r"\w+ *=", line)
    )
    known: dict[str, str] = {}
    for name, value in pairs:
        known[name.strip()] = re.sub(r"\$\{(\w+)\}", lambda use: known.get(use[1], ""), value)
    return known


def _compiler(variables: dict[str, str]) -> str:
    """The user's choice, the compiler that GASNet was built with, or any."""
    names = (os.environ.get("CC", ""), variables.get("GASNET_CC", "").partition(" ")[0], "cc", "gcc", "clang")
    for name in names:
        if name and shutil.which(name):
            return name
    raise WirespeedError(
        "no C compiler found (cc, gcc, clang); install one or name it in CC", ExitCode.UNAVAILABLE
    )


def build(prefix: Path) -> Iterator[tuple[str, Path | str]]:
    """Builds each conduit installed under `prefix`: its name, and the library or why there is none.

    Raises WirespeedError where nothing can be built: no GASNet, no compiler, no place for the result.
    """
    found = installed(prefix)
    compilers = {conduit: _compiler(variables) for conduit, variables in found.items()}
    try:
        folder().mkdir(parents=True, exist_ok=True)
        for conduit, variables in found.items():
            yield conduit, _build(conduit, variables, compilers[conduit])
    except OSError as error:
        raise WirespeedError(f"cannot write {folder()}: {error.strerror}", ExitCode.CANNOT_WRITE) from error


def _build(conduit: str, variables: dict[str, str], compiler: str) -> Path | str:
    used = [*variables.get("GASNET_DEFINES", "").split(), *variables.get("GASNET_INCLUDES", "").split()]
    libraries = variables.get("GASNET_LIBS", "").split()
    if variables.get("GASNET_LD_REQUIRES_CXX") == "1":
        libraries.append("-lstdc++")
    with interrupts.deferred(), tempfile.TemporaryDirectory(dir=folder()) as place:
        made, exports = Path(place, "made.so"), Path(place, "exports")
        exports.write_text(_EXPORTS)
        command = [compiler, "-O2", "-fPIC", "-shared", "-w", *used, str(Path(__file__).with_name("shim.c"))]
        command += ["-o", str(made), f"-Wl,--version-script={exports}", *libraries]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode == 0:
            made.replace(file_of(conduit))
            return file_of(conduit)
    if "recompile with -fPIC" in done.stderr:
        return f"its library was compiled without -fPIC; configure GASNet with {_PIC} and build it again"
    complaints = [line for line in done.stderr.splitlines() if "error:" in line or "cannot find" in line]
    return f"{compiler}: {(complaints or done.stderr.splitlines() or ['it failed'])[0].strip()}"
