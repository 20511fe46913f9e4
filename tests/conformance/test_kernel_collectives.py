"""Collective operations that the path gpu does whole in its own kernel: each is exact by each protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conformance.test_collectives import NAMES, OURS, exact, told_by
from support.mpis import InstalledMpi
from support.selection import slow_case

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)]

LL, STORES = ("protocol=LL", "threads=16"), ("protocol=stores", "blocks=3", "threads=16")
PULL = ("protocol=pull", "blocks=3", "threads=16")
GRID = ("protocol=LL", "blocks=3", "threads=16")
ODD, BRIEF = "0,6,1000,40002", "1002"
"""No elements, fewer than ranks, counts that leave the last of 16 bytes or of a packet unfilled."""
SUMS = ("allreduce", "reduce", "reducescatter")
EVERY = [
    (ranks, f"gpu:{name}", (*protocol, offset))
    for name in OURS
    for ranks in (2, 3, 4, 5)
    for protocol in (LL, STORES)
    for offset in ("offset=0", "offset=2", "offset=8")
]
"""Ranks, path and options."""


def judged(
    mpi: InstalledMpi,
    ranks: int,
    paths: str,
    options: tuple[str, ...],
    tmp: Path,
    *,
    sizes: str,
    variants: int,
    only: tuple[str, ...] = (),
) -> None:
    """All is exact; each emulated GPU has three blocks of 16 threads in a random order."""
    device = {"WIRESPEED_EMULATED": f"count={ranks},blocks=3,threads=16,seed=1", "ONLY": ",".join(only)}
    more: dict[str, Any] = {"sizes": sizes, "libraries": device | {"COLLECTIVES": str(variants)}}
    messages = told_by(mpi, ranks, "emulated", paths, tmp, *options, **more)
    exact(messages, paths, ranks, only or NAMES)
    in_the_kernel(messages, options[0].partition("=")[2])
    if options[:3] == GRID:
        shared_by_blocks(messages, 3)


def shared_by_blocks(messages: list[dict[str, Any]], blocks: int) -> None:
    """All-reduces had all blocks; what is no exchange with every peer had one."""
    had = {
        pattern: {
            one["details"]["blocks"]
            for one in messages
            if one["kind"] == "entry" and one["pattern"] == pattern and one["bytes"]
        }
        for pattern in ("allreduce", "broadcast", "reduce")
    }
    assert had == {"allreduce": {blocks}, "broadcast": {1}, "reduce": {1}}


def in_the_kernel(messages: list[dict[str, Any]], protocol: str) -> None:
    """All had this protocol, and work was the kernel's."""
    entries = [one for one in messages if one["kind"] == "entry"]
    assert {one["details"]["protocol"] for one in entries if one["bytes"]} <= {protocol}
    for one in entries:
        if one["pattern"] in ("allreduce", "reducescatter", "reduce"):
            assert one["details"]["work"] == "by the same kernel", one


@pytest.mark.parametrize(
    ("ranks", "paths", "options"),
    [
        (2, "gpu:doubling,gpu:direct", (*LL, "offset=2")),
        (2, "gpu:direct,gpu:one-shot", STORES),
        slow_case(3, "gpu:one-shot", STORES),
    ],
)
def test_operations_in_the_kernel(
    mpi: InstalledMpi, ranks: int, paths: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    """Protects what is combined as it arrives: in place or not, odd ends, shares, places by turns."""
    judged(mpi, ranks, paths, options, tmp_path, sizes=BRIEF, variants=2)


@pytest.mark.parametrize(
    ("ranks", "paths", "options", "sizes", "variants"),
    [
        (2, "gpu:doubling,gpu:one-shot", GRID, "8,150,400", 3),
        slow_case(2, "gpu:doubling,gpu:one-shot", GRID, "8,150,384,400", 5),
        slow_case(4, "gpu:direct", GRID, "64,8192", 1),
        slow_case(2, "gpu:direct,gpu:one-shot", (*GRID, "offset=4"), "16,384,400,4096", 5),
        slow_case(5, "gpu:direct", (*GRID, "offset=8"), "80,1280,20480", 1),
        slow_case(8, "gpu:direct", GRID, "64,8192", 1),
    ],
)
def test_an_exchange_of_several_blocks(
    mpi: InstalledMpi,
    ranks: int,
    paths: str,
    options: tuple[str, ...],
    sizes: str,
    variants: int,
    tmp_path: Path,
) -> None:
    """Protects what blocks share: every type and reduction, odd ends, in place, a lane for each peer."""
    judged(mpi, ranks, paths, options, tmp_path, sizes=sizes, variants=variants)


@pytest.mark.parametrize(("ranks", "path", "options"), EVERY)
def test_every_operation_in_the_kernel(
    mpi: InstalledMpi, ranks: int, path: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    """Protects the same for every type, reduction, root, algorithm and number of ranks."""
    judged(mpi, ranks, path, options, tmp_path, sizes=ODD, variants=5)


@pytest.mark.parametrize("fault", ["drop-element", "repeat-element", "swap-elements", "repeat-iteration"])
def test_one_wrong_element_is_found(mpi: InstalledMpi, fault: str, tmp_path: Path) -> None:
    """Protects the check of what the kernel has combined."""
    more: dict[str, Any] = {"sizes": "4096", "libraries": {"COLLECTIVES": "1"}}
    told = told_by(mpi, 2, "emulated", "gpu:ring,gpu:one-shot", tmp_path, f"fault={fault}", **more)
    failures = [one for one in told if one["kind"] == "failure" and one["what"] != "unavailable"]
    assert {one["what"] for one in failures} == {"mismatch"}
    assert {one["pattern"] for one in told if one["kind"] == "entry"} <= {"barrier"}


@pytest.mark.parametrize(
    ("ranks", "offset"),
    [(3, "offset=0"), slow_case(2, "offset=8"), slow_case(4, "offset=2"), slow_case(5, "offset=0")],
)
def test_sums_of_what_lies_at_its_senders(mpi: InstalledMpi, ranks: int, offset: str, tmp_path: Path) -> None:
    """Protects operations that fetch: nothing is overwritten before all have read it, in place or not."""
    device = {"WIRESPEED_EMULATED": f"count={ranks},blocks=3,threads=16,seed=1"}
    more: dict[str, Any] = {"sizes": "96,4800,40002", "libraries": device | {"COLLECTIVES": "2"}}
    messages = told_by(mpi, ranks, "emulated", "gpu:direct,gpu:ring", tmp_path, *PULL, offset, **more)
    exact(messages, "gpu:direct,gpu:ring", ranks)
    fetched = {
        (one["pattern"], one["path"])
        for one in messages
        if one["kind"] == "entry" and one["details"]["protocol"] == "pull"
    }
    assert fetched >= {(name, "gpu:direct") for name in ("allreduce", "reducescatter", "allgather")}


@pytest.mark.parametrize(
    ("ranks", "paths", "size"),
    [
        (3, "gpu:ring", 3 * ((1 << 20) + 1024)),
        slow_case(2, "gpu:ring,gpu:direct", 2 * ((1 << 20) + 400) + 12),
        slow_case(3, "gpu:ring,gpu:doubling", 3 * ((1 << 20) + 400) + 12),
        slow_case(4, "gpu:ring,gpu:direct", 4 * ((1 << 20) + 1024)),
    ],
)
def test_sums_that_are_made_while_they_are_sent(
    mpi: InstalledMpi, ranks: int, paths: str, size: int, tmp_path: Path
) -> None:
    """Protects rings by stores: nothing that a block still adds is overwritten, in place or not.

    Of long messages a block waits for its own share alone; parts equally long and not, odd ends, two ranks,
    which need no word that a place is free. The thorough cases do all other operations, too.
    """
    only = SUMS if paths == "gpu:ring" else ()
    sizes = f"1002,{size}"
    judged(*(mpi, ranks, paths, (*STORES, "offset=0"), tmp_path), sizes=sizes, variants=2, only=only)


def test_ranks_without_a_part_try_what_the_others_try(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects from a hang: of two elements on three ranks one has none, and its messages all are equal."""
    device = {"WIRESPEED_EMULATED": "count=3,blocks=2,threads=256", "COLLECTIVES": "1"}
    messages = told_by(mpi, 3, "emulated", "gpu:direct", tmp_path, sizes="8", libraries=device)
    exact(messages, "gpu:direct", 3)
