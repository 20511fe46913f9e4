"""A loaded host is noted: what is measured on it is uncertain."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of

from wirespeed.doctor.facts import load
from wirespeed.doctor.facts.tree import Tree


def test_a_host_that_others_use(tmp_path: Path) -> None:
    """Protects from advice derived from what others left over; a few busy CPUs of many do no harm."""
    facts = facts_of(fake_machine.tree(tmp_path))
    assert len(facts.limits.cpus) == 8
    assert not facts.reservations
    assert not structs.replace(facts, busy=1.5).reservations
    (note,) = structs.replace(facts, busy=6.25).reservations
    assert note.startswith("This host is loaded: others use 6.2 of 8 CPUs")
    assert len(structs.replace(facts, busy=6.25, foreign=True, file="f").reservations) == 2


def test_what_the_kernel_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use of this process's CPUs alone, without idle and iowait; guests are part of user."""
    stat, hertz = tmp_path / "proc/stat", os.sysconf("SC_CLK_TCK")
    stat.parent.mkdir()

    def write(user: int, idle: int) -> None:
        rows = (f"cpu{number} {user} 0 0 {idle} {idle} 0 0 0 {user} 0" for number in (3, 4, 5))
        stat.write_text("\n".join(["cpu  9 9 9 9", *rows, "intr 5"]))

    now = [0.0]
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5})
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def sleep(seconds: float) -> None:
        now[0] += 1.0
        write(hertz // 2, 10 * hertz)

    monkeypatch.setattr(time, "sleep", sleep)
    write(0, 0)
    assert load.used_by_others(Tree(tmp_path)) == 1.0
    write(-9 * hertz, 0)
    assert load.used_by_others(Tree(tmp_path)) == 2.0, "ticks are coarse: never more than all of them"
    stat.write_text("cpu3 x\n")
    assert load._ticks(Tree(tmp_path)) is None
    assert load.used_by_others(Tree(tmp_path / "none")) is None
