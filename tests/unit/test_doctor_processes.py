"""Faults of where processes run, of how they share memory, and of their MPI: each is made, and found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of

from wirespeed.doctor import job
from wirespeed.doctor.collect import own_limits
from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Conditions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path)


class TestAffinity:
    def test_cpus_that_may_not_be_used_cost_the_trial_alone(self) -> None:
        """Protects the doctor from a cgroup: no CPU has this number."""
        attempt = job.measure("host", (8,), job.Base(device="cpu"), Conditions(cpus=(100_000,)))
        assert attempt.refusal == "it could not be started on these CPUs: this process may not use them"

    def test_allowed_cpus_of_a_real_process(self) -> None:
        """What taskset really set is what is seen."""
        mine = sorted(os.sched_getaffinity(0))
        assert own_limits().cpus == tuple(mine)
        try:
            os.sched_setaffinity(0, {mine[-1]})
            assert own_limits().cpus == (mine[-1],)
        finally:
            os.sched_setaffinity(0, mine)


class TestSharedMemory:
    def changed(self, root: Path, **memory: Any) -> MachineFacts:
        facts = facts_of(root)
        return structs.replace(facts, memory=structs.replace(facts.memory, **memory))

    def test_cma_is_really_tried(self) -> None:
        """Processes of one user may read each other here, or the kernel says why not."""
        from wirespeed.doctor.facts.memory import try_cma

        assert try_cma() in ("works", "after asking", "Operation not permitted", "Function not implemented")
