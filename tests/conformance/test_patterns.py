"""Every pattern over every path and device moves every byte; a lie in any of them is found out."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support import mpis
from support.command import Measure, captured
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.shim import fake_nvshmem
from support.stand_ins import fake_nccl

from wirespeed.paths import find_path
from wirespeed.patterns import all_patterns
from wirespeed.patterns.collectives.operation import CollectivePattern

pytestmark = pytest.mark.slow(after=1)

MESSAGES = {
    "host": "host,rma-host",
    "emulated": "host,staged,staged-pinned,staged-pipelined,ipc-write,ipc-read,gpu",
}
OTHERS = {name for name, pattern in all_patterns().items() if not isinstance(pattern, CollectivePattern)}
"""Collective operations are in test_collectives.py."""
ONE_SIDED = {name for name, pattern in all_patterns().items() if pattern.kind.one_sided}
"""Over few paths only: in test_onesided.py."""
NO_FETCH_ADD = "fetch-and-add is not offered by NVSHMEM's host library, only in kernels"
COPIES = {
    "host": "h2h",
    "emulated": "h2d-pageable,h2d-pinned,h2d-kernel,h2d-managed,d2h-pageable,d2h-pinned,d2h-kernel,d2d,h2h",
}


def played(
    mpi: InstalledMpi,
    ranks: int,
    device: str,
    paths: str,
    tmp: Path,
    *fault: str,
    sizes: str = "0,13,65537",
    libraries: dict[str, str] | None = None,
) -> Any:
    """What rank 0 was told of all patterns over the paths."""
    file = tmp / "mine.csv"
    file.write_text("step,from,to,bytes\n0,0,1,4097\n0,1,0,64K\n0,0,1,5\n1,1,0,7\n")
    variables = {"WIRESPEED_EMULATED": "count=8", "CUSTOM_FILE": str(file), **(libraries or {})}
    return mpi.told(ranks, "all_patterns.py", device, sizes, paths, *fault, **variables)


def judged(told: list[dict[str, Any]], paths: str) -> None:
    """Every pattern gave a figure at every size on every path, whose every byte was checked."""
    failures = [message["text"] for message in told if message["kind"] == "failure"]
    assert not [text for text in failures if text != NO_FETCH_ADD]
    begun = {(m["pattern"], m["path"]) for m in told if m["kind"] == "begin"}
    entries = [m for m in told if m["kind"] == "entry"]
    assert {(m["pattern"], m["path"]) for m in entries} == begun
    assert {path for _, path in begun} == set(paths.split(","))
    for entry in entries:
        checked = entry["checked"]
        assert checked["iterations"] >= 1 and checked["batches"] == checked["of_batches"] >= 1
        assert entry["seconds"]["median"] > 0
        assert ":" in entry["definition"], "what the seconds are called, then what they are"
        assert entry["bandwidth_bytes"] >= 0 and entry["samples"] >= 1


@pytest.mark.parametrize(
    ("ranks", "device", "mpi"),
    [
        *((2, device, "openmpi") for device in ("host", "emulated")),
        (2, "host", "mpich"),
        slow_case(2, "emulated", "mpich"),
        (4, "host", "openmpi"),
        (4, "emulated", "openmpi"),
        slow_case(4, "host", "mpich"),
        slow_case(4, "emulated", "mpich"),
    ],
    indirect=["mpi"],
)
def test_every_pattern_on_every_path(mpi: InstalledMpi, device: str, ranks: int, tmp_path: Path) -> None:
    """Protects pattern x transport x device: two ranks for those that take two, four for all others."""
    paths = f"{MESSAGES[device]},{COPIES[device]}"
    sizes = "0,13,65537" if device == "host" else "13,65537"
    if mpi.name == "mpich" or (ranks, device) == (4, "emulated"):
        # More ranks than cores take their time, above all MPICH's, which never yield. The last path asks
        # most of an MPI.
        most = {"host": ("host", "rma-host"), "emulated": ("staged", "staged-pipelined")}[device]
        paths, sizes = ",".join(most if ranks == 2 else most[-1:]), "65537"
    told = played(mpi, ranks, device, paths, tmp_path, sizes=sizes)
    judged(told, paths)
    seen = {m["pattern"] for m in told if m["kind"] == "begin"}
    two = {name for name, pattern in all_patterns().items() if not pattern.rank_rule.many}
    within = {name for name, pattern in all_patterns().items() if pattern.kind.intra_rank}
    assert seen - ONE_SIDED == OTHERS - ONE_SIDED - (two if ranks != 2 else set()) - (
        set() if any(find_path(name).intra_rank for name in paths.split(",")) else within
    )


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize(
    ("ranks", "paths"),
    [
        slow_case(2, "nccl,nccl-stream,shmem"),
        (3, "nccl,nccl-stream"),
        (4, "shmem"),
        slow_case(4, "nccl,nccl-stream"),
    ],
)
def test_every_pattern_over_stand_ins_of_libraries(
    mpi: InstalledMpi, ranks: int, paths: str, builds: Path, tmp_path: Path
) -> None:
    """Protects pattern x library: windows, groups, rings and halos over NCCL and NVSHMEM.

    The stand-in of NCCL spins: four of its ranks take their time.
    """
    libraries = fake_nccl(builds) | {"PYTHONPATH": str(fake_nvshmem(builds))}
    told = played(mpi, ranks, "emulated", paths, tmp_path, sizes="65537", libraries=libraries)
    judged(told, paths)
    seen = {(m["pattern"], m["path"]) for m in told if m["kind"] == "begin" and m["pattern"] not in ONE_SIDED}
    between = {
        name
        for name, pattern in all_patterns().items()
        if name in OTHERS - ONE_SIDED
        and not pattern.kind.intra_rank
        and (pattern.rank_rule.many or pattern.rank_rule.exact == ranks)
        # Of pairs, the last rank would have none.
        and (name != "stream" or ranks % 2 == 0)
    }
    assert seen == {(name, path) for name in between for path in paths.split(",")}


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("fault", ["drop-byte", slow_case("drop-iteration"), slow_case("batch-damaged")])
def test_a_lie_is_found_out_in_every_pattern(mpi: InstalledMpi, fault: str, tmp_path: Path) -> None:
    """Protects the checks of many ranks, and the closed form of what is summed on the way."""
    told = played(mpi, 4, "emulated", "host,gpu,h2d-pinned", tmp_path, f"fault={fault}", sizes="4096")
    if fault == "drop-byte":
        # The last byte of a double is the same before and after most sums: nothing is lost with it.
        played_in = [message["pattern"] for message in told if message["kind"] == "begin"]
        turns = [number for number, message in enumerate(told) if message["kind"] == "begin"]
        ends = [*turns[1:], len(told)]
        told = [
            message
            for name, start, end in zip(played_in, turns, ends, strict=True)
            for message in told[start:end]
            if name != "ring"
        ]
    failures = [message for message in told if message["kind"] == "failure"]
    assert not [message for message in told if message["kind"] == "entry"]
    begun = [message for message in told if message["kind"] == "begin"]
    assert len(failures) == len(begun)
    assert {failure["what"] for failure in failures} == {"mismatch"}


@pytest.mark.slow
# MPICH's ranks spin, and so many of them leave no other test a core.
@pytest.mark.usefixtures("quiet_machine")
@pytest.mark.parametrize(
    ("mpi", "ranks", "command"),
    [
        ("openmpi", 16, ("groups", "--group", "8")),
        ("mpich", 16, ("groups", "--group", "8")),
        ("mpich", 24, ("pairs", "--sample", "2")),
    ],
    indirect=["mpi"],
)
def test_many_more_ranks_than_cores(
    mpi: InstalledMpi, ranks: int, command: tuple[str, ...], measure: Measure
) -> None:
    """Protects oversubscribed nodes: many more ranks than cores come to an end; each team has its figure."""
    done = measure(
        *command,
        f"--ranks {ranks} --paths host --sizes 1K --loops 2 --warmup 0 --timeout 120 --oversubscribe",
        mpi=mpi,
    ).ok()
    (entry,) = done.entries
    assert len(entry["teams"]) == {"groups": ranks // 8, "pairs": 2 * ranks // 2}[command[0]]
    slowest = max(member["seconds"]["median"] for member in entry["teams"])
    assert entry["seconds"]["median"] == slowest


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_the_slowest_of_two_groups_leaves_room_for_chance(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects from a slowest group that only looks slower: the figure's interval holds for both."""
    done = measure(
        "groups --group 2 --ranks 4 --paths host --device cpu --sizes 1K --oversubscribe", mpi=mpi
    ).ok()
    (entry,) = done.entries
    own = max((team["seconds"] for team in entry["teams"]), key=lambda times: times["median"])
    seconds = entry["seconds"]
    assert seconds["high"] == own["high"] and seconds["low"] < own["low"]
    assert entry["precision"] == pytest.approx((seconds["high"] - seconds["low"]) / 2 / seconds["median"])


@pytest.mark.slow
def test_a_file_is_all_that_a_new_pattern_takes(tmp_path: Path) -> None:
    """Protects CONTRIBUTING's promise, with its own example: command, help, tests, tables, from one file."""
    package = Path(importlib.import_module("wirespeed").__file__ or "").parent
    copy = tmp_path / "site" / "wirespeed"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "class Shift" in block]
    (copy / "patterns" / "shift.py").write_text(example)
    environment = {**os.environ, "PYTHONPATH": str(copy.parent), "WIRESPEED_EMULATED": "count=4"}
    mpi = mpis.installed("mpich")

    def said(*words: str | Path) -> str:
        done = captured([sys.executable, "-m", *map(str, words)], env=environment, cwd=tmp_path, ok=True)
        return done.stdout

    assert "shift" in said("wirespeed.cli", "help", "all")
    assert "--by" in said("wirespeed.cli", "shift", "--help")
    words = ("--ranks", "3", "--by", "2", "--sizes", "0,4097", "--max-time", "0.01", "--paths", "host,staged")
    where = ("--device", "emulated", "--mpi", mpi.mpiexec, "--out", "r.jsonl")
    table = said("wirespeed.cli", "shift", *words, *where)
    assert "shift: until the slowest rank has its message" in table
    assert "shift on " in said("wirespeed.cli", "show", "r.jsonl")
    tests = Path(__file__).parents[1] / "unit" / "test_patterns.py"
    assert " passed" in said(*("pytest", "-q", tests, "-k", "shift", "--rootdir", tests.parents[2]))


OF_SUMS = "8,24,4096,40000"
"""One packet, part of a block's share, and messages that are shared by blocks, or would be."""


@pytest.mark.parametrize("ranks", [slow_case(2), 3])
@pytest.mark.parametrize(("protocol", "offset"), [("LL", 3), ("stores", 0), ("stores", 8), ("pull", 0)])
def test_every_sum_is_right(protocol: str, offset: int, ranks: int, measure: Measure) -> None:
    """Protects what is put off until a message is sent on, early invitations, and shares of blocks.

    Two ranks need no invitations; three do. Places off 16 bytes leave no shares: one block does it all.
    """
    done = measure(
        f"ring --ranks {ranks} --device emulated --paths gpu --sizes {OF_SUMS} --max-time 0.01 --test",
        f"protocol={protocol} --test offset={offset} --test blocks=3 --test threads=16",
        environment={"WIRESPEED_EMULATED": f"count={ranks},blocks=3,threads=16"},
    ).ok()
    assert [entry["bytes"] for entry in done.entries] == [8, 24, 4096, 40000]
    for entry in done.entries:
        assert entry["details"]["work"] == "by the same kernel"
        assert entry["checked"]["bytes"] > 0
    in_shares = offset % 16 == 0
    chosen = done.entries[-1]["details"]
    if protocol != "LL" and in_shares:
        assert (chosen["protocol"], chosen["blocks"]) == (protocol, 3)
    if protocol == "stores" and not in_shares:
        assert chosen["blocks"] == 1


@pytest.mark.slow
def test_a_long_sum_off_16_bytes_is_done_by_a_single_block(measure: Measure) -> None:
    """Protects sums of more than a block moves at most where others could help it: here none can."""
    done = measure(
        *("ring --ranks 2 --device emulated --paths gpu --sizes", str((16 << 20) + 8)),
        "--loops 1 --warmup 0",
        environment={"WIRESPEED_EMULATED": "count=2,blocks=4,threads=64,seed=1"},
    ).ok()
    (entry,) = done.entries
    assert entry["details"]["blocks"] == 1 and entry["checked"]["bytes"] > 0
