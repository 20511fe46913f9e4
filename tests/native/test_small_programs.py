"""Parts of the core that need no rank: its last line, the thread's memory policy, loops of its programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.builds import program
from support.command import captured

from wirespeed.frontend.rank_messages import MessageReader
from wirespeed.job.messages import Note, RankReport

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def ended(native: Path, builds: Path, name: str, *parts: str) -> subprocess.CompletedProcess[str]:
    sources = (HERE / f"{name}.cpp", *(native / part for part in parts))
    built = program(builds, name, "-I", native, *sources, "-ldl")
    return captured([built], timeout=60)


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
