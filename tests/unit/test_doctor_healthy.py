"""What a machine lacks is a fact and no error, and a loaded one is noted: figures are uncertain there."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pynvml
import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of, keys
from support.fake_machine import GPUS, FakeNvml

from wirespeed.doctor import findings
from wirespeed.doctor.collect import Sources, collect
from wirespeed.doctor.facts import load
from wirespeed.doctor.facts.model import Limits
from wirespeed.doctor.facts.tree import Tree
from wirespeed.frontend.machine import Machine


def test_what_nvml_is_asked(tmp_path: Path) -> None:
    """Protects the library from staying open, and these tests from asking for what pynvml does not have."""
    nvml = FakeNvml()
    facts = facts_of(fake_machine.tree(tmp_path), nvml)
    assert nvml.open == 0 and [(gpu.pci, gpu.near) for gpu in facts.gpus] == [
        (GPUS[0], (0, 1, 2, 3)),
        (GPUS[1], (4, 5, 6, 7)),
    ]
    names = [name for name in vars(FakeNvml) if name.startswith(("nvml", "c_nvml"))]
    assert len(names) > 15 and [name for name in names if not hasattr(pynvml, name)] == []


def test_without_anything(tmp_path: Path) -> None:
    """What is missing is a fact, not an error: no NVML, no sysfs, no GPUs, no adapters."""
    sources = Sources(Tree(tmp_path), FakeNvml(lacks="NVML Shared Library Not Found"), {}, Limits(), "")
    facts = collect(Machine("host", [], [], {}), sources)
    assert (facts.gpus, facts.nics, facts.nodes, facts.mpis) == ((), (), (), ())
    assert any("NVML Shared Library Not Found" in line for line in facts.lacking)
    assert keys(facts) == ["shm-missing"]


def test_every_module_of_findings_is_found() -> None:
    """A new finding is one file."""
    files = {file.stem for file in Path(findings.__path__[0]).glob("[a-z]*.py")}
    assert {rule.__module__.rpartition(".")[2] for rule in findings.all_rules()} == files


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
