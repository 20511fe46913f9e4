"""Which CPUs ranks get that nobody has bound."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import captured
from support.fake_machine import pci_device
from support.golden import Golden

from wirespeed.host.pci_topology import local_cpus
from wirespeed.rank.join import pinning
from wirespeed.rank.join.pinning import cores_of, pin, shares


def test_threads_of_a_core_stay_together(tmp_path: Path) -> None:
    """Protects ranks from two hardware threads of one core, which are half as fast."""
    for cpu in range(8):
        (tmp_path / str(cpu)).write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    there = str(tmp_path / "{}")
    assert cores_of(range(8), there) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert cores_of([1, 2, 5], there) == [[1, 5], [2]]
    assert cores_of([9, 11], there) == [[9], [11]]


@pytest.mark.parametrize(
    ("ranks", "whole", "parts"),
    [
        (2, True, [[0, 4], [1, 5]]),
        (2, False, [[0, 4, 1, 5], [2, 6, 3, 7]]),
        (3, False, [[0, 4], [1, 5], [2, 6]]),
        (5, True, []),
    ],
)
def test_each_rank_has_cores_of_its_own(ranks: int, whole: bool, parts: list[list[int]]) -> None:
    """Protects from 60 us for 8 B between two ranks that the kernel put on one CPU."""
    assert shares([[0, 4], [1, 5], [2, 6], [3, 7]], ranks, whole_cores=whole) == parts


PLACES = """
import os
from wirespeed.rank.join.pinning import place
place(tuple(sorted(os.sched_getaffinity(0))), 1, {ranks}, whole_cores=True)
print(len(os.sched_getaffinity(0)))
"""


@pytest.mark.parametrize("ranks", [1, 1 << 20])
def test_a_rank_takes_its_share(ranks: int) -> None:
    """Protects two ranks from one CPU while there are others, and ranks that are too many from failing."""
    code = PLACES.replace("{ranks}", str(ranks))
    done = captured([sys.executable, "-c", code], ok=True)
    cores = cores_of(sorted(os.sched_getaffinity(0)))
    assert int(done.stdout) == (len(cores[0]) if ranks == 1 else sum(map(len, cores)))


SOCKETS = [[0, 1, 2, 3], [4, 5, 6, 7]]
EIGHT = [*range(8)]


class Ranks:
    """The world of one rank of a host, as the others told of theirs."""

    def __init__(self, rank: int, *others: tuple[str, list[int], list[int]]) -> None:
        self.rank, self.size, self._others = rank, len(others), others

    def everyone(self, value: Any) -> list[Any]:
        if not isinstance(value, tuple):
            return [value] * self.size
        assert value == self._others[self.rank]
        return [*self._others]


def pinned(
    monkeypatch: pytest.MonkeyPatch, cpus: list[list[int]], near: list[list[int]], *, gpus: bool = True
) -> tuple[list[list[int]], set[str | None]]:
    """Where ranks end that may run on `cpus`, and whose GPUs have `near`; what is said of it."""
    host, at = os.uname().nodename, [{*own} for own in cpus]
    monkeypatch.setattr(pinning, "cores_of", lambda cpus: [[cpu] for cpu in cpus])
    others = [(host, own, local) for own, local in zip(cpus, near, strict=True)]
    said = set()
    for rank, own in enumerate(cpus):

        def moved(before: set[int], after: set[int], rank: int = rank) -> None:
            assert before == at[rank]
            at[rank] = after

        monkeypatch.setattr(pinning, "move_threads", moved)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, own=own: {*own})
        said.add(pin(Ranks(rank, *others), near[rank], whole_cores=not gpus))  # type: ignore[arg-type]
    return [sorted(own) for own in at], said


SITUATIONS: dict[str, tuple[list[list[int]], list[list[int]]]] = {
    "two GPUs of one socket": ([EIGHT] * 2, [SOCKETS[0]] * 2),
    "the GPU of rank 0 is at the other socket": ([EIGHT] * 2, SOCKETS[::-1]),
    "two GPUs of each socket": ([EIGHT] * 4, SOCKETS * 2),
    "not known of one": ([EIGHT] * 2, [SOCKETS[1], []]),
    "not known": ([EIGHT] * 2, [[], []]),
    "near all CPUs": ([EIGHT] * 2, [EIGHT] * 2),
    "overlapping": ([EIGHT] * 2, [EIGHT, SOCKETS[0]]),
    "too few CPUs near the GPUs": ([EIGHT] * 2, [[7], [7]]),
    "bound by the user": ([[0, 1], [6, 7]], [[], []]),
    "fewer cores than ranks": ([[2, 3]] * 3, [[]] * 3),
    "one core, which is near": ([[2]] * 2, [[2]] * 2),
    "some are shared": ([[0, 1], [0, 1, 2]], [[]] * 2),
}


def test_where_ranks_end(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects ranks from the other socket, from each other's CPUs, and from meeting without a word."""
    told = {}
    for title, (cpus, near) in SITUATIONS.items():
        for what, gpus in (("GPUs", True), ("CPUs, a core each", False)):
            parts, said = pinned(monkeypatch, cpus, near, gpus=gpus)
            words = "; ".join(str(one) for one in said).replace(os.uname().nodename, "n1")
            told[f"{title}: messages of {what}"] = f"{parts}\n{words}"
    golden("ranks/pinned", told)


def test_cpus_near_a_gpu(tmp_path: Path) -> None:
    """Protects from another device's CPUs, and a machine without sysfs from a trace."""
    pci_device(tmp_path, "0000:17:00.0", 0, "0-3,8-11")
    assert local_cpus("0000:17:00.0", tmp_path) == (0, 1, 2, 3, 8, 9, 10, 11)
    assert local_cpus("0000:AA:00.0", tmp_path) == local_cpus("none", tmp_path) == ()


MOVES = """
import os, threading
from wirespeed.host.process import move_threads
every, over = os.sched_getaffinity(0), threading.Event()
def runs(*cpus):
    if cpus: os.sched_setaffinity(0, cpus)
    ready.release(); over.wait()
ready = threading.Semaphore(0)
threads = [threading.Thread(target=runs, args=cpus) for cpus in ((), (min(every),))]
for thread in threads: thread.start(); ready.acquire()
move_threads(every, {max(every)})
print(*[sorted(os.sched_getaffinity(id)) for id in (0, *(thread.native_id for thread in threads))])
print([max(every)], [max(every)], [min(every)])
over.set()
"""


def test_threads_that_run_already_move_too() -> None:
    """Protects a driver's threads, which exist once a device is open; those that chose a CPU stay there."""
    done = captured([sys.executable, "-c", MOVES], ok=True)
    at, expected = done.stdout.splitlines()
    assert at == expected
