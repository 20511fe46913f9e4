"""The rules of the tree that no compiler holds; what Python modules may import is in pyproject.toml."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from support import selection

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "wirespeed"
NATIVE = ROOT / "native"

MAX_LINES = 500
MEASURED_ROOMS = ("wirespeed", "native", "tests", "bench", "scripts")
SOURCE_SUFFIXES = (".py", ".cpp", ".hpp", ".h", ".c")

# (room, words that it may not say, why)
LIBRARIES = r"\b(open)?mpi(ch)?\b|\bmpi_|\bcuda|\bhip|\bnvrtc|\bnccl|\brccl|\bnvshmem|\bucx"
PATTERNS = r"\bping-?pong|\bhalo|\bjacobi|\bbisection|\blbm"
UNSPEAKABLE = (
    ("wirespeed/patterns", LIBRARIES, "a pattern says who sends what to whom, and runs over every transport"),
    ("native/measure", LIBRARIES, "sampling and watching are the same for every transport and device"),
    ("native/transports", PATTERNS, "a transport compiles any pattern's steps"),
)

# Folder of native/: the folders that its files may include from.
INCLUDES = {
    "core": ("core",),
    "libraries": ("core", "libraries"),
    "kernels": ("core", "kernels", "libraries"),
    "devices": ("core", "devices", "kernels", "libraries", "measure/clock.hpp"),
    "measure": ("core", "measure"),
    "soak": ("core", "kernels/soak_types.h", "measure", "soak", "transports"),
    "transports": (
        "core",
        "measure",
        "devices/device.hpp",
        "devices/work.hpp",
        "libraries",
        "transports",
        "kernels/chase_types.h",
        "kernels/persistent_types.h",
        "kernels/soak_types.h",
        "kernels/waiting_copy_types.h",
    ),
}

# Names of several classes, and the one thing that all of them mean.
SHARED_NAMES = {
    **dict.fromkeys(
        ("Buffers", "Collective", "Device", "Program", "Soak", "Step", "Transfer", "Transport", "Work"),
        "Python describes or records what the core has",
    ),
    "World": "all ranks, as MPI has joined them",
    **dict.fromkeys(
        ("OneSidedCalls", "OpList", "Part", "Put", "Session", "StepOps"),
        "each transport's own, over its library",
    ),
    "Kind": "which of the counters that two ranks raise for each other",
}
NATIVE_CLASS = re.compile(
    r"^ *(?:template *<.*> *)?(?:enum )?(?:class|struct|enum|union)(?: alignas\(\w+\))? "
    r"(?:\w+::)*(\w+)(?:<\w+>)?(?: final)?(?: : ?[^;{]*)? {",
    re.M,
)

PRINTING_ROOMS = ("cli", "report")
STATISTICS = (
    "mean",
    "fmean",
    "median",
    "quantile",
    "quantiles",
    "percentile",
    "stdev",
    "pstdev",
    "std",
    "variance",
)
STATISTICS_ROOM = ("statistics",)


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


def docstrings(file: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of the module's docstring and those of its public definitions."""
    for node in (nodes(file)[0], *public_definitions(file)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and (
            text := ast.get_docstring(node)
        ):
            yield getattr(node, "lineno", 1), text


def notes(file: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of the notes below assignments, in modules and in classes."""
    for node in nodes(file):
        if isinstance(node, (ast.Module, ast.ClassDef)):
            for above, note in pairwise(node.body):
                match note:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        if isinstance(above, (ast.Assign, ast.AnnAssign)):
                            yield note.lineno, text


def public_definitions(file: Path) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Functions, classes and methods without an underscore, in nothing that has one."""

    def inside(parent: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield from inside(node)
            elif not node.name.startswith("_"):
                yield node
                yield from inside(node)

    return inside(nodes(file)[0])


def code_of(file: Path) -> str:
    """The text with comments blanked out, lines kept."""
    text = file.read_text()
    if file.suffix == ".py":
        return re.sub(r"#.*", "", text)
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//.*", "", text)


def sources(room: Path) -> list[Path]:
    return sorted(file for file in room.rglob("*") if file.suffix in SOURCE_SUFFIXES)


def report(rule: str, found: list[str]) -> None:
    assert not found, "\n".join([rule, *(f"  {place}" for place in found)])


@pytest.mark.parametrize(("room", "words", "why"), UNSPEAKABLE, ids=[room for room, _, _ in UNSPEAKABLE])
def test_words_that_a_room_does_not_know(room: str, words: str, why: str) -> None:
    pattern = re.compile(words, re.IGNORECASE)
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in sources(ROOT / room)
        for number, line in enumerate(code_of(file).splitlines(), 1)
        if pattern.search(line)
    ]
    report(f"{room} names what it must not know: {why}", found)


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
        if re.match(
            r"print\(|sys\.std(out|err)(\.buffer)?\.write(lines)?\(|(from|import) (rich|click)\b", text
        ):
            found.append(f"{place}: {text.splitlines()[0]}")
    report("only wirespeed/cli and wirespeed/report print; others hand an event to their observer", found)


def test_statistics_live_in_one_place() -> None:
    names = "|".join(STATISTICS)
    found = []
    for place, text in spoken_outside(STATISTICS_ROOM):
        called = re.match(rf"(.*\.)?({names})\(", text)
        if re.match(r"(from|import) statistics\b", text) or (called and called[1] != "samples."):
            found.append(f"{place}: {text.splitlines()[0]}")
    for file in python_files():
        if file.relative_to(PACKAGE).parts[0] not in STATISTICS_ROOM:
            found += [
                f"{file.relative_to(ROOT)}:{node.lineno}: def {node.name}"
                for node in nodes(file)
                if isinstance(node, ast.FunctionDef) and node.name in STATISTICS
            ]
    report("medians, quantiles and means are computed in wirespeed/statistics alone", found)


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


def test_no_class_name_means_two_things() -> None:
    """Protects readers who search for a name. Vendors' own types (native/libraries) may share theirs."""
    places: dict[str, set[str]] = {}
    for file in (*sources(PACKAGE), *sources(NATIVE)):
        if file.suffix == ".py":
            names = [node.name for node in nodes(file) if isinstance(node, ast.ClassDef)]
        else:
            names = NATIVE_CLASS.findall(code_of(file))
        if file.parent.name != "libraries":
            for name in names:
                places.setdefault(name, set()).add(str(file.relative_to(ROOT)))
    shared = {name: sorted(files) for name, files in places.items() if len(files) > 1}
    found = [f"{name}: {', '.join(files)}" for name, files in shared.items() if name not in SHARED_NAMES]
    report("a class name means one thing, in Python and in native/ together", found)
    report("names in SHARED_NAMES that only one file has", sorted(SHARED_NAMES.keys() - shared.keys()))


def test_files_stay_readable() -> None:
    found = []
    for room in MEASURED_ROOMS:
        for file in sources(ROOT / room):
            lines = len(file.read_text().splitlines())
            if lines > MAX_LINES:
                found.append(f"{file.relative_to(ROOT)}: {lines} lines")
    report(f"a file holds one idea and at most {MAX_LINES} lines", found)


def test_every_module_says_what_it_is() -> None:
    found = [
        str(file.relative_to(ROOT))
        for file in python_files()
        if file.read_text().strip() and not ast.get_docstring(nodes(file)[0])  # type: ignore[arg-type]
    ]
    report("a module's first line says in one sentence what it is", found)


def test_a_docstring_says_what_the_thing_is() -> None:
    """Protects readers from fragments, in notes below assignments too: "Of one number." says nothing."""
    vague = re.compile(r"(What|Of|Whether|How|Where|Which|Those)\b")
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for file in python_files()
        for line, text in (*docstrings(file), *notes(file))
        if vague.match(text)
    ]
    report("a docstring begins with a noun or a verb", found)


def test_tests_that_are_left_to_test_all_exist() -> None:
    """Protects make test's selection from names that nothing has any more."""
    files = [*(ROOT / "tests").rglob("test_*.py")]
    defined = {name for file in files for name in re.findall(r"^ *def (test_\w+)\(", file.read_text(), re.M)}
    assert defined >= selection.LONG and {file.stem for file in files} >= selection.FURTHER
