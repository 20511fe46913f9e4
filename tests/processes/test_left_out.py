"""What `make test` leaves out is slow, and each run ends with how many of how many tests it ran."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command import captured
from support.selection import TURNS, its_turn

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest
from support.selection import slow_case

def test_quick(): pass
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.slow(after=1)
@pytest.mark.parametrize("number", [slow_case(0), 1, 2])
def test_first(number): pass
@pytest.mark.skip(reason="no such machine")
def test_skipped(): pass
"""
DEFAULT = "ran 2 of 6; left out: 3 slow (make test-all runs them), 1 skipped, for the reasons above"


def ended(folder: Path, *words: str) -> tuple[str, list[str]]:
    """The last line but pytest's own, and the names of the tests that ran."""
    file = folder / "test_made_up.py"
    file.write_text(f"{TESTS}pytestmark = pytest.mark.filterwarnings('default')\n")
    command = [sys.executable, "-I", "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", "0"]
    # The project's own conftest.py, for tests that lie elsewhere.
    command += ["-c", str(ROOT / "pyproject.toml"), "-p", "conftest", *words, str(file)]
    done = captured(command, cwd=ROOT)
    lines = done.stdout.splitlines()
    ran = [line.split("::")[1].split()[0] for line in lines if " PASSED" in line]
    (last,) = [line for line in lines if line.startswith("ran ")]
    return last, ran


@pytest.mark.parametrize(
    ("words", "last", "ran"),
    [
        ((), DEFAULT, 2),
        (("--all",), "ran 5 of 6; left out: 1 skipped, for the reasons above", 5),
        (("-m", "slow and not skip"), "ran 4 of 6; left out: 2 by your words", 4),
        (("-k", "quick"), "ran 1 of 6; left out: 3 slow (make test-all runs them), 2 by your words", 1),
        (
            ("-n", "1"),
            "ran 2 of 6; left out: 3 slow (make test-all runs them), 1 skipped, for the reasons above",
            2,
        ),
    ],
)
def test_a_run_says_what_it_leaves_out(words: tuple[str, ...], last: str, ran: int, tmp_path: Path) -> None:
    """Protects whoever takes `make test` for all tests, also where xdist's workers have selected them."""
    found, names = ended(tmp_path, *words)
    assert (found, len(names)) == (last, ran) if "-n" not in words else found == last


def test_make_fuzz_leaves_nothing_out() -> None:
    """Protects whoever asks for 10,000 cases from a tenth of them, and of one format of files alone."""
    make = ["make", "--no-print-directory", "-n", "fuzz", "ARGS="]
    recipe = captured(make, cwd=ROOT, ok=True)
    words = shlex.split(recipe.stdout.rpartition("pytest -n auto ")[2])
    command = [sys.executable, "-I", "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *words]
    found = captured(command, cwd=ROOT, ok=True).stdout
    assert "test_in_process[9]" in found and "test_a_damaged_file[soak]" in found


def test_every_slow_test_has_its_turn(tmp_path: Path) -> None:
    """Protects from slow tests that CI never runs, and from those that it runs at each commit."""
    items: list[Any] = [SimpleNamespace(nodeid=f"a.py::test_slow[{number}]") for number in range(99)]
    assert all(sum(its_turn(item, turn) for turn in range(7, 7 + TURNS)) == 1 for item in items)
    found, names = ended(tmp_path, "--turn", "0")
    assert {"test_quick"} < {*names} and found.startswith(f"ran {len(names)} of 6; ")
