"""What `make test` leaves out: it is what the documents say, and each run ends with how many."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.selection import thorough

ROOT = Path(__file__).parents[2]
FEW = "tests/unit/test_coverage.py"


def ended(*words: str) -> list[str]:
    command = [sys.executable, "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 5), done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--collect-only",), ("-n", "1")])
def test_a_run_says_what_it_leaves_out(words: tuple[str, ...]) -> None:
    """Protects whoever takes `make test` for all tests, also where xdist's workers have selected them."""
    said = [line for line in ended(FEW, *words) if "make test-all" in line]
    left_out = len([line for line in ended(FEW, "--collect-only", "-m", "thorough") if "::" in line])
    assert said == [f"{left_out} more tests are thorough: make test-all runs them, too"] and left_out
    assert not [line for line in ended(FEW, *words, "-k", "no_such_test") if "make test-all" in line]


@pytest.mark.parametrize("all_of_them", [thorough(True)])
def test_it_is_two_thirds(all_of_them: bool) -> None:
    """Protects CONTRIBUTING and the README, which said "each test" of 4,970 of 7,486."""
    for file in ("CONTRIBUTING.md", "README.md", "Makefile"):
        assert "wo thirds" in (ROOT / file).read_text()
    (line,) = (line for line in ended("--collect-only") if "tests collected" in line)
    ran, there = map(int, re.findall(r"(\d+)/(\d+) tests", line)[0])
    assert 0.6 < ran / there < 0.73
