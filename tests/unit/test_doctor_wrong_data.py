"""Wrong bytes are a finding, whoever moved them; between GPUs on PCIe its cause is looked for."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of, keys, one
from support.fake_machine import GPUS, FakeGpu, FakeNvml, write
from support.records import as_read, entry, failure, step

from wirespeed.doctor import examine, measured
from wirespeed.doctor.facts.model import MachineFacts, MpiFact
from wirespeed.report.facts.trust import trust
from wirespeed.results.runs import Run, collect

PCIE = [FakeGpu(pci, "NVIDIA L40S", links=[]) for pci in GPUS]
NVLINK = [FakeGpu(pci) for pci in GPUS]
ACS_AT = 0x148


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path)


def made(*records: dict[str, object], pattern: str = "pingpong") -> Run:
    (run,) = collect(as_read([{"kind": "run", "run": "r", "plan": {"pattern": pattern}}, *records]))
    return run


def wrong(path: str = "ipc-write", size: int | None = 64) -> dict[str, object]:
    return failure(path, size, "mismatch", "wrong data: byte 3 of 64 from rank 0 on rank 1")


def soak_of(path: str, damaged: int) -> dict[str, object]:
    told = {"pattern": "pingpong", "path": path, "bytes": 8, "messages": 1000, "wrong": {"damaged": damaged}}
    return {"kind": "soak", "run": "r", "step": 0, "launch": 1, **told}


def with_runs(facts: MachineFacts, *runs: Run) -> MachineFacts:
    return structs.replace(facts, runs=runs, file="r.jsonl")


def behind_an_iommu(root: Path, kind: str) -> None:
    write(root, {f"sys/class/iommu/dmar0/devices/{GPUS[0]}": ""})
    for gpu in GPUS:
        write((root / "sys/bus/pci/devices" / gpu).resolve() / "iommu_group", {"type": kind})


def config(control: int) -> bytes:
    """Registers of a bridge: two extended capabilities, the second of which is ACS."""
    space = bytearray(4096)
    struct.pack_into("<I", space, 0x100, ACS_AT << 20 | 2 << 16 | 0x0001)
    struct.pack_into("<IHH", space, ACS_AT, 1 << 16 | 0x000D, 0x5F, control)
    return bytes(space)


class TestFound:
    @pytest.mark.parametrize(
        ("path", "pattern"), [("host", "pingpong"), ("aware", "pingpong"), ("gpu", "jacobi")]
    )
    def test_every_failed_check(self, root: Path, path: str, pattern: str) -> None:
        """Protects from 'No findings' beside bytes that were not as sent."""
        found = one(with_runs(facts_of(root), made(wrong(path), pattern=pattern)), "wrong-data")
        assert found.title == f"Wrong bytes arrived by {path}: no figure of what moved them counts"
        assert found.evidence[0] == f"r.jsonl: {path} at 64 B: {wrong(path)['text']}"
        assert f"wirespeed {pattern} --paths {path}" in found.remedy[0]
        assert found.cost == "breaks"

    def test_messages_of_a_soak(self, root: Path) -> None:
        assert keys(with_runs(facts_of(root), made(soak_of("ucx-host", 0)))) == []
        found = one(with_runs(facts_of(root), made(soak_of("ucx-host", 2))), "wrong-data")
        assert found.evidence == ("r.jsonl: ucx-host at 8 B: 2 of 1,000 messages are wrong",)

    def test_a_path_that_was_right_since_is_not_blamed(self, root: Path) -> None:
        later = made(entry("ipc-write", 64, 1e-6))
        assert keys(with_runs(facts_of(root), made(wrong()), later)) == []
        assert keys(with_runs(facts_of(root), later, made(wrong()))) == ["wrong-data"]

    def test_an_mpi_whose_bytes_were_wrong_does_not_work(self, root: Path) -> None:
        """Protects from 'moved and checked device memory' where one of the sizes was wrong."""
        facts = facts_of(root)
        mpi = {"vendor": "openmpi", "version": "5.0.11"}
        run = made(step("aware", mpi=mpi), entry("aware", 8, 1e-6), wrong("aware"))
        found = examine._learned_before(
            MpiFact("Open MPI 5.0.11", "openmpi", "5.0.11"), with_runs(facts, run)
        )
        assert found.tried == "mismatch"


class TestCause:
    @pytest.mark.parametrize("kind", ["DMA", "DMA-FQ"])
    def test_an_iommu_that_translates(self, root: Path, kind: str) -> None:
        """Protects who bought GPUs without NVLink: peer writes get lost, and the driver says nothing."""
        behind_an_iommu(root, kind)
        facts = facts_of(root, FakeNvml(*PCIE))
        assert keys(facts) == []
        found = one(with_runs(facts, made(wrong())), "wrong-data")
        assert found.title.startswith("Peer writes are lost: the IOMMU translates; wrong bytes")
        assert f"GPU 0: its IOMMU group is of type {kind}" in found.evidence
        assert any("iommu=pt" in line for line in found.remedy)

    @pytest.mark.parametrize(
        ("kind", "gpus", "path"),
        [("identity", PCIE, "ipc-write"), ("DMA", NVLINK, "ipc-write"), ("DMA", PCIE, "staged")],
    )
    def test_an_iommu_that_is_not_in_the_way(
        self, root: Path, kind: str, gpus: list[FakeGpu], path: str
    ) -> None:
        """Protects a sound setting from blame: passed through, by NVLink, through the host."""
        behind_an_iommu(root, kind)
        found = one(with_runs(facts_of(root, FakeNvml(*gpus)), made(wrong(path))), "wrong-data")
        assert not any("iommu" in line.lower() for line in (found.title, *found.evidence, *found.remedy))

    @pytest.mark.parametrize(("control", "there"), [(0x1D, True), (0x01, False), (0, False)])
    def test_bridges_that_redirect(self, root: Path, control: int, there: bool) -> None:
        for gpu in GPUS:
            bridge = (root / "sys/bus/pci/devices" / gpu).resolve().parent
            (bridge / "config").write_bytes(config(control))
        found = one(with_runs(facts_of(root, FakeNvml(*PCIE)), made(wrong())), "wrong-data")
        assert any("ACS redirects peer traffic at" in line for line in found.evidence) == there
        assert any("ECAP_ACS+6.w=0000" in line for line in found.remedy) == there

    @pytest.mark.parametrize("size", [0, 64, 256, 0x104])
    def test_registers_that_only_root_may_read(self, root: Path, size: int) -> None:
        bridge = (root / "sys/bus/pci/devices" / GPUS[0]).resolve().parent
        (bridge / "config").write_bytes(config(0x1D)[:size])
        assert facts_of(root).gpus[0].redirects == ()


class TestOtherFigures:
    def test_none_over_peer_access_is_fast(self, root: Path) -> None:
        """Protects from a fast rate with lost bytes: another path over the same way is no advice."""
        rates = {"gpu": 1e-6, "nccl": 2e-6, "staged": 9e-6, "staged-pinned": 30e-6}
        run = made(*(entry(path, 1 << 20, seconds) for path, seconds in rates.items()), wrong())
        assert [stretch.paths for stretch in measured.stretches(run)] == [("staged",)]
        assert "nor gpu, nccl: those go over peer access, too" in trust(run).words
        found = one(with_runs(facts_of(root), run), "wrong-data")
        assert "also over peer access, and not to be trusted: gpu, nccl" in found.evidence

    def test_the_others_stay_where_the_host_was_wrong(self) -> None:
        run = made(entry("gpu", 8, 1e-6), entry("nccl", 8, 2e-6), wrong("staged"))
        assert [stretch.paths for stretch in measured.stretches(run)] == [("gpu",)]
        assert "peer access" not in trust(run).words
