"""Ranks of a host agree on the moment when they start, and count how far apart they do."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.builds import program as builds_program
from support.command import captured

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(native: Path, builds: Path) -> Path:
    own = [native / "transports/local" / name for name in ("start_board.cpp", "segment.cpp", "exchange.cpp")]
    flags = ("-g", "-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover")
    sources = (Path(__file__).parent / "start_board.cpp", *own)
    return builds_program(builds, "start_board", *flags, "-I", native, *sources, "-lpthread")


@pytest.mark.parametrize("ranks", [2, 5])
@pytest.mark.parametrize("case", ["meet", "wrap", "notes", "agreed notes", "no memory", "crowds"])
def test_a_start_board(case: str, ranks: int, program: Path) -> None:
    """Protects short figures: nobody starts before the last has come, all at one moment, and notes are right.

    Also with counters that wrap, after ranks have lost patience, where no memory can be shared, and where
    ranks are bound to CPUs.
    """
    done = captured([program, str(ranks), case], timeout=120)
    assert (done.returncode, done.stdout) == (0, "as it should be\n"), done.stderr
