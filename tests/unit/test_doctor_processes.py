"""Faults of where processes run, of how they share memory, and of their MPI: each is made, and found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of, keys, one
from support.fake_machine import GPUS, NICS, pci_device

from wirespeed.doctor import job
from wirespeed.doctor.collect import own_limits
from wirespeed.doctor.facts.model import Limits, MachineFacts, MpiFact, RankPlacement
from wirespeed.doctor.finding import Conditions, Cost


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path)


class TestAffinity:
    def test_this_process_is_far(self, root: Path) -> None:
        facts = facts_of(root, limit=Limits(None, (0, 1)))
        finding = one(facts, "affinity-process")
        assert finding.title.startswith("This process may not run near GPU 1, mlx5_1: ")
        assert "taskset -pc 4-7 $$" in finding.remedy[0]
        assert finding.trial is not None
        assert finding.trial.after.cpus == (4, 5, 6, 7)

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

    def test_ranks_are_far(self, root: Path) -> None:
        """Launchers put ranks on the first cores, wherever their GPU is."""
        places = (RankPlacement(0, "n1", (0,), GPUS[0]), RankPlacement(1, "n1", (1,), GPUS[1]))
        finding = one(structs.replace(facts_of(root), places=places), "affinity-rank")
        assert finding.title.startswith("1 of 2 ranks")
        assert finding.evidence == ("rank 1: CPUs 1; GPU 1 is at NUMA node 1 (CPUs 4-7)",)
        assert finding.trial is None, "no set of CPUs is near both GPUs"

    def test_ranks_on_one_gpu_can_be_put_near_it(self, root: Path) -> None:
        places = (RankPlacement(0, "n1", (0,), GPUS[1]), RankPlacement(1, "n1", (4,), GPUS[1]))
        finding = one(structs.replace(facts_of(root), places=places), "affinity-rank")
        assert finding.trial is not None
        assert finding.trial.after.cpus == (4, 5, 6, 7)

    def test_ranks_are_near(self, root: Path) -> None:
        places = (RankPlacement(0, "n1", (0,), GPUS[0]), RankPlacement(1, "n1", (4, 5), GPUS[1]))
        assert keys(structs.replace(facts_of(root), places=places)) == []

    def test_a_device_of_unknown_node_is_nowhere_far(self, root: Path) -> None:
        pci_device(root, GPUS[1], -1, "0-7")
        pci_device(root, NICS[1], -1, "0-7")
        assert keys(facts_of(root, limit=Limits(None, (0, 1)))) == []


class TestSharedMemory:
    def changed(self, root: Path, **memory: Any) -> MachineFacts:
        facts = facts_of(root)
        return structs.replace(facts, memory=structs.replace(facts.memory, **memory))

    def test_small(self, root: Path) -> None:
        finding = one(
            self.changed(root, shm_bytes=64 << 20, shm_free=60 << 20, container="docker"), "shm-small"
        )
        assert "in this container (docker)" in finding.title
        assert "--shm-size" in finding.remedy[0]

    def test_full(self, root: Path) -> None:
        assert "nearly full" in one(self.changed(root, shm_free=1 << 20), "shm-full").title

    @pytest.mark.parametrize("fault", [{"shm_bytes": None}, {"shm_writable": False}])
    def test_unusable(self, root: Path, fault: dict[str, Any]) -> None:
        assert one(self.changed(root, **fault), "shm-missing").cost is Cost.BREAKS

    def test_cma_refused(self, root: Path) -> None:
        fake_machine.write(root, {"proc/sys/kernel/yama/ptrace_scope": "3", "proc/self/status": "CapEff:\t0"})
        finding = one(facts_of(root, cma="Operation not permitted"), "cma")
        assert finding.cost is Cost.SOME
        assert "kernel.yama.ptrace_scope = 3" in finding.evidence
        assert "this process has no CAP_SYS_PTRACE" in finding.evidence
        assert finding.remedy == ("sudo sysctl kernel.yama.ptrace_scope=0",)

    def test_cma_only_when_asked(self, root: Path) -> None:
        assert one(facts_of(root, cma="after asking"), "cma").cost is Cost.SMALL

    def test_cma_is_really_tried(self) -> None:
        """Processes of one user may read each other here, or the kernel says why not."""
        from wirespeed.doctor.facts.memory import try_cma

        assert try_cma() in ("works", "after asking", "Operation not permitted", "Function not implemented")

    def test_own_ipc_namespace(self, root: Path) -> None:
        assert one(self.changed(root, container="docker", own_ipc=True), "ipc-namespace").cost is Cost.SMALL
        assert keys(self.changed(root, own_ipc=True)) == []


class TestMpi:
    def tried(self, root: Path, **said: Any) -> MachineFacts:
        facts = facts_of(root)
        return structs.replace(facts, mpis=(structs.replace(facts.mpis[0], **said),))

    def test_not_aware(self, root: Path) -> None:
        said = {"says": False, "says_text": "MPIX_Query_cuda_support: no"}
        facts = self.tried(root, **said, tried="crash", tried_text="crashed", where="here")
        finding = one(facts, "mpi-not-aware")
        assert finding.cost is Cost.BREAKS
        assert "asked: MPIX_Query_cuda_support: no" in finding.evidence

    def test_aware_on_paper_only(self, root: Path) -> None:
        facts = self.tried(
            root, says=True, says_text="says yes", tried="crash", tried_text="crashed", where="here"
        )
        finding = one(facts, "mpi-aware-on-paper")
        assert finding.title == "Open MPI 5.0.11 claims to be GPU-aware, but crashes on a device pointer"
        assert any(line.startswith("export OMPI_MCA_pml=ucx") for line in finding.remedy)

    def test_aware(self, root: Path) -> None:
        assert keys(self.tried(root, says=False, tried="works")) == []

    def test_another_one_is_the_remedy(self, root: Path) -> None:
        facts = self.tried(root, tried="hang", tried_text="hung", where="here")
        wheel = MpiFact("MPICH 5.0.2", "mpich", prefix="/w", mpiexec="/w/bin/mpiexec", source="wheel")
        finding = one(structs.replace(facts, mpis=(*facts.mpis, wheel)), "mpi-not-aware")
        assert finding.trial is not None
        (option,) = finding.options
        assert option.setting.mpi == "/w/bin/mpiexec"
