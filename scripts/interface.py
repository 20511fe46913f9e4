"""Writes wirespeed/host/interface.py: what the core's headers declare, as cffi takes it without parsing C.

python scripts/interface.py, after a change of native/wirespeed.h or native/wirespeed_test.h. Parsing them
in every rank would take more time than all else that a rank imports. interface.pyi is the same for mypy: a
type for each kind of handle, and the types of every call.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).parents[1]
HEADERS = ("wirespeed.h", "wirespeed_test.h")
TARGET = ROOT / "wirespeed" / "host" / "interface.py"
STUB = TARGET.with_suffix(".pyi")
TITLE = '"""Declarations of native/wirespeed.h and wirespeed_test.h. Written by scripts/interface.py."""\n'


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


def stub() -> str:
    """The text of the module's types."""
    text = "\n".join(declarations((ROOT / "native" / name).read_text()) for name in HEADERS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    opaque = [*re.findall(r"typedef struct \w+ (\w+);", text), "ws_control"]
    lines = [TITLE, "from typing import Any, NewType\n", "ffi: Any", 'Text = NewType("Text", object)']
    lines += ['"""C\'s `const char *`, as the core returns it."""']
    lines += [f'{handle(name)} = NewType("{handle(name)}", object)' for name in opaque]
    lines += ["\nclass Library:"]
    for kind, name, listed in re.findall(r"^([\w ]+?[ *]+)(ws_\w+)\(([^;]*)\);", text, flags=re.MULTILINE):
        given = ["self", *(argument(word, opaque) for word in listed.split(",") if word.strip() != "void")]
        returned = "Text" if "char*" in kind else python_type(kind, opaque)
        lines.append(f"    def {name}({', '.join(given)}, /) -> {returned}: ...")
    return "\n".join(lines) + "\n"


def handle(name: str) -> str:
    """The Python name of a pointer to this struct: DeviceHandle of ws_device."""
    return f"{name.removeprefix('ws_').capitalize()}Handle"


def argument(declared: str, opaque: list[str]) -> str:
    """A parameter, from its C declaration."""
    found = re.fullmatch(r"\s*(.*?)(\w+)\s*", declared, flags=re.DOTALL)
    assert found, declared
    return f"{found[2]}_: {python_type(found[1], opaque)}"


def python_type(declared: str, opaque: list[str]) -> str:
    """What cffi takes and gives for a C type; Any for pointers to memory, which it reckons with."""
    name, stars = declared.replace("const", "").replace("*", "").strip(), declared.count("*")
    if stars:
        text = name == "char" and "const" in declared and stars == 1
        return "bytes" if text else handle(name) if name in opaque else "Any"
    return {"void": "None", "double": "float"}.get(name, "int")


if __name__ == "__main__":
    TARGET.write_text(emitted())
    STUB.write_text(stub())
