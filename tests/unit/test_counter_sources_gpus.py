"""GPUs' own counters, as NVML and AMD SMI give them: in their units, over links that are up."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from wirespeed.evidence.counters import CannotRead, nvlink, pcie, xgmi
from wirespeed.host.nvml import Nvml, NvmlError

GPUS = [{"kind": "cuda", "index": n, "id": f"GPU-{n}", "pci": f"0000:0{n}:00.0", "name": "H"} for n in (0, 1)]


class FakeNvml:
    """Two GPUs with three links each, one of them down; answers as the real module does."""

    NVMLError = pynvml.NVMLError

    def __init__(
        self,
        missing: int | None = None,
        remote: int = 0,
        up: tuple[int, ...] = (0, 2),
        lacks: tuple[int, int] = (0, 0),
    ) -> None:
        """missing: a field; lacks: a field of one link."""
        self.missing, self.remote, self.up, self.lacks, self.ended = missing, remote, up, lacks, 0

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
        return int(link in self.up)

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: int, link: int) -> int:
        return self.remote

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: int, link: int) -> Any:
        return SimpleNamespace(busId=f"00000000:0{1 - gpu}:00.0".upper())

    def nvmlDeviceGetFieldValues(self, gpu: int, asked: list[tuple[int, int]]) -> Any:
        values = (pynvml.c_nvmlFieldValue_t * len(asked))()
        for value, (field, scope) in zip(values, asked, strict=True):
            value.nvmlReturn = 3 if field == self.missing or (field, scope) == self.lacks else 0
            value.valueType = pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
            value.value.ullVal = field if scope == 0xFFFFFFFF else 10 * scope + field % 2
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
    parts = ((0, 1024), (20 * 1024, 21 * 1024))
    assert one.parts == parts, "the links that are up, (sent, received) of each"
    assert [(each.sent, each.parts) for each in found.read(parts=False)] == [(one.sent, ())] * 2
    assert [wire.kind for wire in found.wires] == ["nvlink", "nvlink"]


def test_links_to_switches_lead_to_every_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the limit of a pair: only links that lead from GPU to GPU are told apart."""
    switch = FakeNvml(remote=pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH)
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(switch))
    found = nvlink.find(GPUS)
    assert found and found.wires[0].facts == {"links": 2, "ends": {}}


@pytest.mark.parametrize(
    ("module", "field", "what"),
    [
        (nvlink, nvlink.DATA_SENT, "links"),
        (nvlink, nvlink.DATA_RECEIVED, "links"),
        (pcie, pcie.SENT, "slot"),
        (pcie, pcie.RECEIVED, "slot"),
    ],
)
def test_a_gpu_without_such_counters(
    monkeypatch: pytest.MonkeyPatch, module: Any, field: int, what: str
) -> None:
    """Protects from taking 'not supported' for zero bytes, in either direction."""
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(FakeNvml(field)))
    found = module.find(GPUS)
    assert found
    with pytest.raises(CannotRead, match=f"the driver does not count the bytes of this GPU's {what}"):
        found.read()


@pytest.mark.parametrize("field", [nvlink.DATA_SENT, nvlink.DATA_RECEIVED])
def test_a_link_that_is_not_counted_alone(monkeypatch: pytest.MonkeyPatch, field: int) -> None:
    """Protects from a bundle told apart by some of its links; the sum of all is good."""
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(FakeNvml(lacks=(field, 2))))
    found = nvlink.find(GPUS)
    assert found
    assert [(one.sent, one.parts) for one in found.read()] == [(nvlink.DATA_SENT * 1024, ())] * 2


@pytest.mark.parametrize("module", [nvlink, pcie])
def test_a_gpu_that_is_lost_while_it_is_read(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    """Protects the run: the reading fails with the library's own words."""
    library = FakeNvml()
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(library))
    found = module.find(GPUS)

    def lost(gpu: int, asked: Any) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)

    monkeypatch.setattr(library, "nvmlDeviceGetFieldValues", lost)
    with pytest.raises(NvmlError, match="nvmlDeviceGetFieldValues: GPU is lost"):
        found.read()
    found.close()
    assert library.ended == 1


def test_gpus_without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects machines whose GPUs sit in slots alone, and a GPU with links beside one without."""
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(FakeNvml(up=())))
    assert nvlink.find(GPUS) is None
    library = FakeNvml()
    library.nvmlDeviceGetNvLinkState = lambda gpu, link: int(gpu == 1 and link == 0)  # type: ignore[method-assign]
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(library))
    found = nvlink.find(GPUS)
    assert found and [wire.name for wire in found.wires] == ["GPU 1"]


def test_pcie_counts_bytes_and_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the 32 bits of its counters, and the slot's facts that a limit stands on."""
    library = FakeNvml()
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(library))
    found = pcie.find(GPUS)
    assert found and [
        (one.kind, one.name, one.device, one.wraps, one.granularity) for one in found.wires
    ] == [
        ("pcie", "GPU 0", "GPU-0", 4294967296, 1),
        ("pcie", "GPU 1", "GPU-1", 4294967296, 1),
    ]
    assert [(one.sent, one.received) for one in found.read()] == [(1, 0), (1, 0)], "197 is odd, 198 even"
    assert found.wires[0].facts == {"generation": 5, "width": 16}
    assert (pcie.SENT, pcie.RECEIVED) == (
        pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
        pynvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES,
    )
    found.close()
    assert library.ended == 1


def test_a_gpu_that_nvml_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the run: why counters cannot be read, in the library's own words."""
    monkeypatch.setattr(Nvml, "open_for", lambda devices: opened(FakeNvml()))
    for module in (nvlink, pcie):
        with pytest.raises(NvmlError, match="nvmlDeviceGetHandleByPciBusId: Not Found"):
            module.find([{**GPUS[0], "pci": "0000:99:00.0"}])


def test_no_gpu_of_that_vendor() -> None:
    """Protects machines without the libraries: nothing is opened, nothing is wrong."""
    emulated = [{"kind": "emulated", "index": 0, "id": "E", "pci": ""}]
    assert nvlink.find(emulated) is pcie.find(emulated) is xgmi.find(emulated) is None


class Broken(Exception):
    """What amdsmi raises."""


AMD = {"kind": "hip", "index": 0, "id": "A0", "pci": "0000:0a:00.0"}


def amdsmi(links: dict[str, list[dict[str, Any]]]) -> Any:
    """Links by PCI address; type 2 is xGMI, type 1 PCIe."""
    library = SimpleNamespace(
        AmdSmiException=Broken,
        AmdSmiLinkType=SimpleNamespace(AMDSMI_LINK_TYPE_XGMI=2),
        opened=0,
        attempts=0,
        amdsmi_get_processor_handle_from_bdf=lambda bdf: bdf,
        amdsmi_get_link_metrics=lambda gpu: {"links": links[gpu]},
    )

    def count(step: int) -> None:
        library.opened += step
        library.attempts += step > 0

    library.amdsmi_init = lambda: count(1)
    library.amdsmi_shut_down = lambda: count(-1)
    return library


def test_xgmi() -> None:
    """Protects the direction (AMD's 'write' is what a GPU sent), the unit, and from counting PCIe in."""
    links: list[dict[str, Any]] = [
        {"link_type": 2, "read": 10, "write": 3},
        {"link_type": 2, "read": 1, "write": 4},
        {"link_type": 1, "read": 99, "write": 99},
    ]
    library = amdsmi({"0000:0a:00.0": links, "0000:0b:00.0": []})
    found = xgmi.open_with(library, [AMD, {**AMD, "index": 1, "id": "A1", "pci": "0000:0b:00.0"}])
    assert found
    assert [(one.kind, one.name, one.device, one.granularity, one.facts) for one in found.wires] == [
        ("xgmi", "GPU 0", "A0", 1024, {"links": 2}),
        ("xgmi", "GPU 1", "A1", 1024, {"links": 0}),
    ]
    one, other = found.read()
    assert (one.sent, one.received) == (7 * 1024, 11 * 1024)
    assert one.parts == ((3 * 1024, 10 * 1024), (4 * 1024, 1024))
    assert (other.sent, other.received, other.parts) == (0, 0, ())
    links[0]["read"] = "N/A"
    with pytest.raises(CannotRead, match="the driver does not count the bytes of this GPU's links"):
        found.read()
    found.close()
    assert library.opened == 0


def test_amd_gpus_without_links() -> None:
    """Protects from a wire that nothing crosses; the library is given back."""
    library = amdsmi({"0000:0a:00.0": [{"link_type": 1, "read": 1, "write": 1}]})
    assert xgmi.open_with(library, [AMD]) is None and library.opened == 0


def test_an_amd_driver_that_does_not_answer() -> None:
    """Protects the reason, which is the library's own: at the start, and when links are asked for."""

    def broken(*_: object) -> None:
        raise Broken("no amdgpu driver")

    library = amdsmi({})
    library.amdsmi_get_link_metrics = broken
    with pytest.raises(CannotRead, match="amdsmi_get_link_metrics: no amdgpu driver"):
        xgmi.open_with(library, [AMD])
    library.amdsmi_init = broken
    with pytest.raises(CannotRead, match=r"^amdsmi: no amdgpu driver"):
        xgmi.open_with(library, [AMD])


def test_which_devices_are_amds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects machines of another vendor: amdsmi is asked only about AMD GPUs whose address is known."""
    library = amdsmi({"0000:0a:00.0": [{"link_type": 2, "read": 1, "write": 1}]})
    monkeypatch.setitem(sys.modules, "amdsmi", library)
    found = xgmi.find([*GPUS, {**AMD, "pci": ""}, AMD])
    assert found and [wire.device for wire in found.wires] == ["A0"]
    assert xgmi.find(GPUS) is xgmi.find([{**AMD, "pci": ""}]) is None
    assert library.attempts == 1
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert xgmi.find([AMD]) is None, "ROCm's package is not installed"


def test_the_stand_in_is_like_the_module() -> None:
    """Protects the fake above from drifting away from what nvidia-ml-py calls things."""
    for name in vars(FakeNvml):
        if name.startswith("nvml"):
            assert callable(getattr(pynvml, name))
    assert ctypes.sizeof(pynvml.c_nvmlFieldValue_t) > 0
