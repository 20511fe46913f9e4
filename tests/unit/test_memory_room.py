"""How large buffers may be, by arithmetic from a planted amount of free memory."""

from __future__ import annotations

import resource
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wirespeed.frontend import order
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.order import with_room
from wirespeed.host import memory
from wirespeed.host.cgroup import memory_left
from wirespeed.job.plan import Plan
from wirespeed.patterns import Shape
from wirespeed.patterns.rules import SizeRule
from wirespeed.rank.context import Unusable
from wirespeed.rank.path.buffers import Buffers, buffer_room
from wirespeed.units import parse_sizes

GIB = 1 << 30
ALL_PARTS = {"host": 2, "emulated": 4}
"""Buffers of a rank in host memory: two of the device, if that is made of it, and two that stage them."""


@pytest.fixture(autouse=True)
def _free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 64 * GIB)


@pytest.mark.parametrize("ranks", [1, 2, 8])
@pytest.mark.parametrize("kind", ALL_PARTS)
def test_all_buffers_of_all_ranks_leave_some_memory_free(kind: str, ranks: int) -> None:
    """Protects a machine from running out of memory: emulated device memory is host memory."""
    room = memory.room_for_buffers(ranks, 0, emulated=kind == "emulated")
    assert room is not None
    taken = ranks * ALL_PARTS[kind] * room
    assert 0.89 * 64 * GIB < taken <= memory.HOST_SHARE * 64 * GIB


@pytest.mark.parametrize(("kind", "largest"), [("host", 8), ("emulated", 4)])
def test_front_end_and_ranks_agree(kind: str, largest: int) -> None:
    """Protects `--sizes 8:64G`: the sizes that fit are measured, the others get a line."""
    gpus = [{"kind": kind, "bytes": 0}] * 2
    found = Machine(kind, gpus, [], {})
    plan = Plan(ranks=2, sizes=parse_sizes("1:1G"))
    room = order._room(plan, found)
    device: Any = SimpleNamespace(identity=lambda device: gpus[0])
    comm: Any = SimpleNamespace(minimum=lambda mine: mine, rank=0, maximum=lambda mine: mine)
    assert room == buffer_room(device, comm, cast("Any", None), 2)
    assert room is not None and largest * GIB <= room < 2 * largest * GIB
    assert with_room(plan, room) == (plan, None), "of the usual sizes all fit"
    context: Any = SimpleNamespace(
        core=SimpleNamespace(lib=None),
        comm=comm,
        offset=0,
        shape=Shape(2, memory=room),
        pattern=SimpleNamespace(extent=lambda rank, size: size, size_rule=SizeRule()),
    )
    buffers = Buffers(context, cast("Any", None), "device")
    sizes = parse_sizes("8:64G")
    fits = [size for size in sizes if not _refused(buffers, size, sizes)]
    assert fits[-1] == largest * GIB and fits == [size for size in sizes if size <= largest * GIB]


@pytest.mark.parametrize("ranks", [2, 8])
def test_each_rank_has_an_address_space_of_its_own(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from sizes that no rank under `ulimit -v` can allocate."""
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (2 * GIB, 2 * GIB))
    room = memory.room_for_buffers(ranks, 0)
    assert room is not None and GIB / 2 < 2 * room < 1.5 * GIB
    assert memory.room_for_buffers(ranks, 0, emulated=True) == room // 2


@pytest.mark.parametrize(
    ("line", "folder", "files"),
    [
        ("0::/job/step", "", {"memory.max": 800, "memory.current": 700}),
        ("4:memory:/job/step", "memory", {"memory.limit_in_bytes": 800, "memory.usage_in_bytes": 700}),
    ],
    ids=["version 2", "version 1"],
)
def test_a_batch_system_s_limit_counts(line: str, folder: str, files: dict[str, int], tmp_path: Path) -> None:
    """Protects a job from being killed: its limit is that of a group above the process's own."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(line + "\n")
    group = tmp_path / "sys/fs/cgroup" / folder / "job"
    (group / "step").mkdir(parents=True)
    assert memory_left(tmp_path) is None
    for name, value in files.items():
        (group / name).write_text(f"{value}\n")
    total = "total_" if folder else ""
    (group / "memory.stat").write_text(f"anon 650\n{total}inactive_file 50\n")
    assert memory_left(tmp_path) == 150, "what the page cache has can be had"
    (group / "step" / next(iter(files))).write_text("max\n")
    assert memory_left(tmp_path) == 150


def _refused(buffers: Buffers, size: int, sizes: tuple[int, ...]) -> bool:
    try:
        capacities = buffers._capacities(size, sizes, size)
    except Unusable as why:
        assert "and there is free memory for two of" in str(why)
        return True
    # No larger buffer is tried for what is to follow.
    assert max(capacities) <= buffers._context.shape.memory  # type: ignore[operator]
    return False
