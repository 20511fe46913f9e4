"""Ranks without a CPU of their own, and a quota that stops them, are findings with what helps each MPI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of, keys, one
from support.records import as_read, entry, step

from wirespeed.doctor import job, trials
from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Finding
from wirespeed.results.runs import Run, collect

TURNS = "ranks 0-4 on n1 share CPUs 0-1"


def ranks(count: int, quota: float | None = None) -> list[dict[str, Any]]:
    return [
        {"rank": rank, "host": "n1", "pid": 1, "cpus": "0-1", "cpu_quota": quota, "device": None}
        for rank in range(count)
    ]


def measured(cores: dict[str, Any], vendor: str = "mpich", quota: float | None = None) -> Run:
    mpi = {"vendor": vendor, "version": "5.0.2", "library": "MPI"}
    lines = (
        {"kind": "run", "run": "r", "plan": {"pattern": "ring", "ranks": 5}},
        step("host", transport="mpi", mpi=mpi, ranks=ranks(5, quota)),
        entry("host", 8, 16e-3, pattern="ring", cores={"rank": 0, "preempted": 9, **cores}),
    )
    (run,) = collect(as_read(lines))
    return run


@pytest.fixture
def facts(tmp_path: Path) -> MachineFacts:
    return structs.replace(facts_of(fake_machine.tree(tmp_path)), file="r.jsonl")


@pytest.mark.parametrize(
    ("vendor", "line"),
    [
        ("openmpi", "export OMPI_MCA_mpi_yield_when_idle=1"),
        ("mpich", "export MPIR_CVAR_ENABLE_HEAVY_YIELD=1"),
        ("intel", "export I_MPI_THREAD_YIELD=3"),
        ("cray", ""),
    ],
)
def test_more_ranks_than_cpus(facts: MachineFacts, vendor: str, line: str) -> None:
    """Protects from 16 ms that are called a figure: MPIs differ a thousandfold in how they take turns."""
    cores = {"waited": 0.85, "by": "ranks", "shared": TURNS}
    found = one(structs.replace(facts, runs=(measured(cores, vendor),)), "cpus-shared")
    assert found.title == f"More ranks than CPUs: {TURNS}"
    assert found.evidence == ("r.jsonl: host takes 16.0 ms for 8 B; a rank waited for a CPU 85% of the time",)
    exports = [text for text in found.remedy if text.startswith("export")]
    assert [text.partition("  #")[0] for text in exports] == ([line] if line else [])
    assert (found.trial is not None) == bool(line)


def test_the_trial_has_as_many_ranks(facts: MachineFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects --try: two ranks on two CPUs would show no gain."""
    asked = []

    def measure(path: str, sizes: object, base: object, setting: Any, pattern: Any, **_: Any) -> job.Attempt:
        asked.append((path, dict(setting.variables), tuple(pattern)))
        return job.Attempt()

    monkeypatch.setattr(job, "measure", measure)
    cores = {"waited": 0.85, "by": "ranks", "shared": TURNS}
    found: Finding = one(structs.replace(facts, runs=(measured(cores),)), "cpus-shared")
    assert found.trial
    trials.try_remedy(found, found.trial, job.Base())
    ring = ("ring", "--ranks", "5")
    assert asked == [("host", {}, ring), ("host", {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}, ring)]


@pytest.mark.parametrize("shared", [None, TURNS])
def test_a_quota(facts: MachineFacts, shared: str | None) -> None:
    """Protects from a search for other processes where the group itself was stopped."""
    cores = {"waited": 0.4, "by": "quota", "shared": shared}
    facts = structs.replace(facts, runs=(measured(cores, quota=6.0),))
    assert keys(facts) == ["cpu-quota"]
    found = one(facts, "cpu-quota")
    assert found.title == "The control group's quota stops the ranks: 5 of them may use 6 CPUs' time"
    assert found.remedy[0].startswith("systemctl set-property --runtime UNIT CPUQuota=600%")


@pytest.mark.parametrize(
    ("quota", "key"), [(0.5, "cpu-quota"), (1.5, "cpu-quota"), (2.0, "cpus-shared"), (4.0, "cpus-shared")]
)
def test_turns_because_of_a_limit(facts: MachineFacts, quota: float, key: str) -> None:
    """Protects from 'a CPU for each rank' where the limit is what is short: five ranks have two CPUs."""
    cores = {"waited": 0.8, "by": "ranks", "shared": f"5 ranks on n1 may use {quota:g} CPUs' time"}
    found = one(structs.replace(facts, runs=(measured(cores, quota=quota),)), key)
    limit = found.remedy[0].startswith("systemctl set-property --runtime UNIT CPUQuota=600%")
    assert limit == (key == "cpu-quota")


@pytest.mark.parametrize(
    "cores",
    [
        {"waited": 0.01, "by": None, "shared": TURNS},
        {"waited": 0.5, "by": "others", "shared": None},
        {"waited": 0.1, "by": "quota", "shared": None},
        {"waited": None, "shared": None},
    ],
)
def test_a_figure_without_the_mark_is_no_finding(facts: MachineFacts, cores: dict[str, Any]) -> None:
    """Protects sound machines; what other processes cost has its line beside the figure."""
    assert keys(structs.replace(facts, runs=(measured(cores),))) == []
