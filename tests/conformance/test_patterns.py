"""Every pattern over every path and device moves every byte; a lie in any of them is found out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import wirespeed
from support.mpis import InstalledMpi

from wirespeed.patterns import all_patterns

SCRIPT = Path(__file__).parents[1] / "support" / "all_patterns.py"
MESSAGES = {
    "host": "host,rma-host",
    "emulated": "host,staged,staged-pinned,staged-pipelined,ipc-write,ipc-read,gpu",
}
COPIES = {"host": "h2h", "emulated": "h2d-pageable,h2d-pinned,h2d-managed,d2h-pageable,d2h-pinned,d2d,h2h"}


def played(mpi: InstalledMpi, ranks: int, device: str, paths: str, tmp: Path, *lie: str, sizes: str = "0,13,65537") -> Any:
    """What rank 0 was told of all patterns over the paths."""
    file = tmp / "mine.csv"
    file.write_text("step,from,to,bytes\n0,0,1,4097\n0,1,0,64K\n0,0,1,5\n1,1,0,7\n")
    done = subprocess.run(
        mpi.command(ranks, sys.executable, SCRIPT, device, sizes, paths, *lie),
        env={**mpi.environment(), "WIRESPEED_EMULATED": "count=8", "CUSTOM_FILE": str(file)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def judged(told: list[dict[str, Any]], paths: str) -> None:
    """Every pattern gave a figure at every size on every path, whose every byte was checked."""
    assert not [message for message in told if message["kind"] == "failure"]
    begun = {(m["pattern"], m["path"]) for m in told if m["kind"] == "begin"}
    entries = [m for m in told if m["kind"] == "entry"]
    assert {(m["pattern"], m["path"]) for m in entries} == begun
    assert {path for _, path in begun} <= set(paths.split(","))
    for entry in entries:
        assert entry["checked"]["rounds"] >= 2
        assert entry["seconds"]["median"] > 0
        assert ":" in entry["definition"], "what the seconds are called, then what they are"
        assert entry["moved"] == 0 or entry["bytes_per_second"]["median"] == pytest.approx(
            entry["moved"] / entry["seconds"]["median"]
        )


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
@pytest.mark.parametrize("device", ["host", "emulated"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_every_pattern_on_every_path(mpi: InstalledMpi, device: str, ranks: int, tmp_path: Path) -> None:
    """Protects pattern x transport x device: two ranks for those that take two, four for all others."""
    if (device, ranks) == ("emulated", 2) and mpi.name == "mpich":
        pytest.skip("the paths of emulated GPUs are MPI's affair in host and staged only: one MPI for two ranks")
    paths = f"{MESSAGES[device]},{COPIES[device]}"
    told = played(mpi, ranks, device, paths, tmp_path)
    judged(told, paths)
    seen = {m["pattern"] for m in told if m["kind"] == "begin"}
    two = {name for name, pattern in all_patterns().items() if pattern.ranks == 2}
    assert seen == set(all_patterns()) - (two if ranks != 2 else set())


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
@pytest.mark.parametrize("lie", ["drop-byte", "drop-round"])
def test_a_lie_is_found_out_in_every_pattern(mpi: InstalledMpi, lie: str, tmp_path: Path) -> None:
    """Protects the checks of many ranks, and the closed form of what is summed on the way."""
    told = played(mpi, 4, "emulated", "host,gpu,h2d-pinned", tmp_path, f"lie={lie}", sizes="4096")
    failures = [message for message in told if message["kind"] == "failure"]
    assert not [message for message in told if message["kind"] == "entry"]
    begun = [message for message in told if message["kind"] == "begin"]
    assert len(failures) == len(begun)
    assert {failure["what"] for failure in failures} == {"mismatch"}


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
@pytest.mark.parametrize("command", [("groups", "--group", "8"), ("pairs", "--sample", "6")], ids=lambda c: c[0])
def test_64_ranks_on_two_cores(mpi: InstalledMpi, command: tuple[str, ...], tmp_path: Path) -> None:
    """Protects oversubscribed nodes: many more ranks than cores come to an end, with a figure of each team."""
    done = wirespeed(
        *(*command, "--ranks", "64", "--mpi", mpi.mpiexec, "--paths", "host", "--sizes", "1K"),
        *("--loops", "2", "--warmup", "0", "--timeout", "120"),
        out=tmp_path / "r.jsonl",
        timeout=240,
    )
    assert done.code == 0, done.err + done.out
    (entry,) = done.entries
    assert len(entry["members"]) == {"groups": 8, "pairs": 6 * 32}[command[0]]
    slowest = max(member["seconds"]["median"] for member in entry["members"])
    assert entry["seconds"]["median"] == slowest
