"""Which CPUs ranks get that nobody has bound."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import captured
from support.fake_machine import pci_device

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


@pytest.mark.parametrize(
    ("near", "parts"),
    [
        ([SOCKETS[0], SOCKETS[0]], [[0, 1], [2, 3]]),
        ([SOCKETS[1], SOCKETS[0]], [SOCKETS[1], SOCKETS[0]]),
        ([SOCKETS[0], SOCKETS[1], SOCKETS[0], SOCKETS[1]], [[0, 1], [4, 5], [2, 3], [6, 7]]),
        # Not known, overlapping, or too few: by their numbers.
        ([SOCKETS[1], []], SOCKETS),
        ([[], []], SOCKETS),
        ([EIGHT, EIGHT], SOCKETS),
        ([EIGHT, SOCKETS[0]], SOCKETS),
        ([[7], [7]], SOCKETS),
    ],
)
def test_a_rank_stays_beside_its_gpu(
    near: list[list[int]], parts: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects two GPUs of one socket from a rank on the other socket, and ranks from each other's CPUs."""
    assert pinned(monkeypatch, [EIGHT] * len(near), near) == (parts, {None})


def test_ranks_of_a_host_have_a_core_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from 59 us for 8 B under torchrun, which binds no rank."""
    assert pinned(monkeypatch, [EIGHT, EIGHT], [[], []], gpus=False) == ([[0], [1]], {None})


def test_what_is_bound_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a user's own choice, which needs no word."""
    assert pinned(monkeypatch, [[0, 1], [6, 7]], [[], []]) == ([[0, 1], [6, 7]], {None})


def test_ranks_that_may_meet_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a scheduler's time that looks like a path's, without a word of where ranks were."""
    host = os.uname().nodename
    few = f"ranks are not pinned: {host} has fewer cores than ranks"
    assert pinned(monkeypatch, [[2, 3]] * 3, [[]] * 3, gpus=False) == (
        [[2, 3]] * 3,
        {f"{few}; --between 2,3,2 pins"},
    )
    assert pinned(monkeypatch, [[2]] * 2, [[2]] * 2)[1] == {few}
    overlap = f"ranks are not pinned: the ranks on {host} may use different CPUs, some of which they share"
    assert pinned(monkeypatch, [[0, 1], [0, 1, 2]], [[]] * 2, gpus=False)[1] == {
        f"{overlap}; --between 0,1 pins"
    }


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
