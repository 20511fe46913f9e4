"""Health of a host: what counts as an error, what as throttling, and where each number comes from."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pynvml
import pytest
from support.fake_machine import write
from support.golden import Golden
from support.stand_ins import nvml as nvml_library

from wirespeed.evidence.health import (
    HealthReading,
    HealthSource,
    amd,
    changes,
    cpu,
    find_health_sources,
    infiniband,
    network,
    nvidia,
    read,
)

GPUS = [{"kind": "cuda", "index": n, "id": f"GPU-{n}", "pci": f"0000:0{n}:00.0"} for n in (0, 1)]


def taken(source: HealthSource) -> HealthReading:
    health = HealthReading()
    source.read(health)
    return health


HELD = {
    "GpuIdle ApplicationsClocksSetting SyncBoost DisplayClockSetting": [],
    "SwPowerCap": ["its power cap"],
    "HwSlowdown": ["its hardware"],
    "SwThermalSlowdown": ["its temperature limit"],
    "HwThermalSlowdown": ["its hardware, because of heat"],
    "HwPowerBrakeSlowdown": ["the power brake of its host"],
    # The hardware sets both bits: two statements would be about one thing.
    "SwPowerCap HwSlowdown HwPowerBrakeSlowdown": ["its power cap", "the power brake of its host"],
}


class TestNames:
    def test_which_reasons_are_throttling(self) -> None:
        """Protects idle GPUs, and those whose clocks somebody set, from being called throttled."""
        for names, held in HELD.items():
            bits = (getattr(pynvml, f"nvmlClocksThrottleReason{name}") for name in names.split())
            assert nvidia.held_by(sum(bits)) == held, names

    def test_numbers_are_those_of_the_header(self) -> None:
        """Protects every number that NVML is asked with: nvidia-ml-py is made from nvml.h."""
        links = ("REPLAY", "RECOVERY", "CRC_FLIT", "CRC_DATA", "ECC_DATA")
        assert [*nvidia.LINK_ERRORS] == [getattr(pynvml, f"NVML_NVLINK_ERROR_DL_{one}") for one in links]
        fields = [f"ERROR_DL_{one}" for one in ("REPLAY", "RECOVERY", "CRC")]
        fields += [f"COUNT_{one}" for one in ("RCV_ERRORS", "LINK_RECOVERY_EVENTS", "SYMBOL_ERRORS")]
        assert [*nvidia.LINK_FIELDS] == [getattr(pynvml, f"NVML_FI_DEV_NVLINK_{one}") for one in fields]
        policies = ("POWER", "THERMAL", "BOARD_LIMIT")
        assert [*nvidia.HELD_FIELDS] == [
            getattr(pynvml, f"NVML_FI_DEV_PERF_POLICY_{one}") for one in policies
        ]
        assert [*nvidia.CLOCKS] == [pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM]
        assert [*nvidia.MEMORY_ERRORS] == [
            pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED,
            pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
        ]
        assert nvidia._VOLATILE == pynvml.NVML_VOLATILE_ECC


COUNTERS = {
    "link-0 0:2": "replay errors",
    "link-1 1:0": "recovery errors",
    "link-2 0:0": "CRC errors of flits",
    "link-3 1:2": "CRC errors of data: lanes have them whenever bytes flow, and nothing is sent again",
    "link-4 1:2": "ECC errors, as these",
    "field-208 1:2": "receive errors",
    "field-215 0:0": "link recoveries",
    "field-221 0:2": "symbol errors",
    "replays 1": "PCIe replays",
    "ecc-0 0": "corrected ECC errors",
    "ecc-1 0": "uncorrected ECC errors",
    "rows 1": "remapped rows",
}
CALLS = [
    *("NvLinkErrorCounter", "FieldValues", "TotalEccErrors", "RemappedRows", "PcieReplayCounter"),
    *("CurrentClocksThrottleReasons", "ClockInfo"),
]
STATES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "at rest": ({}, {}),
    **{
        f"{counter} rises by 7: {what}": ({"RISES": f"{counter}=7"}, {}) for counter, what in COUNTERS.items()
    },
    "held back for 300,000,000 ns between the readings": ({"RISES": "field-74 1:0=300000000"}, {}),
    "held back at the end": ({"REASONS": "0x1"}, {"REASONS": "0x40"}),
    "NVLink 5: the driver refuses the older call": (
        {"LACKS": "nvmlDeviceGetNvLinkErrorCounter", "RISES": "field-161 0:2=1,field-163 1:0=2"},
        {},
    ),
    "nothing is supported": ({"LACKS": ",".join(f"nvmlDeviceGet{call}" for call in CALLS)}, {}),
    "rows wait: no error of this run": ({"PENDING": "1"}, {}),
}
"""States of the fake library (tests/support/fake_nvml.cpp), and what changes before the second reading."""


class TestNvidia:
    def test_changes(self, builds: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
        """Protects each counter's name, place and unit, and what is no error; the real pynvml asks.

        Links that are down are not asked, and no error is counted twice: the first text has all.
        """
        monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(nvml_library(builds))))
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
        told: dict[str, object] = {}
        for title, (state, later) in STATES.items():
            with monkeypatch.context() as patch:
                for name, value in state.items():
                    patch.setenv(f"FAKE_NVML_{name}", value)
                source = nvidia.find(GPUS, False)
                assert source
                before = taken(source)
                for name, value in later.items():
                    patch.setenv(f"FAKE_NVML_{name}", value)
                found = changes("n1", before, taken(source))
            told.setdefault("what is read", "\n".join(map(": ".join, sorted(before.errors))))
            lines = [f"{name}: {json.dumps(item)}" for name, items in found.items() for item in items]
            rest = str(told.get("at rest", "")).splitlines()
            more = [f"+ {line}" for line in lines if line not in rest]
            less = [f"- {line}" for line in rest if line not in lines]
            told[title] = "\n".join([*more, *less] if rest else lines)
        golden("evidence/health_nvidia", told)

    def test_none_without_gpus(self) -> None:
        assert nvidia.find([{"kind": "host"}], False) is None


class TestChanges:
    def test_only_rises_are_errors(self) -> None:
        """Protects from a driver that was loaded anew meanwhile, and from counters that appear."""
        before = HealthReading(errors={("a", "x"): 9, ("b", "x"): 1}, held_s={("a", "r"): 2.0})
        after = HealthReading(
            errors={("a", "x"): 3, ("b", "x"): 4, ("c", "x"): 8}, held_s={("a", "r"): 0.1, ("b", "r"): 1}
        )
        found = changes("n1", before, after)
        assert found["errors"] == [{"host": "n1", "place": "b", "what": "x", "count": 3}]
        assert found["throttled"] == []

    def test_a_source_that_breaks(self) -> None:
        """Protects the run: other ranks wait for the one that reads."""

        class Broken(HealthSource):
            def read(self, into: HealthReading) -> None:
                raise RuntimeError("gone")

        assert read([Broken()]).lacks == ["gone"]

    def test_a_source_that_cannot_be_opened(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(devices: Any, several_hosts: bool) -> None:
            raise RuntimeError("no")

        monkeypatch.setattr(nvidia, "find", broken)
        assert "nvidia: no" in find_health_sources([], False)[1]


CORES = {
    f"cpu{number}/{file}": count
    for number, core in enumerate((0, 0, 1))
    for file, count in (
        *(("topology/physical_package_id", "0"), ("topology/core_id", str(core))),
        ("thermal_throttle/core_throttle_count", str(3 + core)),
        ("thermal_throttle/package_throttle_count", "10"),
    )
}
LATER = {f"cpu{number}/thermal_throttle/core_throttle_count": "5" for number in (0, 1)}
PORT = {"mlx5_0/ports/1/counters/symbol_error": "4", "mlx5_0/ports/1/counters/link_downed": "no number"}
NETS = {
    f"{name}/statistics/{what}": count
    for name in ("eth0", "br0")
    for what, count in (("rx_errors", "1"), ("rx_dropped", "99"), ("tx_dropped", "0"))
} | {"eth0/device/vendor": "0x15b3"}
RAS = {
    f"0000:03:00.0/{file}": text
    for file, text in (
        *(("pcie_replay_count", "3"), ("ras/umc_err_count", "ue: 1\nce: 20")),
        ("ras/xgmi_wafl_err_count", "ue: 0\nce: 2"),
    )
}
SYSFS: dict[str, tuple[ModuleType, bool, list[str], dict[str, str], dict[str, str]]] = {
    "events of a core count once, though each of its threads has them": (cpu, False, [], CORES, LATER),
    "a CPU that does not count": (cpu, False, [], {}, {}),
    "ports, between hosts; a counter that is no number": (infiniband, True, [], PORT, {}),
    "ports, inside a host: others' traffic": (infiniband, False, [], PORT, {}),
    "interfaces of hardware, no bridge; drops of unknown protocols are no errors": (
        network,
        True,
        [],
        NETS,
        {},
    ),
    "interfaces, inside a host": (network, False, [], NETS, {}),
    "an AMD GPU": (amd, False, ["hip", "host"], RAS, {}),
    "a GPU of NVIDIA": (amd, False, ["cuda"], RAS, {}),
}
"""Module, several hosts?, kinds of devices, files, and files that have changed at the second reading."""


def test_what_files_tell(tmp_path: Path, golden: Golden) -> None:
    """Protects each number from being counted twice, and from errors that are no one's here."""
    texts = {}
    for number, (title, (module, several, kinds, files, later)) in enumerate(SYSFS.items()):
        write(folder := tmp_path / str(number), files)
        devices = [{"kind": kind, "index": 0, "pci": "0000:03:00.0"} for kind in kinds]
        if (source := module.find(devices, several, folder)) is None:
            texts[title] = "none"
            continue
        before = taken(source)
        write(folder, later)
        found = changes("n1", before, taken(source))
        lines = [f"{': '.join(key)}: {count}" for key, count in (before.errors | before.held_times).items()]
        texts[title] = "\n".join(
            [*lines, *(f"then {one}" for one in (*found["errors"], *found["throttled"]))]
        )
    golden("evidence/health_files", texts)


def test_a_counter_that_is_gone_has_told_nothing() -> None:
    """Protects a rule on errors from a GPU that fell off the bus, and from one that answered once only."""
    both = HealthReading(errors={("GPU 0", "replays"): 1, ("GPU 1", "replays"): 2}, held_now={"GPU 0": []})
    less = HealthReading(errors={("GPU 0", "replays"): 1})
    for before, after in ((both, less), (less, both)):
        found = changes("n1", before, after)
        assert found["counted"] == [] and found["watched"] == []
        assert "n1: replays of GPU 1: read before or after the path only" in found["lacks"]
    assert changes("n1", both, both)["counted"] == ["replays"]
    assert changes("n1", both, both)["watched"] == ["n1 GPU 0"]
