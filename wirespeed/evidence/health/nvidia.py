"""NVIDIA's GPUs: errors of NVLink, PCIe and memory, clocks, and what holds them back, by NVML.

Reading takes no privilege. What a GPU or its driver does not support is left out, and said once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wirespeed.evidence.health import HealthReading, HealthSource
from wirespeed.host.nvml import GpuHandle, Nvml, NvmlError

LINK_ERRORS = {
    0: "NVLink replay errors",
    1: "NVLink recovery errors",
    2: "NVLink CRC errors of flits",
    3: "NVLink CRC errors of data",
    4: "NVLink ECC errors",
}
"""NVML_NVLINK_ERROR_DL_* (nvml.h), which nvmlDeviceGetNvLinkErrorCounter takes."""
CORRECTED = {3, 4}
"""Errors on a link's lanes, which it corrects without a replay (measured: docs/evidence.md)."""
LINK_FIELDS = {
    161: LINK_ERRORS[0],
    162: LINK_ERRORS[1],
    163: "NVLink CRC errors",
    208: "NVLink receive errors",
    215: "NVLink link recoveries",
    221: "NVLink symbol errors",
}
"""NVML_FI_DEV_NVLINK_ERROR_DL_* and _COUNT_* (nvml.h), for newer GPUs; their scope is the link's number."""
HELD_FIELDS = {74: "its power cap", 75: "its temperature limit", 77: "a limit of its board"}
"""NVML_FI_DEV_PERF_POLICY_POWER, _THERMAL and _BOARD_LIMIT: nanoseconds (nvml.h).

The finer NVML_FI_DEV_CLOCKS_EVENT_REASON_* have had other numbers in other versions of nvml.h.
"""
REASONS = {
    0x4: HELD_FIELDS[74],
    0x8: "its hardware",
    0x20: HELD_FIELDS[75],
    0x40: "its hardware, because of heat",
    0x80: "the power brake of its host",
    0x200: HELD_FIELDS[77],
}
"""nvmlClocksEventReason* (nvml.h) that hold clocks back; the others are settings, or an idle GPU."""
HARDWARE, CAUSES = 0x8, 0x40 | 0x80
"""The first is set with either of the second, which say more."""
CLOCKS = {1: "sm", 2: "memory"}
"""NVML_CLOCK_SM and NVML_CLOCK_MEM: megahertz."""
MEMORY_ERRORS = {0: "corrected ECC errors", 1: "uncorrected ECC errors"}
"""NVML_MEMORY_ERROR_TYPE_*."""
_VOLATILE = 0
"""NVML_VOLATILE_ECC: since the driver was loaded."""


def held_by(bits: int) -> list[str]:
    """Reasons that hold a GPU's clocks back, of NVML's bits; empty where nothing does."""
    if bits & CAUSES:
        bits &= ~HARDWARE
    return [reason for bit, reason in REASONS.items() if bits & bit]


@dataclass
class _Board:
    """One GPU, and what it answers."""

    gpu: GpuHandle
    name: str
    links: list[int]
    link_errors: list[int] = field(default_factory=list)
    fields: list[tuple[int, int]] = field(default_factory=list)
    """(field, scope) of links, then of times."""
    most: dict[str, int] = field(default_factory=dict)


class Nvidia(HealthSource):
    """The GPUs of this host's ranks."""

    def __init__(self, nvml: Nvml, gpus: Sequence[tuple[GpuHandle, str]]) -> None:
        """`gpus`: handle and name of each."""
        self._nvml = nvml
        self._lacks: dict[str, str] = {}
        self._boards = [self._board(gpu, name) for gpu, name in gpus]

    def _board(self, gpu: GpuHandle, name: str) -> _Board:
        """Finds out, by its first link, what the GPU counts: later readings ask for nothing else."""
        links = [link.number for link in self._nvml.links(gpu) if link.active]
        board = _Board(gpu, name, links)
        if links:
            board.link_errors = [
                link_error for link_error in LINK_ERRORS if self._link_error(gpu, links[0], link_error) >= 0
            ]
        known = {LINK_ERRORS[link_error] for link_error in board.link_errors}
        # The newer counter of CRC errors would count those of flits once more.
        known |= {LINK_FIELDS[163]} if LINK_ERRORS[2] in known else set()
        wanted = [number for number, what in LINK_FIELDS.items() if what not in known] if links else []
        asked = [*((number, links[0]) for number in wanted), *((held_field, 0) for held_field in HELD_FIELDS)]
        able = {
            pair for pair, value in zip(asked, self._fields(gpu, asked), strict=True) if value is not None
        }
        of_links = [number for number in wanted if (number, links[0]) in able]
        board.fields = [(number, link) for number in of_links for link in links]
        board.fields += [(held_field, 0) for held_field in HELD_FIELDS if (held_field, 0) in able]
        known |= {LINK_FIELDS[link] for link in of_links}
        for what in (LINK_ERRORS[0], LINK_ERRORS[1], LINK_FIELDS[163]) if links else ():
            if what not in known:
                self._lacks.setdefault(what, "not supported")
        for kind, clock in CLOCKS.items():
            if most := self._nvml.ask("nvmlDeviceGetMaxClockInfo", 0, gpu, kind):
                board.most[f"most_{clock}"] = int(most)
        return board

    def _link_error(self, gpu: GpuHandle, link: int, counter: int) -> int:
        return int(self._nvml.ask("nvmlDeviceGetNvLinkErrorCounter", -1, gpu, link, counter))

    def _fields(self, gpu: GpuHandle, asked: Sequence[tuple[int, int]]) -> list[int | None]:
        try:
            return self._nvml.fields(gpu, asked) if asked else []
        except NvmlError:
            return [None] * len(asked)

    def read(self, into: HealthReading) -> None:
        for board in self._boards:
            self._read_links(board, into)
            self._read_clocks(board, into)
            self._read_memory(board, into)
        into.lacks += [f"{what}: {why}" for what, why in self._lacks.items()]

    def _read_links(self, board: _Board, into: HealthReading) -> None:
        for link in board.links:
            for counter in board.link_errors:
                if (count := self._link_error(board.gpu, link, counter)) >= 0:
                    found = into.corrected if counter in CORRECTED else into.errors
                    found[f"{board.name} link {link}", LINK_ERRORS[counter]] = count
        for (asked, scope), value in zip(board.fields, self._fields(board.gpu, board.fields), strict=True):
            if value is not None and asked in HELD_FIELDS:
                into.held_s[board.name, HELD_FIELDS[asked]] = value / 1e9
            elif value is not None:
                into.errors[f"{board.name} link {scope}", LINK_FIELDS[asked]] = value

    def _read_clocks(self, board: _Board, into: HealthReading) -> None:
        bits = self._counted("what holds clocks back", "nvmlDeviceGetCurrentClocksThrottleReasons", board.gpu)
        if bits is not None:
            into.held_now[board.name] = held_by(int(bits))
        now = {
            name: int(clock)
            for kind, name in CLOCKS.items()
            if (clock := self._counted(f"{name} clock", "nvmlDeviceGetClockInfo", board.gpu, kind))
        }
        into.clocks[board.name] = {**now, **board.most}

    def _read_memory(self, board: _Board, into: HealthReading) -> None:
        replays = self._counted("PCIe replays", "nvmlDeviceGetPcieReplayCounter", board.gpu)
        if replays is not None:
            into.errors[board.name, "PCIe replays"] = int(replays)
        for kind, what in MEMORY_ERRORS.items():
            count = self._counted(what, "nvmlDeviceGetTotalEccErrors", board.gpu, kind, _VOLATILE)
            if count is not None:
                into.errors[board.name, what] = int(count)
        rows = self._counted("remapped rows", "nvmlDeviceGetRemappedRows", board.gpu)
        if rows is not None:
            corrected, uncorrected, pending, failed = rows
            into.errors[board.name, "remapped rows of memory"] = int(corrected) + int(uncorrected)
            if pending:
                into.notes.append(f"{board.name}: memory rows wait to be remapped, by a reset of the GPU")
            if failed:
                into.notes.append(f"{board.name}: memory rows could not be remapped")

    def _counted(self, what: str, call: str, *arguments: Any) -> Any:
        """The answer; None, and a line that says so, where the GPU or its driver gives none."""
        try:
            return self._nvml.call(call, *arguments)
        except NvmlError as error:
            self._lacks.setdefault(what, str(error).partition(": ")[2])
            return None

    def close(self) -> None:
        self._nvml.close()


def find(devices: Sequence[Mapping[str, Any]], several_hosts: bool) -> HealthSource | None:
    """None where there is no NVIDIA GPU. Raises NvmlError."""
    nvml = Nvml.open_for(devices)
    return Nvidia(nvml, [(gpu, f"GPU {one['index']}") for gpu, one in nvml.gpus(devices)]) if nvml else None
