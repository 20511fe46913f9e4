"""Who hands out device memory: what is refused, what a table says of it, and what the doctor makes of it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from support.records import as_read, entry, failure, head, shown, step

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Finding
from wirespeed.doctor.findings import find_all
from wirespeed.doctor.hang import pattern_words
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.devices import check_allocator
from wirespeed.job.path_selection import unsuited
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.patterns import find_pattern
from wirespeed.report.compare.comparison import compare
from wirespeed.report.compare.environment import differences
from wirespeed.report.facts.machine import memory_lines
from wirespeed.results.export import to_csv
from wirespeed.results.reading import read
from wirespeed.results.runs import Run, collect

RESULTS = Path(__file__).parents[2] / "results" / "allocators"

OPENMP = {"memory": "device", "context": "primary", "ipc": True, "rdma": True, "library": "libgomp.so.1"}
POOL = {"memory": "device", "context": "none", "ipc": False, "rdma": False, "library": None}


def of(allocator: str, *records: dict[str, Any], context: str = "primary") -> Run:
    first = head()
    first["plan"] |= {"allocator": allocator, "context": context}
    (run,) = collect(as_read([first, *records]))
    return run


def measured(path: str, allocator: str, *pointers: dict[str, Any]) -> dict[str, Any]:
    numbered = [{"rank": rank, "device": rank, **one} for rank, one in enumerate(pointers)]
    return step(path, allocator=allocator, pointers=numbered)


class TestRefused:
    @pytest.mark.parametrize(
        ("kind", "allocator", "context", "code", "words"),
        [
            ("host", "pool", "primary", ExitCode.UNAVAILABLE, "it hands out memory of GPUs"),
            ("cuda", "driver", "own", ExitCode.USAGE, "write --allocator openmp or --allocator openacc"),
            ("cuda", "vmm", "own", ExitCode.USAGE, "'vmm' needs a context before it allocates"),
            ("hip", "openmp", "own", ExitCode.UNAVAILABLE, "hip devices have no contexts"),
        ],
    )
    def test_in_one_line(self, kind: str, allocator: str, context: str, code: int, words: str) -> None:
        with pytest.raises(WirespeedError, match=r"--(allocator|context) ") as raised:
            check_allocator(kind, allocator, context)
        assert words in str(raised.value) and "\n" not in str(raised.value)
        assert raised.value.code == code

    @pytest.mark.parametrize(
        ("kind", "allocator", "context"),
        [("cuda", "openacc:map", "own"), ("emulated", "pool", "primary"), ("host", "driver", "primary")],
    )
    def test_what_works_is_not(self, kind: str, allocator: str, context: str) -> None:
        check_allocator(kind, allocator, context)

    def test_a_library_with_memory_of_its_own(self) -> None:
        """Protects from a figure of NVSHMEM's heap under the name of another allocator."""
        pattern = find_pattern("pingpong")
        why = unsuited(find_path("shmem"), pattern, "openmp")
        assert why is not None and "--allocator openmp" in why
        assert unsuited(find_path("shmem"), pattern, "driver") is None
        assert unsuited(find_path("aware"), pattern, "openmp") is None


class TestTable:
    def test_names_the_memory(self) -> None:
        run = of("openmp", measured("aware", "openmp", OPENMP, OPENMP), entry("aware", 8, 1e-6))
        line = (
            "GPU memory by openmp: device memory from libgomp.so.1, the primary context's, with IPC handles"
        )
        assert memory_lines(run) == [line]
        text = " ".join(shown(run, 160).split())
        assert line in text and "allocator openmp" in text

    def test_ranks_that_differ_are_told_apart(self) -> None:
        (line,) = memory_lines(of("pool", measured("aware", "pool", POOL, OPENMP)))
        assert "rank 0 device memory, no context's, without IPC handles" in line
        assert "rank 1 device memory from libgomp.so.1" in line

    def test_is_silent_on_the_driver_s_own(self) -> None:
        assert memory_lines(of("driver", measured("aware", "driver", {**OPENMP, "library": None}))) == []

    def test_addresses_tell_where_messages_lie(self) -> None:
        """Protects --explain: one line for paths whose memory is alike, whoever handed it out."""
        own = {"memory": "device", "context": "primary", "ipc": True}
        records = [measured(path, "driver", own, own) for path in ("aware", "staged")]
        run = of("driver", *records, *(entry(path, 8, 1e-6) for path in ("aware", "staged")))
        said = "staged, aware: by their addresses (UVA) buffers lie in device memory"
        assert said in " ".join(shown(run, explain=True).split())
        assert "UVA" not in shown(run)

    def test_a_context_of_its_own_is_named(self) -> None:
        own = {**OPENMP, "context": "own"}
        run = of("openmp", measured("aware", "openmp", own), entry("aware", 8, 1e-6), context="own")
        text = " ".join(shown(run, 160).split())
        assert "in a context of its own" in text and "of a context that is not the primary one" in text


class TestRepeated:
    def test_a_command_that_is_tried_again_has_the_same_memory(self) -> None:
        """Protects the doctor's trials after a hang from measuring other memory."""
        words = pattern_words(Plan(allocator="openmp", context="own"))
        assert words == ["pingpong", "--allocator", "openmp", "--context", "own"]


class TestCompare:
    def test_names_the_allocator_and_what_it_changes(self) -> None:
        """Protects a comparison of two allocators from being read as one of two MPIs."""
        old = of("driver", measured("aware", "driver", {**OPENMP, "library": None}), entry("aware", 8, 1e-6))
        new = of("pool", measured("aware", "pool", POOL), entry("aware", 8, 2e-6))
        told = [one.text for one in differences([old], [new])]
        assert "asked for: allocator: driver -> pool" in told
        (memory,) = (line for line in told if line.startswith("GPU memory"))
        assert "with IPC handles ->" in memory and "without IPC handles" in memory

    def test_pairs_figures_of_two_allocators(self) -> None:
        """Protects the question that the option is for: does this memory cost anything?"""
        files = (f"h200-x2-allocator-{name}-halo.jsonl" for name in ("driver", "openmp"))
        old, new = (collect(read(RESULTS / file).records) for file in files)
        found = compare(old, new)
        assert {one.key.path for one in found.verdicts.figures} == {"aware", "gpu", "ipc-write", "nccl"}
        assert not found.only_old and not found.only_new and not found.harmful


def copied(path: str, count: int, **more: Any) -> dict[str, Any]:
    times, once = ({"count": number, "bytes": number * 4096} for number in (count, 1))
    kinds = {"host_to_device": times, "device_to_host": times}
    setup = {f"setup_{kind}": once for kind in kinds}
    copies = [{"rank": 0, **kinds, **setup}, {"rank": 1, **kinds, **setup}]
    counted = {"iterations": 10, "copies": copies, "pattern": "ring", "bytes": 4096}
    return {"kind": "evidence", "run": "r", "path": path, "verdict": "staged", "text": "t", **counted, **more}


def ring_run(*proofs: dict[str, Any]) -> Run:
    figures = [entry(path, 4096, 1e-3, pattern="ring") for path in ("staged", "aware")]
    first = head()
    first["plan"] |= {"pattern": "ring"}
    (run,) = collect(as_read([first, step("staged"), step("aware"), *figures, *proofs]))
    return run


def ring(*proofs: dict[str, Any]) -> str:
    """What the table says, in one line."""
    return " ".join(shown(ring_run(*proofs), 160).split())


class TestRing:
    def test_counts_its_copies(self) -> None:
        """Protects the figure that decides for device pointers: two copies a step, or none."""
        text = ring(copied("staged", 10_000), copied("aware", 2))
        counts = (
            "copies by each rank in an iteration: staged 1000 to device, 1000 from device; aware none; to"
        )
        assert f"{counts} fill and compare buffers, once: 1 to device, 1 from device" in text
        rows = list(csv.DictReader(io.StringIO(to_csv([ring_run(copied("staged", 10_000))]))))
        columns = [f"{when}copies_{way}_device" for when in ("", "setup_") for way in ("to", "from")]
        assert [[row[name] for name in columns] for row in rows] == [["1000", "1000", "1", "1"], [""] * 4]
        lines = shown(ring_run(copied("staged", 10_000)), 160).splitlines()
        assert any("1000 1000" in " ".join(line.split()) for line in lines if line.startswith("4 KiB"))

    def test_is_silent_where_nobody_counted(self) -> None:
        assert "copies by each rank" not in ring(
            copied("staged", 0, copies=[]), copied("aware", 0, copies=[])
        )


def findings(*runs: Run) -> list[Finding]:
    facts = MachineFacts(runs=runs, file="f.jsonl")
    return [one for one in find_all(facts) if one.key in ("context-after-memory", "mpi-stages")]


class TestDoctor:
    def test_an_mpi_that_crashes(self) -> None:
        crash = failure("aware", None, "unavailable", "Open MPI 5.0.11 crashed on a device pointer in ucp")
        (found,) = findings(of("openmp", crash, context="own"))
        assert found.key == "context-after-memory" and found.cost == "breaks"
        assert "crashed on a device pointer" in found.evidence[0]
        assert "cudaFree(0)" in found.remedy[0] and "--allocator openmp" in found.remedy[1]

    def test_an_mpi_that_stages(self) -> None:
        """Protects from two findings for one fault: MPI stages because of the context."""
        proof = copied("aware", 10, pattern="pingpong", text="staged through host memory")
        records = [measured("aware", "openacc", OPENMP), entry("aware", 4096, 1e-3), proof]
        (found,) = findings(of("openacc", *records, context="own"))
        assert found.key == "context-after-memory" and found.cost == "high"
        assert "staged through host memory" in found.evidence[0] and "Open MPI 5.0.11" in found.evidence[0]

    def test_an_mpi_that_took_the_place_of_one_that_takes_no_gpu_memory(self) -> None:
        """Protects from blaming the context for what any device pointer does to another MPI."""
        (found,) = findings(*collect(read(RESULTS / "h200-x2-allocator-trap.jsonl").records))
        assert found.key == "context-after-memory" and found.cost == "high"
        assert "Open MPI 5.0.11" in found.evidence[0] and "crashed" not in found.evidence[0]

    def test_an_mpi_that_takes_it(self) -> None:
        proof = copied("aware", 0, pattern="pingpong", verdict="direct", text="direct over NVLink")
        records = [measured("aware", "openmp", OPENMP), entry("aware", 4096, 1e-6), proof]
        assert not findings(of("openmp", *records, context="own"))

    def test_the_primary_context_is_no_fault(self) -> None:
        crash = failure("aware", None, "unavailable", "Open MPI 5.0.11 crashed on a device pointer in ucp")
        assert not findings(of("openmp", crash))
