"""The kernels' text compiles for AMD's large GPUs and to SPIR-V, by clang alone, without ROCm or a GPU.

The hipRTC that distributions have does not know gfx942 and gfx950.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command import captured
from support.selection import slow_case

pytestmark = pytest.mark.slow

SHIM = Path(__file__).parents[1] / "support/clang_device.h"
COMMON = ("-x", "hip", "-std=c++17", "-O1", "-ffp-contract=off", "-fms-extensions", "-D__HIPCC_RTC__")
NAMES = [f"clang-{version}" for version in range(22, 26)]


@pytest.fixture(scope="module")
def clang() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip("no clang that is new enough (apt install clang-22)")
    return found


def compiled(command: list[str], units: dict[str, str], folder: Path, ending: str) -> dict[str, Path]:
    """What each unit is compiled to; a warning is an error."""
    found = {}
    for name, text in units.items():
        source, target = folder / f"{name}.hip", folder / f"{name}.{ending}"
        source.write_text(text)
        checks = ["-Wall", "-Werror", "-Wno-unused-function", "-Wno-unneeded-internal-declaration"]
        words = [*command, *COMMON, *checks, "-include", str(SHIM), "-o", str(target), str(source)]
        captured(words, ok=True)
        found[name] = target
    return found


@pytest.mark.parametrize("architecture", ["gfx942", *map(slow_case, ("gfx90a", "gfx950"))])
def test_amd_gpus(
    architecture: str, clang: str, units: dict[str, str], cpu_kernels: dict[str, int], tmp_path: Path
) -> None:
    """Protects MI200, MI300 and MI350 from a kernel that only NVIDIA's compiler takes."""
    offload = ["--cuda-device-only", f"--offload-arch={architecture}", "-nogpuinc", "-nogpulib", "-S"]
    made = compiled([clang, *offload], units, tmp_path, "s")
    texts = [file.read_text() for file in made.values()]
    assert {name for text in texts for name in re.findall(r"\.amdhsa_kernel (\w+)", text)} == set(cpu_kernels)
    assert all(re.search(rf'\.amdgcn_target ".*{architecture}"', text) for text in texts)


def instructions(module: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Opcode and operands of each instruction of a SPIR-V module."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    assert words[0] == 0x07230203, "no SPIR-V"
    at = 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        yield opcode, words[at + 1 : at + length]
        at += length


ENTRY_POINT, DECORATE, LINKAGE, IMPORT = 15, 71, 41, 1


def test_spirv(clang: str, units: dict[str, str], cpu_kernels: dict[str, int], tmp_path: Path) -> None:
    """Protects the way to Intel's GPUs: every kernel is an entry point, and nothing is left to be linked."""
    target = ["-cc1", "-triple", "spirv64v1.2-unknown-unknown", "-aux-triple", "x86_64-unknown-linux-gnu"]
    clocks = ["-mllvm", "-spirv-ext=+SPV_KHR_shader_clock", "-emit-obj"]
    made = compiled([clang, *target, "-fcuda-is-device", *clocks], units, tmp_path, "spv")
    entries, imports = set(), []
    for file in made.values():
        for opcode, operands in instructions(file.read_bytes()):
            if opcode == ENTRY_POINT:
                name = struct.pack(f"<{len(operands) - 2}I", *operands[2:])
                entries.add(name.split(b"\0")[0].decode())
            elif opcode == DECORATE and operands[1] == LINKAGE and operands[-1] == IMPORT:
                imports.append(
                    struct.pack(f"<{len(operands) - 3}I", *operands[2:-1]).split(b"\0")[0].decode()
                )
    assert entries == set(cpu_kernels)
    assert not [name for name in imports if "BuiltIn" not in name], imports
