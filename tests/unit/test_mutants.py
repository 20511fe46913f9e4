"""make mutants: what it changes, and that it tells a test that notices from one that does not."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutation.operators import mutants_of
from mutation.table import read_table

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

MODULE = '''
"""A module with 1 number in its docstring."""

from functools import cache

LIMIT = 3


def clipped(value: int) -> int:
    return LIMIT if value > LIMIT else value


@cache
def steps(count: int) -> int:
    done = 0
    while done < count:
        done += 1
    return done


def unused() -> int:
    return 7
'''
TABLE = """
[rooms.tiny]
files = ["tiny/limit.py"]
tests = ["tests/test_limit.py"]
"""
WEAK = """
from tiny.user import again

def test_clipped():
    assert again(9) <= 4

def test_steps():
    from tiny.limit import steps
    steps(2)
"""
STRONG = """
from tiny.user import again

def test_clipped():
    assert [again(value) for value in (2, 3, 9)] == [2, 3, 3]

def test_steps():
    from tiny.limit import steps
    assert steps(3) == 3 and steps(0) == 0
"""
ALL_EQUIVALENT = """
[[equivalent]]
file = "tiny/limit.py"
line = "return LIMIT if value > LIMIT else value"
mutation = "return LIMIT if value > LIMIT else value -> return LIMIT if value >= LIMIT else value"
why = "Both are the same at the limit itself."

[[equivalent]]
file = "tiny/limit.py"
line = "return 7"
mutation = "return 7 -> return 8"
why = "Nobody calls it."

[[equivalent]]
file = "tiny/limit.py"
line = "return 6"
mutation = "return 6 -> return 7"
why = "It is not there any more."
"""


def changes(source: str) -> list[str]:
    return [mutant.what for mutant in mutants_of("x.py", ast.parse(source), source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", ["x = a < b -> x = a <= b"]),
        ("x = -a", ["x = -a -> x = a"]),
        ("x += y", ["x += y -> x -= y"]),
        ("x = 2", ["x = 2 -> x = 3"]),
        ("x = True", ["x = True -> x = False"]),
        ("x = a and b", ["x = a and b -> x = a or b"]),
        ("x = min(a, b)", ["x = min(a, b) -> x = max(a, b)"]),
        ("act()", ["act() -> pass"]),
        ("if a: b", ["if a -> if True", "if a -> if False"]),
        ("while a: b", ["while a -> while False"]),
        ("def f(): return a", ["return a -> return None"]),
        ("x = [a for a in b if a]", ["if a -> if True"]),
        ("for a in b: break", ["break -> continue"]),
        # What no caller is meant to notice.
        ("'''1 or 2'''", []),
        ("x: Literal[1]", []),
        ("def f(x: Literal[1]) -> Literal[2]: ...", []),
        ("if TYPE_CHECKING: x = 1", []),
        ("__all__ = a + b", []),
        ("x = f'{a:{b + c}}'", []),
        ("@dataclass(frozen=True)\nclass A: ...", []),
        ("x = zip(a, b, strict=True)", []),
        ("x = 'many %s' % a", []),
    ],
)
def test_what_is_changed(source: str, expected: list[str]) -> None:
    assert changes(source) == expected


def test_every_change_compiles() -> None:
    """Protects the count: what is not Python would be killed by no merit of the tests."""
    for index in range(len(changes(MODULE))):
        tree = ast.parse(MODULE)
        mutants_of("x.py", tree, MODULE)[index].apply()
        compile(tree, "x.py", "exec")
        assert ast.unparse(tree) != ast.unparse(ast.parse(MODULE))


def outcome(folder: Path, test: str, table: str = TABLE, module: str = MODULE) -> tuple[int, str]:
    """Exit code and output of the tool for the tiny package and this test."""
    for name, text in {
        "tiny/__init__.py": "",
        "tiny/limit.py": module,
        # A copy of the name, as most importers hold one.
        "tiny/user.py": "from tiny.limit import clipped as again",
        "tests/test_limit.py": test,
        "tests/mutants.toml": table,
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "mutants.py"), "--table", "tests/mutants.toml", "-j", "2"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_weak_test_leaves_survivors(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, WEAK)
    assert code == 1, said
    assert "tiny/limit.py:6: LIMIT = 3 -> LIMIT = 4" in said
    assert "-> return LIMIT if value >= LIMIT else value" in said
    assert "return done -> return None" in said
    assert "return 7 -> return 8 (no test runs it)" in said
    # The one that never ends is killed, as the one that the test notices.
    assert "done += 1 -> done -= 1" not in said
    assert "if value > LIMIT -> if False" not in said


def test_a_strong_test_kills_them_and_the_rest_is_listed(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, STRONG, TABLE + ALL_EQUIVALENT)
    assert code == 0, said
    assert "->" not in said.replace("return 6 -> return 7", "")
    assert "listed as equivalent, but no longer there: tiny/limit.py: return 6: return 6 -> return 7" in said
    [row] = [line for line in said.splitlines() if line.startswith("tiny ")]
    mutants, killed, surviving, equivalent, share = row.split()[1:]
    assert (surviving, equivalent, share) == ("0", "2", "100.0%")
    assert int(mutants) == int(killed) + 2


def test_a_mutant_destroys_nothing(tmp_path: Path) -> None:
    """Protects the machine: a wrong path or condition must not delete or write files outside."""
    kept = tmp_path / "kept"
    kept.write_text("kept")
    changing = f"""
from pathlib import Path

def drop(sure: bool) -> None:
    if sure:
        Path("{kept}").unlink()

def write(sure: bool) -> None:
    if sure:
        Path("{kept}").write_text("written")
"""
    test = "from tiny.limit import drop, write\n\ndef test_neither():\n    drop(False)\n    write(False)\n"
    _, said = outcome(tmp_path, test, module=changing)
    assert kept.read_text() == "kept"
    assert "if sure -> if True" not in said, "such a mutant is killed"


def test_tests_that_fail_anyway_are_no_measure(tmp_path: Path) -> None:
    """Protects from a share of 100 % because nothing passes."""
    code, said = outcome(tmp_path, "def test_wrong():\n    assert False\n")
    assert code == 2
    assert said.splitlines() == ["tests/test_limit.py::test_wrong fails with the modules as they are"]


def test_every_room_of_the_own_table_has_files_and_tests() -> None:
    """Else make mutants ends before its first mutant."""
    table = read_table(ROOT / "tests" / "mutants.toml")
    assert {"diagnosis", "results"} <= table.rooms.keys()
    assert all(room.files and room.tests for room in table.rooms.values())


def test_a_room_without_tests_is_said(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, STRONG, '[rooms.tiny]\nfiles = ["tiny/limit.py"]\n')
    assert (code, said) == (2, "the table's room tiny has no tests\n")


def test_a_room_whose_tests_compile() -> None:
    """Protects the tool from tests that write where it lets nobody write: their builds lie elsewhere then."""
    command = [sys.executable, "scripts/mutants.py", "health", "--sample", "1", "-j", "1"]
    # Not this session's lock, which lies where the tool lets nobody write.
    own = {name: value for name, value in os.environ.items() if name != "WIRESPEED_TEST_LOCK"}
    done = subprocess.run(
        command, cwd=ROOT, env=own, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0 and " mutants in " in done.stdout, done.stdout + done.stderr
