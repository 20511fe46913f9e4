"""Both ends of a one-sided transfer agree on where its bytes lie, or all ranks learn that they do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.builds import program as builds_program
from support.command import captured

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(native: Path, builds: Path) -> Path:
    own = [native / "transports/local" / name for name in ("peer_offsets.cpp", "exchange.cpp")]
    sources = (Path(__file__).parent / "peer_offsets.cpp", *own)
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover", "-I", native)
    return builds_program(builds, "peer_offsets", *flags, *sources, "-lpthread")


def gathers(program: Path, ranks: int, case: str) -> int:
    """So often all ranks' words passed by every rank."""
    return int(_said(program, ranks, case)[-1].removesuffix(" gathers"))


def words(program: Path, ranks: int, case: str) -> list[str]:
    """What each rank threw; empty for those that found everything where it is."""
    return _said(program, ranks, case)[:-1]


def _said(program: Path, ranks: int, case: str) -> list[str]:
    done = captured([program, str(ranks), case], ok=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("case", ["few", "many", "nothing", "told", "told wrongly"])
def test_every_transfer_is_found_at_its_other_end(program: Path, ranks: int, case: str) -> None:
    """Protects the places that one-sided transports write to: more transfers than travel at once, too."""
    assert words(program, ranks, case) == [""] * ranks


def test_what_the_steps_tell_is_not_asked_for(program: Path) -> None:
    """Protects the cost of many ranks: one word of each passes by, not the lists of their transfers."""
    assert gathers(program, 5, "told") == 1
    assert gathers(program, 5, "told wrongly") > 1


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("bytes", "transfer 1 from rank 2 to rank 0 is sent with 15 bytes and received with 14"),
        ("too many sends", "transfer 4 from rank 2 to rank 0 is sent but never received"),
        ("too few sends", "transfer 3 from rank 2 to rank 2 is received but never sent"),
        ("no such rank", "there is no rank 3 to send to or receive from: there are 3"),
    ],
)
def test_ends_that_do_not_fit(program: Path, case: str, said: str) -> None:
    """Protects every rank from waiting for transfers that only one side has; all are told the same."""
    found = words(program, 3, case)
    assert len(set(found)) == 1 and said in found[0], found
