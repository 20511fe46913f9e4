"""The rules of the tree that no compiler holds; what Python modules may import is in pyproject.toml."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "wirespeed"
NATIVE = ROOT / "native"

SOURCE_SUFFIXES = (".py", ".cpp", ".hpp", ".h", ".c")

# Folder of native/: the folders that its files may include from.
INCLUDES = {
    "core": ("core",),
    "libraries": ("core", "libraries"),
    "kernels": ("core", "kernels", "libraries"),
    "devices": ("core", "devices", "kernels", "libraries", "measure/clock.hpp"),
    "measure": ("core", "measure"),
    "soak": (
        *("core", "devices/device.hpp", "devices/work.hpp", "kernels/soak_types.h", "measure"),
        *("soak", "transports"),
    ),
    "transports": (
        *("core", "measure", "devices/device.hpp", "devices/work.hpp", "libraries", "transports"),
        *(f"kernels/{name}_types.h" for name in ("chase", "persistent", "soak", "waiting_copy")),
    ),
}

PRINTING_ROOMS = ("cli", "report")


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text(), str(file))))


@cache
def spoken(file: Path) -> list[tuple[int, str]]:
    """(line, text) of every function that is called, as `name(`, and of every import."""
    found = []
    for node in nodes(file):
        if isinstance(node, ast.Call):
            found.append((node.lineno, ast.unparse(node.func) + "("))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append((node.lineno, ast.unparse(node)))
    return found


def spoken_outside(rooms: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(place, text) of all files that lie in none of these rooms."""
    for file in python_files():
        if file.relative_to(PACKAGE).parts[0] not in rooms:
            for line, text in spoken(file):
                yield f"{file.relative_to(ROOT)}:{line}", text


def sources(room: Path) -> list[Path]:
    return sorted(file for file in room.rglob("*") if file.suffix in SOURCE_SUFFIXES)


def report(rule: str, found: list[str]) -> None:
    assert not found, "\n".join([rule, *(f"  {place}" for place in found)])


@pytest.mark.parametrize("room", INCLUDES)
def test_what_native_rooms_include(room: str) -> None:
    found = []
    for file in sources(NATIVE / room):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            included = re.match(r'#include "(.+)"', line)
            if included and not any(f"{included[1]}/".startswith(f"{one}/") for one in INCLUDES[room]):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line}")
    report(f"native/{room} may include from {', '.join(INCLUDES[room])} alone", found)


def test_every_native_room_has_its_rule() -> None:
    rooms = {folder.name for folder in NATIVE.iterdir() if folder.is_dir()}
    report("folders of native/ without a line in INCLUDES", sorted(rooms - set(INCLUDES)))


def test_a_vendor_s_device_is_known_to_its_own_folder() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {line}"
        for file in sources(NATIVE / "devices")
        for line in file.read_text().splitlines()
        for kind in ("cuda", "hip", "openmp", "levelzero")
        if line.startswith(f'#include "devices/{kind}/') and file.parent.name != kind
    ]
    report("a vendor's device is known to its own folder alone: what two share lies in devices/gpu", found)


def test_only_commands_and_reports_print() -> None:
    found = []
    for place, text in spoken_outside(PRINTING_ROOMS):
        # What a process of its own begins with speaks for it.
        if "__main__.py" not in place and re.match(
            r"print\(|sys\.std(out|err)(\.buffer)?\.write(lines)?\(|(from|import) (rich|click)\b", text
        ):
            found.append(f"{place}: {text.splitlines()[0]}")
    report("only wirespeed/cli and wirespeed/report print; others hand an event to their observer", found)


def test_patterns_are_asked_not_recognised() -> None:
    """Protects new patterns: what is special about one it says itself, as a trait or a name."""
    found = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}"
        for file in python_files()
        if file.relative_to(PACKAGE).parts[0] not in ("patterns", "programs")
        for node in nodes(file)
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "isinstance"
            and "Pattern" in ast.unparse(node.args[1])
        )
        or (isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(".view"))
    ]
    report("only patterns' own rooms tell patterns apart", found)
