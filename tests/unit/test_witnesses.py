"""Witnesses read what drivers count: in their units, over wires that are up, and never guess."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from wirespeed.nvml import Nvml
from wirespeed.witnesses import CannotRead, find_witnesses, infiniband, network, nvlink, pcie, xgmi

GPUS = [{"kind": "cuda", "index": n, "id": f"GPU-{n}", "pci": f"0000:0{n}:00.0", "name": "H"} for n in (0, 1)]


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


def port(folder: Path, name: str, sent: int, *, state: str = "4: ACTIVE", layer: str = "InfiniBand") -> None:
    base = folder / name / "ports/1"
    for file, text in (
        ("state", state),
        ("link_layer", layer),
        ("rate", "400 Gb/sec (4X NDR)"),
        ("counters/port_xmit_data", str(sent)),
        ("counters/port_rcv_data", "7"),
    ):
        write(base / file, text)


def test_infiniband_counts_words_of_four_bytes(tmp_path: Path) -> None:
    """Protects the unit, the rate, and RoCE from the name InfiniBand; a port that is down is none."""
    port(tmp_path, "mlx5_0", 1000)
    port(tmp_path, "mlx5_1", 5, layer="Ethernet")
    port(tmp_path, "mlx5_2", 5, state="1: DOWN")
    found = infiniband.find([], tmp_path)
    assert found
    assert [(wire.kind, wire.name) for wire in found.wires] == [
        ("infiniband", "mlx5_0 port 1"),
        ("roce", "mlx5_1 port 1"),
    ]
    assert found.wires[0].rate == 50e9
    assert [(one.sent, one.received) for one in found.read()] == [(4000, 28), (20, 28)]
    (tmp_path / "mlx5_0/ports/1/counters/port_xmit_data").unlink()
    with pytest.raises(CannotRead, match="port_xmit_data"):
        found.read()
    assert infiniband.find([], tmp_path / "nothing") is None


def test_interfaces(tmp_path: Path) -> None:
    """Protects from counting a byte twice (bridges), from made-up rates (veth), and knows loopback."""
    for name, state, kind, speed, device in (
        ("lo", "unknown", "772", "", False),
        ("eth0", "up", "1", "25000", True),
        ("veth1", "up", "1", "10000", False),
        ("eth1", "down", "1", "-1", True),
        ("br0", "up", "1", "10000", False),
    ):
        base = tmp_path / name
        for file, text in (("operstate", state), ("type", kind), ("speed", speed), ("mtu", "1500")):
            write(base / file, text)
        for file in ("tx_bytes", "rx_bytes"):
            write(base / "statistics" / file, "12")
        if device:
            (base / "device").mkdir()
    (tmp_path / "br0/bridge").mkdir()
    found = network.find([], tmp_path)
    assert found
    assert [(wire.kind, wire.name, wire.rate) for wire in found.wires] == [
        ("network", "eth0", 3.125e9),
        ("loopback", "lo", None),
        ("network", "veth1", None),
    ]
    assert all((one.sent, one.received) == (12, 12) for one in found.read())
    assert {wire.granularity for wire in found.wires} == {1500}, "one foreign packet is not a verdict"


class FakeNvml:
    """Two GPUs with three links each, one of them down; answers as the real module does."""

    NVMLError = pynvml.NVMLError

    def __init__(self, missing: int | None = None, remote: int = 0) -> None:
        self.missing, self.remote, self.ended = missing, remote, 0

    def nvmlInit(self) -> None:
        pass

    def nvmlShutdown(self) -> None:
        self.ended += 1

    def nvmlDeviceGetHandleByPciBusId(self, pci: bytes) -> int:
        if pci not in (b"0000:00:00.0", b"0000:01:00.0"):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return pci[6] - ord("0")

    def nvmlDeviceGetNvLinkState(self, gpu: int, link: int) -> int:
        if link >= 3:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return int(link in (0, 2))

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: int, link: int) -> int:
        return self.remote

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: int, link: int) -> Any:
        return SimpleNamespace(busId=f"00000000:0{1 - gpu}:00.0".upper())

    def nvmlDeviceGetFieldValues(self, gpu: int, asked: list[tuple[int, int]]) -> Any:
        values = (pynvml.c_nvmlFieldValue_t * len(asked))()
        for value, (field, scope) in zip(values, asked, strict=True):
            value.nvmlReturn = 3 if field == self.missing else 0
            value.valueType = pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
            value.value.ullVal = field if scope > 99 else scope
        return values

    def nvmlDeviceGetMaxPcieLinkGeneration(self, gpu: int) -> int:
        return 5

    def nvmlDeviceGetMaxPcieLinkWidth(self, gpu: int) -> int:
        return 16


def opened(library: Any) -> Nvml:
    return Nvml(library)


def test_nvlink_counts_kib_of_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the fields asked for, their unit, and that links which are down are not counted as there."""
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(FakeNvml()))
    found = nvlink.find(GPUS)
    assert found
    assert [(wire.name, wire.device, wire.granularity, wire.facts) for wire in found.wires] == [
        ("GPU 0", "GPU-0", 1024, {"links": 2, "ends": {"0000:01:00.0": 2}}),
        ("GPU 1", "GPU-1", 1024, {"links": 2, "ends": {"0000:00:00.0": 2}}),
    ]
    assert (nvlink.DATA_SENT, nvlink.DATA_RECEIVED) == (
        pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
        pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
    )
    one, _ = found.read()
    assert (one.sent, one.received) == (nvlink.DATA_SENT * 1024, nvlink.DATA_RECEIVED * 1024)
    assert one.parts == ((0, 0), (2048, 2048)), "the links that are up, by their numbers"


def test_links_to_switches_lead_to_every_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the limit of a pair: only links that lead from GPU to GPU are told apart."""
    switch = FakeNvml(remote=pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH)
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(switch))
    found = nvlink.find(GPUS)
    assert found and found.wires[0].facts == {"links": 2, "ends": {}}


def test_a_gpu_without_such_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from taking 'not supported' for zero bytes."""
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(FakeNvml(nvlink.DATA_SENT)))
    found = nvlink.find(GPUS)
    assert found
    with pytest.raises(CannotRead, match="does not count"):
        found.read()


def test_pcie_counts_bytes_and_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the 32 bits of its counters, and the slot's facts that a limit stands on."""
    library = FakeNvml()
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(library))
    found = pcie.find(GPUS)
    assert found and found.wires[0].wraps == 1 << 32
    assert found.wires[0].facts == {"generation": 5, "width": 16}
    assert (pcie.SENT, pcie.RECEIVED) == (
        pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
        pynvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES,
    )
    found.close()
    assert library.ended == 1


def test_a_gpu_that_nvml_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the run: the witness is silent, with the library's own words."""
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(FakeNvml()))
    with pytest.raises(CannotRead, match="nvmlDeviceGetHandleByPciBusId: Not Found"):
        nvlink.find([{**GPUS[0], "pci": "0000:99:00.0"}])


def test_no_gpu_of_that_vendor() -> None:
    """Protects machines without the libraries: nothing is opened, nothing is wrong."""
    emulated = [{"kind": "emulated", "index": 0, "id": "E", "pci": ""}]
    assert nvlink.find(emulated) is pcie.find(emulated) is xgmi.find(emulated) is None


def test_xgmi() -> None:
    """Protects the direction (AMD's 'write' is what a GPU sent), the unit, and from counting PCIe in."""

    class Broken(Exception):
        pass

    links = [
        {"link_type": 2, "read": 10, "write": 3},
        {"link_type": 2, "read": 1, "write": 4},
        {"link_type": 1, "read": 99, "write": 99},
    ]
    library = SimpleNamespace(
        AmdSmiException=Broken,
        AmdSmiLinkType=SimpleNamespace(AMDSMI_LINK_TYPE_XGMI=2),
        amdsmi_init=lambda: None,
        amdsmi_shut_down=lambda: None,
        amdsmi_get_processor_handle_from_bdf=lambda bdf: bdf,
        amdsmi_get_link_metrics=lambda gpu: {"links": links},
    )
    gpu = {"kind": "hip", "index": 0, "id": "0000:0a:00.0", "pci": "0000:0a:00.0"}
    found = xgmi.open_with(library, [gpu])
    assert found and found.wires[0].facts == {"links": 2}
    (one,) = found.read()
    assert (one.sent, one.received) == (7 * 1024, 11 * 1024)
    links[0]["read"] = "N/A"  # type: ignore[assignment]
    with pytest.raises(CannotRead, match="does not count"):
        found.read()


def test_the_stand_in_is_like_the_module() -> None:
    """Protects the fake above from drifting away from what nvidia-ml-py calls things."""
    for name in vars(FakeNvml):
        if name.startswith("nvml"):
            assert callable(getattr(pynvml, name))
    assert ctypes.sizeof(pynvml.c_nvmlFieldValue_t) > 0


def test_a_witness_that_fails_breaks_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects all ranks from one library's surprise: it is silent, and the others speak."""

    def surprise(devices: Any) -> None:
        raise AttributeError("no such symbol")

    monkeypatch.setattr(nvlink, "find", surprise)
    found, silent = find_witnesses([])
    assert silent == ["nvlink: AttributeError: no such symbol"]
    assert all(wire.kind in ("network", "loopback") for one in found for wire in one.wires)
