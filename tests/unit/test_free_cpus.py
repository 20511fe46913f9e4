"""A rank that starts ahead of its turn leaves its own CPUs to those that measure, and comes back to them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from wirespeed.host.process import span
from wirespeed.rank.free_cpus import FreeCpus

ALL = os.sched_getaffinity(0)
FIRST = min(ALL)


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """One node with all CPUs of this process, and another one that is not this process's."""
    for name, cpus in (("node0", span(ALL)), ("node1", str(max(ALL) + 1))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpulist").write_text(cpus)
    return tmp_path


def moved(nodes: Path) -> list[set[int]]:
    """The CPUs of a thread that starts bound to one: aside, back again, and what it calls its own."""
    found: list[set[int]] = []

    def start() -> None:
        os.sched_setaffinity(0, {FIRST})
        aside = FreeCpus(nodes)
        found.append(os.sched_getaffinity(0))
        aside.leave()
        found.append(os.sched_getaffinity(0))
        found.append(aside.own)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    return found


def test_it_starts_on_its_node_and_measures_on_its_own(nodes: Path) -> None:
    assert moved(nodes) == [ALL, {FIRST}, {FIRST}]


def test_it_knows_its_own_though_it_was_moved_before(nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the place of a rank that has executed itself again."""
    monkeypatch.setenv("WIRESPEED_OWN_CPUS", str(FIRST))
    found: list[set[int]] = []

    def start() -> None:
        aside = FreeCpus(nodes)
        aside.leave()
        found.extend([aside.own, os.sched_getaffinity(0)])

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert found == [{FIRST}, {FIRST}]
