"""Faults of where processes run, of how they share memory, and of their MPI: each is made, and found."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of, keys, one
from support.fake_machine import GPUS
from support.records import as_read, entry, step

from wirespeed.doctor import job
from wirespeed.doctor.collect import own_limits
from wirespeed.doctor.facts.model import Limits, MachineFacts, RankPlacement
from wirespeed.doctor.finding import Conditions, Cost
from wirespeed.job.shm_cleanup import left_behind
from wirespeed.results.runs import collect


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

    @pytest.mark.parametrize(
        ("vendor", "ranks", "free", "small"),
        [
            ("openmpi", 2, 60 << 20, False),
            ("openmpi", 2, 12 << 20, True),
            ("openmpi", 8, 60 << 20, True),
            ("mpich", 8, 60 << 20, False),
            ("mpich", 2, 8 << 20, True),
            ("intel", 2, 16 << 20, False),
            ("spectrum", 8, 1 << 20, False),
        ],
    )
    def test_small_is_what_an_mpi_needs_more_than(
        self, root: Path, vendor: str, ranks: int, free: int, small: bool
    ) -> None:
        """Protects machines whose 64 MiB are enough, and names the need of those whose are not."""
        facts = self.changed(root, shm_bytes=free, shm_free=free)
        mpi = structs.replace(facts.mpis[0], vendor=vendor)
        limits = Limits(None, tuple(range(ranks)))
        facts = structs.replace(facts, mpis=(mpi,), gpus=(), nics=(), limits=limits, cpu={"cores": ranks})
        assert keys(facts) == ["shm-small"] * small
        if small:
            assert f"MiB a rank, for {ranks} ranks" in one(facts, "shm-small").evidence[1]

    def test_leftovers(self, root: Path) -> None:
        """Protects /dev/shm from being full of what nobody names: 14 files of 16 MiB."""
        left = {f"sm_segment.n1.0.36c70001.{number}": 16 << 20 for number in range(14)}
        found = one(self.changed(root, left=left, left_bytes=1 << 20), "shm-left")
        assert found.title == "Dead processes left 14 files in /dev/shm: 224 MiB" and found.cost is Cost.SMALL
        assert found.remedy[1].startswith("rm -- /dev/shm/sm_segment.n1.0.36c70001.0 ")
        full = one(self.changed(root, left=left, left_bytes=1 << 20, shm_free=64 << 20), "shm-left")
        assert full.cost is Cost.SOME

    def test_leftovers_are_really_looked_for(self) -> None:
        """What a process maps or holds open is its own; what is new may be about to be."""
        name = f"sm_segment.test.0.{os.getpid():x}0001"
        files = [Path(f"/dev/shm/{name}.{number}") for number in range(4)]
        try:
            for file in files:
                file.write_bytes(b"x" * 4096)
            for old in files[:3]:
                os.utime(old, (time.time() - 3600,) * 2)
            with files[0].open("rb") as mapped, files[1].open("rb"):
                page = mmap.mmap(mapped.fileno(), 4096, prot=mmap.PROT_READ)
                found = left_behind()
                page.close()
            assert [file in found for file in files] == [False, False, True, False]
        finally:
            for file in files:
                file.unlink(missing_ok=True)

    def test_leftovers_of_other_libraries(self, tmp_path: Path) -> None:
        """Protects from leftovers whose names no Open MPI gives, and files that somebody may want."""
        names = ["vader_segment.n1.0.1", "mpich_shar_tmpa1", "Intel_MPI_ab", "shm-col-space-0", "psm3_shm.1"]
        names += ["ucx_shm_posix_1", "nccl-AbCd", "ib_shmem-kvs_1", "nvshmem-shm-1", "cray-shared-mem-coll-1"]
        wanted = ["model.bin", "torch_12_34"]
        for name in (*names, *wanted):
            (tmp_path / name).write_bytes(b"x" * 4096)
            os.utime(tmp_path / name, (time.time() - 3600,) * 2)
        assert {path.name for path in left_behind(tmp_path)} == {*names}
        assert {path.name for path in left_behind(tmp_path, others=True)} == {*wanted}

    def test_a_leftover_that_goes_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects from a traceback where a job ends while its files are looked at."""
        for name in ("vader_segment.n1.0.1", "vader_segment.n1.0.2"):
            (tmp_path / name).touch()
            os.utime(tmp_path / name, (time.time() - 3600,) * 2)

        def all_end() -> set[int]:
            for path in tmp_path.iterdir():
                path.unlink()
            return set()

        monkeypatch.setattr("wirespeed.job.shm_cleanup._in_use", all_end)
        assert len(left_behind(tmp_path)) == 2

    def test_full_of_files_of_any_name(self, root: Path) -> None:
        """Protects users whose /dev/shm is full of files that no library is known for."""
        facts = self.changed(root, shm_free=1 << 20, others={"a b.bin": 215 << 20, "torch_1": 3 << 20})
        found = one(facts, "shm-full")
        assert found.evidence[-1] == "files that no process uses: a b.bin 215 MiB, torch_1 3 MiB"
        assert found.remedy[0].startswith("fuser -v '/dev/shm/a b.bin' /dev/shm/torch_1  # ")
        assert keys(self.changed(root, others={"a b.bin": 215 << 20})) == []

    @pytest.mark.parametrize(("verdict", "there"), [("loopback", True), ("shared memory", False)])
    def test_an_mpi_that_goes_by_loopback(self, root: Path, verdict: str, there: bool) -> None:
        """Protects from a threshold of shared memory as remedy for what sockets carried."""
        slow = ((64 << 10, 60e-6), (16 << 10, 55e-6), (8 << 10, 90e-6))
        records = (
            {"kind": "run", "run": "r", "plan": {"pattern": "pingpong"}},
            step("host", transport="mpi"),
            *(entry("host", size, seconds) for size, seconds in slow),
            {
                "kind": "evidence",
                "run": "r",
                "path": "host",
                "bytes": 64 << 10,
                "verdict": verdict,
                "text": "over TCP on the loopback interface (100 % of the bytes)",
            },
        )
        (run,) = collect(as_read(records))
        facts = structs.replace(facts_of(root), runs=(run,), file="r.jsonl")
        assert keys(facts) == (
            ["shm-unused"]
            if there
            else ["tuning-host-OMPI_MCA_btl_vader_eager_limit-OMPI_MCA_btl_sm_eager_limit"]
        )
        if there:
            assert "Open MPI 5.0.11 sends by loopback TCP" in one(facts, "shm-unused").title

    def test_cma_is_really_tried(self) -> None:
        """Processes of one user may read each other here, or the kernel says why not."""
        from wirespeed.doctor.facts.memory import try_cma

        assert try_cma() in ("works", "after asking", "Operation not permitted", "Function not implemented")

    def of_ranks(self, root: Path, copies: str | None, *apart: str) -> MachineFacts:
        place = {"host": "n1", "pid": 1, "cpus": "0-3", "device": None}
        ranks = [{"rank": 0, **place}, {"rank": 1, **place, "copies": copies, "apart": list(apart)}]
        lines = ({"kind": "run", "run": "r", "plan": {"pattern": "pingpong"}}, step("host", ranks=ranks))
        (run,) = collect(as_read([*lines, entry("host", 8, 1e-6)]))
        return structs.replace(facts_of(root), runs=(run,), file="r.jsonl")

    def test_copies_that_ranks_may_not_make(self, root: Path) -> None:
        """Protects from 'works' where it is this process alone that may read its child's memory."""
        assert keys(self.of_ranks(root, "works")) == keys(self.of_ranks(root, None)) == []
        found = one(self.of_ranks(root, "Operation not permitted"), "cma")
        assert "process_vm_readv: Operation not permitted (between two ranks)" in found.evidence

    @pytest.mark.parametrize(
        ("kinds", "title", "remedy"),
        [
            (
                ("pid",),
                "Ranks of one host do not share a PID namespace: no IPC handles of GPUs",
                "--pid=host",
            ),
            (("user",), "Ranks of one host do not share a user namespace: no copies", "--userns=host"),
            (("shm", "ipc"), "Ranks of one host do not share /dev/shm and an IPC namespace", "--ipc=host"),
        ],
    )
    def test_namespaces_of_ranks(self, root: Path, kinds: tuple[str, ...], title: str, remedy: str) -> None:
        found = one(self.of_ranks(root, None, *kinds), "namespaces")
        assert found.title.startswith(title)
        assert any(remedy in line for line in found.remedy)


class TestHiddenGpus:
    @pytest.mark.parametrize("tried", ["error", "works", ""])
    def test_gpus_that_slurm_hides(self, root: Path, tried: str) -> None:
        """Protects an MPI from blame: with --gpus-per-task=1 no process can open the other's memory."""
        said = {"tried": tried, "tried_text": "cuIpcOpenMemHandle failed", "where": "here"}
        places = tuple(
            RankPlacement(rank, "n1", (4 * rank,), GPUS[rank], f"GPU-{rank}", (f"GPU-{rank}",))
            for rank in range(2)
        )
        facts = facts_of(root)
        facts = structs.replace(facts, mpis=(structs.replace(facts.mpis[0], **said),), places=places)
        assert keys(facts) == ["gpus-hidden"]
        found = one(facts, "gpus-hidden")
        assert "rank 1 on n1 sees 1 GPU: GPU-1" in found.evidence
        assert found.cost == (Cost.BREAKS if tried == "error" else Cost.HIGH)
        assert "--gpu-bind=none" in found.remedy[0] and "allow-task-sharing" in found.remedy[1]

    def test_gpus_that_all_ranks_see(self, root: Path) -> None:
        """Protects sound jobs: all GPUs of the host, one for all, another host's, slices of one."""
        both = ("GPU-0", "GPU-1")

        def found(*ranks: tuple[str, str, tuple[str, ...]]) -> list[str]:
            places = (RankPlacement(n, host, (), "", gpu, seen) for n, (host, gpu, seen) in enumerate(ranks))
            return keys(structs.replace(facts_of(root), places=tuple(places)))

        assert found(("n1", "GPU-0", both), ("n1", "GPU-1", both)) == []
        assert found(("n1", "GPU-0", ("GPU-0",)), ("n1", "GPU-0", ("GPU-0",))) == []
        assert found(("n1", "GPU-0", ("GPU-0",)), ("n2", "GPU-7", ("GPU-7",))) == []
        assert found(("n1", "MIG-0", ("MIG-0",)), ("n1", "MIG-1", ("MIG-1",))) == []
        assert found(("n1", "GPU-0", ()), ("n1", "GPU-1", ())) == []
