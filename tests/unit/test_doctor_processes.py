"""Faults of where processes run, of how they share memory, and of their MPI: each is made, and found."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import pytest

from wirespeed.doctor import job
from wirespeed.doctor.collect import own_limits
from wirespeed.doctor.finding import Conditions
from wirespeed.job.shm_cleanup import left_behind


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

    def test_cma_is_really_tried(self) -> None:
        """Processes of one user may read each other here, or the kernel says why not."""
        from wirespeed.doctor.facts.memory import try_cma

        assert try_cma() in ("works", "after asking", "Operation not permitted", "Function not implemented")
