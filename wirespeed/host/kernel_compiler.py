"""Compiles kernels for a GPU in a process of its own: `python .../kernel_compiler.py UNIT ARCHITECTURE`.

Some versions of hipRTC end their process for a GPU that they do not know. The core starts this one and reads
the code from its standard output; with exit code 3 that is the error's text.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(unit: str, architecture: str) -> int:
    """Writes the code of a unit of kernels; 0 if there is any, else 3."""
    from wirespeed.host.core import Core, NativeError

    core = Core()
    core.find_libraries()
    size = core.ffi.new("uint64_t *")
    try:
        code = core.check(core.lib.ws_kernel_code(unit.encode(), architecture.encode(), size))
        said, exit_code = bytes(core.ffi.buffer(code, size[0])), 0
    except NativeError as error:
        said, exit_code = str(error).encode(), 3
    with os.fdopen(1, "wb", closefd=False) as output:
        output.write(said)
    return exit_code


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    # The exit handlers of a compiler may fail, and the code has been written.
    os._exit(main(*sys.argv[1:3]))
