"""Parts of the core that need no rank, in programs of their own: ranks are threads where there are any."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.builds import program
from support.command import captured

from wirespeed.frontend.rank_messages import MessageReader
from wirespeed.job.messages import Note, RankReport

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover", "-lpthread")


def ended(
    native: Path, builds: Path, name: str, *parts: str, words: Sequence[str] = (), flags: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """The program of that name and these parts of the core, which was told these words."""
    sources = (HERE / f"{name}.cpp", *(native / part for part in parts))
    built = program(builds, name, *flags, "-I", native, *sources, "-ldl")
    return captured([built, *words], timeout=120)


def test_a_long_name_leaves_a_report_in_one_piece(native: Path, builds: Path) -> None:
    """Protects a dying rank's words: room for its stack was counted below zero, and ranks' lines mixed.

    Slurm cuts lines of 1,024 bytes; what is cut into parts is read as if it had been one line.
    """
    parts = ("measure/report_line.cpp", "measure/stack.cpp", "core/helpers.cpp")
    done = ended(native, builds, "report_line", *parts)
    assert done.returncode == 0, done.stderr
    *lengths, short = done.stdout.split("\n")[:6]
    for whole, *lines in (map(int, line.split()) for line in lengths):
        assert 0 < whole <= 4096 and all(0 < length <= 1024 for length in lines) and sum(lines) > whole
    reader = MessageReader()
    said = reader.read(short)[1]
    assert isinstance(said, RankReport) and said.kind == "stuck"
    last = [reader.read(line)[1] for line in done.stdout.split("\n")[6:-1]]
    assert len(last) > 1 and last == [*[None] * (len(last) - 1), Note(2000 * "é")]


def test_a_user_s_memory_policy_comes_back(native: Path, builds: Path) -> None:
    """Protects `numactl --preferred=1 wirespeed copy --from-node 0`: what followed ran without the policy."""
    done = ended(native, builds, "numa_policy", "transports/copy/numa.cpp")
    if done.returncode == 77:
        pytest.skip("this kernel lets nobody set a memory policy")
    assert done.returncode == 0, done.stdout


def test_chains_meet_and_streams_are_waited_for(native: Path, builds: Path) -> None:
    """Protects samples from the time in which ranks meet, from spinning, and from a false clock of events."""
    parts = ("measure/program.cpp", "measure/clock.cpp", "measure/page.cpp")
    loops = ("transports/work/chain.cpp", "transports/work/stream_batch.cpp")
    done = ended(native, builds, "loops", *parts, *loops)
    assert (done.returncode, done.stdout) == (0, "")


def test_iterations_are_cut_into_short_stretches(native: Path, builds: Path) -> None:
    """Protects a GPU's kernel from being taken to hang: a prime number of iterations gave no sign of life."""
    done = ended(native, builds, "stretches")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow(after=1)
def test_the_timed_loop(native: Path, builds: Path) -> None:
    """Protects every figure: stamps are made up, and what the loop makes of them is compared."""
    done = ended(native, builds, "timed_loop", "measure/timed_loop.cpp", "measure/clock.cpp")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("ranks", ["2", "5"])
@pytest.mark.parametrize("case", ["meet", "wrap", "notes", "agreed notes", "barriers", "no memory", "crowds"])
def test_a_start_board(case: str, ranks: str, native: Path, builds: Path) -> None:
    """Protects short figures: nobody starts before the last has come, all at one moment, and notes are right.

    Also by barriers, with counters that wrap, after ranks have lost patience, where no memory can be
    shared, and where ranks are bound to CPUs.
    """
    parts = [f"transports/local/{name}.cpp" for name in ("start_board", "segment", "exchange")]
    parts += ["transports/align.cpp", "measure/page.cpp"]
    done = ended(native, builds, "start_board", *parts, words=(ranks, case), flags=SANITIZED)
    assert (done.returncode, done.stdout) == (0, "as it should be\n"), done.stderr


Offsets = Callable[[int, str], list[str]]


@pytest.fixture
def offsets(native: Path, builds: Path) -> Offsets:
    """What each rank threw, empty for those that found everything where it is; and "N gathers".

    So often all ranks' words passed by every rank.
    """
    parts = ("transports/local/peer_offsets.cpp", "transports/local/exchange.cpp")

    def said(ranks: int, case: str) -> list[str]:
        done = ended(native, builds, "peer_offsets", *parts, words=(str(ranks), case), flags=SANITIZED)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return said


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("case", ["few", "many", "nothing", "told", "told wrongly"])
def test_every_transfer_is_found_at_its_other_end(offsets: Offsets, ranks: int, case: str) -> None:
    """Protects the places that one-sided transports write to: more transfers than travel at once, too.

    What the steps tell is not asked for: one word of each rank passes by, not the lists of their transfers.
    """
    *words, gathers = offsets(ranks, case)
    assert words == [""] * ranks
    assert gathers == "1 gathers" or case != "told"
    assert gathers != "1 gathers" or case != "told wrongly"


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("bytes", "transfer 1 from rank 2 to rank 0 is sent with 15 bytes and received with 14"),
        ("too many sends", "transfer 4 from rank 2 to rank 0 is sent but never received"),
        ("too few sends", "transfer 3 from rank 2 to rank 2 is received but never sent"),
        ("no such rank", "there is no rank 3 to send to or receive from: there are 3"),
    ],
)
def test_ends_that_do_not_fit(offsets: Offsets, case: str, said: str) -> None:
    """Protects every rank from waiting for transfers that only one side has; all are told the same."""
    *found, _ = offsets(3, case)
    assert len(set(found)) == 1 and said in found[0], found
