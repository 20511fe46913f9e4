"""Which tests run: of `make test` and `make fuzz`; of `make test-gpu` with no GPU, with one and with two."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
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


@pytest.mark.slow(after=1)
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


def pytest_of_gpu_tests(*words: str, **variables: str) -> tuple[int, str]:
    """Its exit code and what it printed, by the command of the Makefile."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "pytest", "tests/gpu", *words],
        cwd=ROOT,
        # Not this session's lock: who waits for this test would wait for its own end.
        env={name: value for name, value in os.environ.items() if name != "WIRESPEED_TEST_LOCK"} | variables,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def chosen(count: int, *words: str) -> tuple[int, list[str]]:
    """How many tests of the first tier, or of what the words choose, run on so many GPUs; and all names."""
    code, said = pytest_of_gpu_tests("--co", "-q", *words, GPU_TESTS_COUNT=str(count))
    found = re.search(r"GPU tests: (\d+) of (\d+) run on (\d) cuda device", said)
    assert code == 0 and found and int(found[3]) == count, said
    names = [line.rpartition("/")[2] for line in said.splitlines() if line.startswith("tests/gpu/")]
    assert len(names) == int(found[2])
    return int(found[1]), names


@pytest.mark.slow
def test_the_first_tier_is_a_part_in_the_same_order() -> None:
    """Protects the five minutes, and a run in parts: what is left out comes after what is not.

    And who has one GPU, where all tests were once skipped.
    """
    two, first = chosen(2)
    assert 40 <= chosen(1)[0] < two == len(first)
    every, names = chosen(2, "-m", "slow or not slow")
    assert names[: len(first)] == first and len(first) < every == len(names)
    rest, _ = chosen(2, "-m", "slow")
    assert rest == every - len(first)


def test_each_sanitizer_sees_each_kernel_on_one_gpu() -> None:
    """Protects from kernels that only two GPUs launch under a sanitizer."""
    run, names = chosen(1, "-m", "slow or not slow", "-k", "test_sanitizers and test_every_kernel")
    assert run == len(names) == 18


def test_nothing_that_ran_is_a_failure() -> None:
    """Protects from an exit code of 0 where every test was skipped, and the reason is printed."""
    code, said = pytest_of_gpu_tests("-m", "slow or not slow", GPU_TESTS_COUNT="0")
    assert code == 1 and "no GPU test ran: there is no CUDA device" in said, said
    assert re.search(r"SKIPPED \[\d+\] tests/gpu/test_paths.py.*: there is no CUDA device", said), said


def test_no_time_for_any_is_a_failure() -> None:
    """Protects a plan in parts from a part that did nothing."""
    code, said = pytest_of_gpu_tests("--seconds", "0", GPU_TESTS_DEVICE="emulated", GPU_TESTS_COUNT="1")
    assert code == 1 and "no GPU test ran: the time was over" in said, said


@pytest.mark.slow
def test_a_run_in_parts_has_all_tests_once() -> None:
    """Protects from tests that are lost between two calls, and the line that begins the next one."""
    words = ("-v", "-k", "wrong_byte or elements")
    ran = list[str]()
    start = list[str]()
    for _ in range(20):
        code, said = pytest_of_gpu_tests(
            *words, "--seconds", "0.2", *start, GPU_TESTS_DEVICE="emulated", GPU_TESTS_COUNT="1"
        )
        assert code == 0, said
        ran += re.findall(r"^tests/gpu/(\S+) PASSED", said, re.MULTILINE)
        assert re.search(r"^ +\d+\.\d s  test_kernels.py::test_\w+, \d+ of them", said, re.MULTILINE), said
        if not (more := re.search(r"they run with --start-at '(.*)'", said)):
            break
        start = ["--start-at", more[1]]
    _, names = chosen(1, "-k", "wrong_byte or elements")
    assert start and ran == names


def test_a_start_that_is_no_test() -> None:
    """Protects from a part that begins nowhere because a name was mistyped."""
    code, said = pytest_of_gpu_tests("--start-at", "test_kernels.py::nothing", GPU_TESTS_COUNT="1")
    assert code == pytest.ExitCode.USAGE_ERROR and "no such test among the" in said, said
