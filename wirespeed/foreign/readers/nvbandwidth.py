"""nvbandwidth: matrices of copies and latencies, text and JSON; GB = 1e9 bytes."""

from __future__ import annotations

import re
from typing import Any

from wirespeed.foreign.found import LogStream
from wirespeed.foreign.matrix import Matrix, MatrixReader
from wirespeed.foreign.shapes import Curve
from wirespeed.foreign.text import number, plain

_VERSION = re.compile(r"nvbandwidth Version: v?(\S+)")
_RUNNING = re.compile(r"Running (\w+)\.\s*$")
_TITLE = re.compile(
    r"(mem\w+ .*?(?:(CPU|GPU)\(row\) ?(->|<-|<->) ?)?(CPU|GPU)\(column\)"
    r"(?: (Read1|Read2|Write1|Write2|Total))?.*?"
    r"(?:bandwidth \((GB)/s\)|latency.*?\((ns)\)|\((ns)\)))"
)
_DEVICE = re.compile(
    r"(?:Process \d+ \([^)]*\): d|D)evice (\d+): (.+?)(?: \([0-9A-Fa-f]+:[0-9A-Fa-f:.]+\))?\s*$"
)
_LISTED = re.compile(r"(?:Device )?\d+: (.+?)(?:(?: \(|: )[0-9A-Fa-f]+:[0-9A-Fa-f:.]+\)?)?(?:: \(.*\))?\s*$")
"""'0: NVIDIA H200 (00000000:00:06): (HOST)'."""
_SUM = re.compile(r"SUM (\w+) ([\d.]+)")
_MEMORY = {
    "host_to_device": "H D",
    "host_to_all": "H D",
    "device_to_host": "D H",
    "all_to_host": "D H",
    "device_to_device": "D D",
    "device_local": "D D",
    "all_to_one": "D D",
    "one_to_all": "D D",
}
"""Parts of tests' names -> memory."""


class Nvbandwidth(MatrixReader):
    """The name of a test, the title of its matrix, and the matrix."""

    words = (
        "nvbandwidth",
        "Running",
        "column",
        "SUM",
        "Device",
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.version = self.test = ""
        self.found_tool = False

    def take(self, text: str, line: int) -> bool:
        if self.devices and text[:8].lstrip()[:1].isdecimal():
            return self.take_row(text, line)
        if "nvbandwidth Version" in text and (version := _VERSION.search(text)):
            self.version, self.found_tool = version[1], True
            return True
        stripped = text.strip()
        if stripped.startswith("Running") and (running := _RUNNING.match(stripped)):
            self.close()
            self.test = running[1]
            return True
        if "(column)" in text and (title := _TITLE.search(text)):
            named, self.test = self.test, self.test or _kind_of(title)
            self._begin(title)
            self.test = named
            return True
        if self.found_tool and "evice " in text and (device := _DEVICE.match(stripped)):
            self.found.model(device[2])
            return True
        return (stripped.startswith("SUM") and _SUM.match(stripped) is not None) or self.take_row(text, line)

    def _begin(self, title: re.Match[str]) -> None:
        columns = title[4]
        times = title[6] is None
        self.begin(
            Matrix(
                self._curve(title[1], title[5] or "", times=times),
                title[2] or "",
                columns,
                1e-9 if times else 1e9,
                times=times,
            )
        )

    def _curve(self, title: str, part: str, *, times: bool) -> Curve:
        test = self.test
        memory = next((ends for start, ends in _MEMORY.items() if start in test), "")
        local = "local" in test
        operation = "latency" if times else "local-copy" if local else "copy"
        how = {"sm": "by kernels", "ce": "by the copy engine"}.get(test[-2:], "")
        words = [
            *([part.lower()] if part else []),
            *(["both directions at once"] if "bidirectional" in test else []),
            *(["all at once"] if "all_" in test or test.startswith("one_to_all") else []),
            *([how] if how else []),
        ]
        return Curve(
            "nvbandwidth",
            self.version,
            operation,
            test,
            "both" if part == "Total" else "one",
            memory,
            hosts=None if "multinode" in test else 1,
            unit_words="" if times else "GB = 1e9 B",
            placement=", ".join(words),
        )

    def take_json(self, value: Any, line: int) -> bool:
        root = value.get("nvbandwidth") if isinstance(value, dict) else None
        if not isinstance(root, dict) or not isinstance(root.get("testcases"), list):
            return False
        version = root.get("version", root.get("git_version", ""))
        self.version, self.found_tool = str(version)[:40].lstrip("v"), True
        for name, library in (("CUDA Runtime Version", "CUDA"), ("Driver Version", "driver")):
            if isinstance(root.get(name), str | int):
                self.found.version(library, plain(str(root[name])[:40]))
        for devices in (value for key, value in root.items() if "device list" in key.lower()):
            for one in devices if isinstance(devices, list) else ():
                if device := _LISTED.match(str(one)[:200]):
                    self.found.model(device[1])
        for one in root["testcases"]:
            if isinstance(one, dict) and isinstance(one.get("bandwidth_matrix"), list):
                self._matrix(one, line)
        self.close()
        return True

    def _matrix(self, one: dict[str, Any], line: int) -> None:
        self.test = str(one.get("name", ""))[:80]
        title = _TITLE.search(str(one.get("bandwidth_description", "")))
        if title is None:
            return
        self._begin(title)
        for row, cells in enumerate(one["bandwidth_matrix"]):
            self.devices = list(range(len(cells))) if isinstance(cells, list) else []
            if not self.found.has_room(len(self.devices), line, kept=self.kept):
                continue
            for column in self.devices:
                value = cells[column]
                figure = number(value) if isinstance(value, str) else None
                if figure is not None and figure >= 0:
                    self._add(row, column, figure, line)

    def local(self, operation: str) -> str:
        return operation


def _kind_of(title: re.Match[str]) -> str:
    """'device_to_device_memcpy_ce' of a title alone."""
    ends = ["device" if end == "GPU" else "host" for end in (title[2] or title[4], title[4])]
    ways = ends[::-1] if title[3] == "<-" and ends[0] != ends[1] else ends
    both = "_bidirectional" * (title[3] == "<->")
    return f"{'_to_'.join(ways)}{both}_memcpy_{'sm' if ' SM ' in title[1] else 'ce'}"


READER = Nvbandwidth
