"""NVIDIA's run-time compiler, which needs no GPU."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Compiled:
    assembly: str
    """PTX."""
    log: str


def compiled(nvrtc: Path, source: str, *options: str) -> Compiled:
    """The kernels as the library at `nvrtc` compiles them, from their text alone."""
    library, program = ctypes.CDLL(str(nvrtc)), ctypes.c_void_p()

    def text(what: str) -> str:
        size = ctypes.c_size_t()
        assert library[f"nvrtcGet{what}Size"](program, ctypes.byref(size)) == 0
        found = ctypes.create_string_buffer(size.value)
        assert library[f"nvrtcGet{what}"](program, found) == 0
        return found.value.decode()

    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), None, 0, None, None) == 0
    words = ["-std=c++17", *options]
    given = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    code = library.nvrtcCompileProgram(program, len(words), given)
    log = text("ProgramLog")
    assert code == 0, log
    return Compiled(text("PTX"), log)
