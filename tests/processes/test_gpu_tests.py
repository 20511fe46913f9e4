"""`make test-gpu` with no GPU, with one, and with two: what runs, in which order, and what fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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


def test_one_gpu_shows_much() -> None:
    """Protects who has one GPU, where all of them were once skipped."""
    one, names = chosen(1)
    two, _ = chosen(2)
    assert 40 <= one < two == len(names)


def test_the_first_tier_is_a_part_in_the_same_order() -> None:
    """Protects the five minutes, and a run in parts: what is left out comes after what is not."""
    _, first = chosen(2)
    every, names = chosen(2, "-m", "slow or not slow")
    assert names[: len(first)] == first and len(first) < every == len(names)
    rest, _ = chosen(2, "-m", "slow")
    assert rest == every - len(first)


def test_each_sanitizer_sees_each_kernel_on_one_gpu() -> None:
    """Protects from kernels that only two GPUs launch under a sanitizer."""
    code, said = pytest_of_gpu_tests(
        "--co", "-m", "slow or not slow", "-k", "test_sanitizers and test_every_kernel", GPU_TESTS_COUNT="1"
    )
    assert code == 0 and "GPU tests: 18 of 18 run on 1 cuda device" in said, said


def test_nothing_that_ran_is_a_failure() -> None:
    """Protects from an exit code of 0 where every test was skipped, and the reason is printed."""
    code, said = pytest_of_gpu_tests("-m", "slow or not slow", GPU_TESTS_COUNT="0")
    assert code == 1 and "no GPU test ran: there is no CUDA device" in said, said
    assert re.search(r"SKIPPED \[\d+\] tests/gpu/test_paths.py.*: there is no CUDA device", said), said


def test_no_time_for_any_is_a_failure() -> None:
    """Protects a plan in parts from a part that did nothing."""
    code, said = pytest_of_gpu_tests("--seconds", "0", GPU_TESTS_DEVICE="emulated", GPU_TESTS_COUNT="1")
    assert code == 1 and "no GPU test ran: the time was over" in said, said


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
