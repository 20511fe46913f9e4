"""Counter sources read what drivers count: in their units, over wires that are up, and never guess."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pynvml
import pytest
from support.fake_machine import write
from support.golden import Golden

from wirespeed.evidence.counters import (
    CannotRead,
    CounterOwner,
    CounterSource,
    Reading,
    find_counter_sources,
    infiniband,
    network,
    nvlink,
    pcie,
    xgmi,
)
from wirespeed.host.nvml import Nvml, NvmlError

GPUS = [{"kind": "cuda", "index": n, "id": f"GPU-{n}", "pci": f"0000:0{n}:00.0", "name": "H"} for n in (0, 1)]
STRANGER = [{**GPUS[0], "pci": "0000:99:00.0"}]
EMULATED = [{"kind": "emulated", "index": 0, "id": "E", "pci": ""}]


def told(find: Callable[..., CounterSource | None], *given: object) -> str:
    """Wires with what is known of them, what their counters say, and why some say nothing."""
    lines = []
    try:
        if (found := find(*given)) is None:
            return "none"
        for wire in found.wires:
            lines.append(
                f"{wire.kind} {wire.name}, device {wire.device}, rate {wire.rate}, {dict(wire.facts)}"
            )
            lines.append(f"  steps of {wire.granularity} B, wraps after {wire.wraps}")
        try:
            lines += [f"sent {one.sent}, received {one.received}, parts {one.parts}" for one in found.read()]
            assert isinstance(found, xgmi.Xgmi) or not any(one.parts for one in found.read(parts=False))
        finally:
            found.close()
    except (CannotRead, NvmlError) as error:
        lines.append(f"{type(error).__name__}: {error}")
    return "\n".join(lines)


# ---- sysfs ----------------------------------------------------------------------------------------------


def port(name: str, sent: int, *, without: str = "", **changed: str) -> dict[str, str]:
    files = {"state": "4: ACTIVE", "link_layer": "InfiniBand", "rate": "400 Gb/sec (4X NDR)", **changed}
    files |= {"counters/port_xmit_data": str(sent), "counters/port_rcv_data": "7"}
    return {f"{name}/ports/1/{file}": text for file, text in files.items() if file != without}


def interface(name: str, device: Any = True, without: str = "", **changed: str) -> dict[str, str]:
    files = {"operstate": "up", "type": "1", "speed": "25000", "mtu": "1500", **changed}
    files |= {f"statistics/{way}_bytes": files.pop(f"{way}_bytes", "12") for way in ("tx", "rx")}
    files |= {"device/vendor": "0x15b3"} if device else {}
    return {f"{name}/{file}": text for file, text in files.items() if file != without}


DOWN = {"state": "1: DOWN"}
ROWS = """Inter-|   Receive                     |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop
    lo:   12    1 0 0 0 0 0 0   12    1 0 0 0 0 0 0"""
ETH0 = "  eth0: 3000    2 0 0 0 0 0 0 7000    5 0 0 0 0 0 0"
ELSEWHERE = interface("eth0", ifindex="4711")
SYSFS: dict[str, tuple[ModuleType, dict[str, str]]] = {
    "words of four bytes, RoCE, and a port that is down": (
        infiniband,
        port("mlx5_0", 1000) | port("mlx5_1", 5, link_layer="Ethernet") | port("mlx5_2", 5, **DOWN),
    ),
    "a counter that is gone": (infiniband, port("mlx5_0", 1000, without="counters/port_xmit_data")),
    "a port that does not tell its rate": (infiniband, port("mlx5_0", 1000, without="rate")),
    "the only port is down": (infiniband, port("mlx5_0", 1000, **DOWN)),
    "no adapter": (infiniband, {}),
    "loopback, a virtual interface, one that is down, and bridges and bonds, whose members count": (
        network,
        interface("lo", False, operstate="unknown", type="772", speed="")
        | interface("eth0")
        | interface("veth1", False, speed="10000")
        | interface("eth1", operstate="down", speed="-1")
        | interface("br0", False, **{"bridge/x": ""})
        | interface("bond0", **{"bonding/x": ""}),
    ),
    **{
        f"an interface whose speed is {speed or 'not told'}": (network, interface("eth0", speed=speed))
        for speed in ("1", "0", "-1", "")
    },
    "large packets": (network, interface("eth0", mtu="9000")),
    "packets of which nothing is told": (network, interface("eth0", without="mtu")),
    "no counter": (network, interface("eth0", without="statistics/rx_bytes")),
    "a counter that is none": (network, interface("eth0", rx_bytes="many")),
    "interfaces of another namespace, which only have the same names": (
        network,
        ELSEWHERE | {"dev": f"{ROWS}\n{ETH0}"},
    ),
}


def test_what_files_tell(tmp_path: Path, golden: Golden) -> None:
    """Protects units and rates, bytes from being counted twice, and from limits that nobody stated."""
    texts = {}
    for number, (title, (module, files)) in enumerate(SYSFS.items()):
        (folder := tmp_path / str(number)).mkdir()
        write(folder, files)
        more = [folder / "dev"] if "dev" in files else []
        texts[title] = told(module.find, [], folder, *more)
    golden("evidence/counters_sysfs", texts)


def test_an_interface_that_goes_away(tmp_path: Path) -> None:
    write(tmp_path, ELSEWHERE | {"dev": f"{ROWS}\n{ETH0}"})
    found = network.find([], tmp_path, tmp_path / "dev")
    write(tmp_path, {"dev": ROWS})
    with pytest.raises(CannotRead, match="eth0"):
        found and found.read()


def test_the_pci_address_of_a_nic(tmp_path: Path) -> None:
    """Protects the distance from a GPU: a port is known by its adapter's address, an interface by its own."""
    (card := tmp_path / "devices/0000:18:00.0").mkdir(parents=True)
    write(tmp_path / "infiniband", port("mlx5_0", 1000))
    write(tmp_path / "net", interface("ib0", False))
    for name in ("infiniband/mlx5_0", "net/ib0"):
        (tmp_path / name / "device").symlink_to(card)
    for found in (infiniband.find([], tmp_path / "infiniband"), network.find([], tmp_path / "net")):
        assert found and found.wires[0].facts["pci"] == "0000:18:00.0"


# ---- GPUs -----------------------------------------------------------------------------------------------


class FakeNvml:
    """Two GPUs with three links each, one of them down; answers as the real module does."""

    NVMLError = pynvml.NVMLError

    def __init__(
        self,
        missing: int | None = None,
        remote: int = 0,
        up: tuple[tuple[int, ...], ...] = ((0, 2), (0, 2)),
        lacks: tuple[int, int] = (0, 0),
        lost: bool = False,
    ) -> None:
        """missing: a field; up: links of each GPU; lacks: a field of one link; lost: once it is read."""
        self.missing, self.remote, self.up, self.lacks = missing, remote, up, lacks
        self.lost, self.opened = lost, 0

    def nvmlInit(self) -> None:
        self.opened += 1

    def nvmlShutdown(self) -> None:
        self.opened -= 1

    def nvmlDeviceGetHandleByPciBusId(self, pci: bytes) -> int:
        if pci not in (b"0000:00:00.0", b"0000:01:00.0"):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return pci[6] - ord("0")

    def nvmlDeviceGetNvLinkState(self, gpu: int, link: int) -> int:
        if link >= 3:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return int(link in self.up[gpu])

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: int, link: int) -> int:
        return self.remote

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: int, link: int) -> Any:
        return SimpleNamespace(busId=f"00000000:0{1 - gpu}:00.0".upper())

    def nvmlDeviceGetFieldValues(self, gpu: int, asked: list[tuple[int, int]]) -> Any:
        if self.lost:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
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


NVML: dict[str, tuple[ModuleType, FakeNvml, list[dict[str, Any]]]] = {
    "links that are up, in KiB of data": (nvlink, FakeNvml(), GPUS),
    "links to switches lead to every GPU": (
        nvlink,
        FakeNvml(remote=pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH),
        GPUS,
    ),
    "slots, whose counters have 32 bits": (pcie, FakeNvml(), GPUS),
    **{
        f"{module.__name__}: {way} that the driver does not count": (module, FakeNvml(field), GPUS)
        for module, fields in (
            (nvlink, (nvlink.DATA_SENT, nvlink.DATA_RECEIVED)),
            (pcie, (pcie.SENT, pcie.RECEIVED)),
        )
        for way, field in zip(("sent", "received"), fields, strict=True)
    },
    **{
        f"a link of which {field} is not counted alone: the sum of all is good": (
            nvlink,
            FakeNvml(lacks=(field, 2)),
            GPUS,
        )
        for field in (nvlink.DATA_SENT, nvlink.DATA_RECEIVED)
    },
    "GPUs without links": (nvlink, FakeNvml(up=((), ())), GPUS),
    "a GPU with links beside one without": (nvlink, FakeNvml(up=((), (0,))), GPUS),
    **{
        f"{module.__name__}: a GPU {what}": (module, FakeNvml(lost=lost), gpus)
        for module in (nvlink, pcie)
        for what, lost, gpus in (
            ("that is lost while it is read", True, GPUS),
            ("that NVML does not know", False, STRANGER),
        )
    },
}


def test_what_nvml_tells(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    """Protects units and places, from taking 'not supported' for zero bytes, and the library's own words."""
    texts = {}
    for title, (module, library, gpus) in NVML.items():
        monkeypatch.setattr(Nvml, "open_for", lambda devices, library=library: Nvml(library))
        texts[title] = told(module.find, gpus)
        assert library.opened == 0 or "none" in texts[title] or "Not Found" in texts[title]
    golden("evidence/counters_nvml", texts)


def test_the_numbers_and_names_are_those_of_the_module() -> None:
    """Protects the fields asked for, and the stand-in from drifting away from nvidia-ml-py."""
    fields = (
        "NVLINK_THROUGHPUT_DATA_TX",
        "NVLINK_THROUGHPUT_DATA_RX",
        "PCIE_COUNT_TX_BYTES",
        "PCIE_COUNT_RX_BYTES",
    )
    asked = [nvlink.DATA_SENT, nvlink.DATA_RECEIVED, pcie.SENT, pcie.RECEIVED]
    assert asked == [getattr(pynvml, f"NVML_FI_DEV_{field}") for field in fields]
    assert [name for name in vars(FakeNvml) if name.startswith("nvml") and not hasattr(pynvml, name)] == []


def test_no_gpu_of_that_vendor() -> None:
    """Protects machines without the libraries: nothing is opened, nothing is wrong."""
    assert nvlink.find(EMULATED) is pcie.find(EMULATED) is xgmi.find(EMULATED) is None


class Broken(Exception):
    """What amdsmi raises."""


AMD = {"kind": "hip", "index": 0, "id": "A0", "pci": "0000:0a:00.0"}
TWO = [AMD, {**AMD, "index": 1, "id": "A1", "pci": "0000:0b:00.0"}]


def amdsmi(*links: tuple[int, object, int], broken: str = "") -> Any:
    """Links of the first GPU, (type, read, write): type 2 is xGMI, type 1 PCIe. `broken`: a call."""
    library = SimpleNamespace(opened=0, attempts=0, AmdSmiException=Broken)
    library.AmdSmiLinkType = SimpleNamespace(AMDSMI_LINK_TYPE_XGMI=2)

    def call(name: str, answer: Callable[..., Any]) -> None:
        def answered(*words: Any) -> Any:
            if name == broken:
                raise Broken("no amdgpu driver")
            return answer(*words)

        setattr(library, f"amdsmi_{name}", answered)

    def count(step: int) -> None:
        library.opened += step
        library.attempts += step > 0

    rows = [{"link_type": kind, "read": read, "write": write} for kind, read, write in links]
    call("init", lambda: count(1))
    call("shut_down", lambda: count(-1))
    call("get_processor_handle_from_bdf", lambda bdf: bdf)
    call("get_link_metrics", lambda gpu: {"links": rows if "0a" in gpu else []})
    return library


AMDSMI = {
    "links, and PCIe, which is none: 'write' is what a GPU sent": amdsmi((2, 10, 3), (2, 1, 4), (1, 99, 99)),
    "a link that is not counted": amdsmi((2, "N/A", 3), (2, 1, 4)),
    "no links": amdsmi((1, 1, 1)),
    **{f"{call} fails": amdsmi((2, 10, 3), broken=call) for call in ("get_link_metrics", "init")},
}


def test_what_amdsmi_tells(golden: Golden) -> None:
    """Protects direction and unit, and the library's own reason; what was opened is given back."""
    texts = {title: told(xgmi.open_with, library, TWO) for title, library in AMDSMI.items()}
    golden("evidence/counters_amdsmi", texts)
    assert [library.opened for library in AMDSMI.values()] == [0, 0, 0, 1, 0]


def test_which_devices_are_amds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects machines of another vendor: amdsmi is asked only about AMD GPUs whose address is known."""
    library = amdsmi((2, 1, 1))
    monkeypatch.setitem(sys.modules, "amdsmi", library)
    found = xgmi.find([*GPUS, {**AMD, "pci": ""}, AMD])
    assert found and [wire.device for wire in found.wires] == ["A0"]
    assert xgmi.find(GPUS) is xgmi.find([{**AMD, "pci": ""}]) is None
    assert library.attempts == 1
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert xgmi.find([AMD]) is None, "ROCm's package is not installed"


# ---- all of them ----------------------------------------------------------------------------------------


class Steady(CounterSource):
    """Answers always, or never."""

    wires = (CounterOwner("xgmi", "GPU 0"),)

    def __init__(self, answers: bool = True) -> None:
        self._answers = answers

    def read(self, parts: bool = True) -> list[Reading]:
        if not self._answers:
            raise CannotRead("the driver is being updated")
        return [Reading(1, 2)]


def test_a_counter_source_is_read_once_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects all ranks from a source that fails or does not answer: it says why, and the others count."""

    def surprise(devices: Any) -> None:
        raise AttributeError("no such symbol")

    steady, failing = Steady(), Steady(False)
    for module, one in ((infiniband, steady), (network, failing), (pcie, None)):
        monkeypatch.setattr(module, "find", lambda devices, one=one: one)
    monkeypatch.setattr(nvlink, "find", surprise)
    found, why = find_counter_sources([])
    assert found == [steady]
    assert why == ["network: the driver is being updated", "nvlink: AttributeError: no such symbol"]
    assert (steady.wires[0].granularity, steady.wires[0].wraps) == (1, None), "single bytes, for ever"
