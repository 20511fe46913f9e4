"""Parts of the core that need no rank: its last line, the thread's memory policy, loops of its programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from wirespeed.frontend.rank_messages import MessageReader
from wirespeed.job.messages import Note, RankReport

HERE = Path(__file__).parent


def ended(cxx: str, native: Path, folder: Path, name: str, *parts: str) -> subprocess.CompletedProcess[str]:
    sources = [HERE / f"{name}.cpp", *(native / part for part in parts)]
    command = [cxx, "-std=c++20", "-I", str(native), *map(str, sources), "-ldl", "-o", str(folder / name)]
    subprocess.run(command, check=True)
    return subprocess.run([folder / name], capture_output=True, text=True, check=False, timeout=60)


def test_a_long_name_leaves_a_report_in_one_piece(cxx: str, native: Path, tmp_path: Path) -> None:
    """Protects a dying rank's words: room for its stack was counted below zero, and ranks' lines mixed.

    Slurm cuts lines of 1,024 bytes; what is cut into parts is read as if it had been one line.
    """
    parts = ("measure/report_line.cpp", "measure/stack.cpp", "core/helpers.cpp")
    done = ended(cxx, native, tmp_path, "report_line", *parts)
    assert done.returncode == 0, done.stderr
    *lengths, short = done.stdout.split("\n")[:6]
    for whole, *lines in (map(int, line.split()) for line in lengths):
        assert 0 < whole <= 4096 and all(0 < length <= 1024 for length in lines) and sum(lines) > whole
    reader = MessageReader()
    said = reader.read(short)[1]
    assert isinstance(said, RankReport) and said.kind == "stuck"
    last = [reader.read(line)[1] for line in done.stdout.split("\n")[6:-1]]
    assert len(last) > 1 and last == [*[None] * (len(last) - 1), Note(2000 * "é")]


def test_a_user_s_memory_policy_comes_back(cxx: str, native: Path, tmp_path: Path) -> None:
    """Protects `numactl --preferred=1 wirespeed copy --from-node 0`: what followed ran without the policy."""
    done = ended(cxx, native, tmp_path, "numa_policy", "transports/copy/numa.cpp")
    if done.returncode == 77:
        pytest.skip("this kernel lets nobody set a memory policy")
    assert done.returncode == 0, done.stdout


def test_chains_meet_and_streams_are_waited_for(cxx: str, native: Path, tmp_path: Path) -> None:
    """Protects samples from the time in which ranks meet, from spinning, and from a false clock of events."""
    parts = ("measure/program.cpp", "measure/clock.cpp", "measure/page.cpp")
    loops = ("transports/work/chain.cpp", "transports/work/stream_batch.cpp")
    done = ended(cxx, native, tmp_path, "loops", *parts, *loops)
    assert (done.returncode, done.stdout) == (0, "")
