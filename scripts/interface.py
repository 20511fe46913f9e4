"""Writes wirespeed/host/interface.py: what the core's headers declare, as cffi takes it without parsing C.

python scripts/interface.py, after a change of native/wirespeed.h or native/wirespeed_test.h. Parsing them
in every rank would take more time than all else that a rank imports.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).parents[1]
HEADERS = ("wirespeed.h", "wirespeed_test.h")
TARGET = ROOT / "wirespeed" / "host" / "interface.py"
TITLE = '"""What native/wirespeed.h and wirespeed_test.h declare. Written by scripts/interface.py."""\n'


def declarations(header: str) -> str:
    """A C header as cffi takes it: without preprocessor lines and what stands there for C++ alone."""
    kept: list[str] = []
    for_cplusplus = False
    for line in header.splitlines():
        if line.startswith("#"):
            for_cplusplus = line.startswith("#ifdef __cplusplus")
        elif not for_cplusplus:
            kept.append(line)
    return "\n".join(kept)


def emitted() -> str:
    """The text of the module."""
    ffi = FFI()
    for name in HEADERS:
        ffi.cdef(declarations((ROOT / "native" / name).read_text()))
    ffi.set_source("wirespeed.host.interface", None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "interface.py"
        ffi.emit_python_code(str(file))
        return TITLE + file.read_text()


if __name__ == "__main__":
    TARGET.write_text(emitted())
