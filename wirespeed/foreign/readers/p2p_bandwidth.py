"""p2pBandwidthLatencyTest of CUDA's samples, and rocm-bandwidth-test: matrices; GB = 1e9 bytes."""

from __future__ import annotations

import re

from wirespeed.foreign.found import LogStream
from wirespeed.foreign.matrix import Matrix, MatrixReader
from wirespeed.foreign.shapes import Curve

_BANDWIDTH = re.compile(
    r"\s*((Uni|Bi)directional P2P=(?:Enabled|Disabled) Bandwidth (?:\(P2P \w+\) )?Matrix) \((GB)/s\)"
)
_LATENCY = re.compile(r"\s*(P2P=(?:Enabled|Disabled) Latency (?:\(P2P \w+\) )?Matrix) \(us\)")
_ROCM = re.compile(r"\s*((Uni|B[i]?)directional copy peak bandwidth) GB/s\s*$")
_CONNECTED = re.compile(r"\s*(?:D\\D)?(?:\s+\d+)+\s*$")
_ROCM_ACCESS = re.compile(r"\s*Inter-Device (?:Access|Numa Distance)")
_ROCM_DEVICE = re.compile(r"\s*Device: +(\d+), +([^,]+?)(, .+)?$")
"""Of a CPU, nothing follows its name."""
_DEVICE = re.compile(r"\s*Device: \d+, +(.+?), *pciBusID")


class P2pBandwidth(MatrixReader):
    """The matrix by the CPU's clock is another one than that by the GPU's."""

    words = (
        "Matrix",
        *("pciBusID", "Device", "Inter"),
        "Unidirectional",
        "Bidirectional",
        "Bdirectional",
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.ends: dict[int, str] = {}
        """Of rocm-bandwidth-test's devices: 'H' a CPU, 'D' a GPU."""

    def take(self, text: str, line: int) -> bool:
        if self.devices and text[:8].lstrip()[:1].isdecimal():
            return self.take_row(text, line)
        if "Inter-Device" in text and _ROCM_ACCESS.match(text):
            self.open(Curve("rocm-bandwidth-test", hosts=1))
            self.matrix, self.devices = None, []
            return True
        if "P2P Connectivity Matrix" in text:
            self.open(Curve("p2pBandwidthLatencyTest", hosts=1))
            self.matrix, self.devices = None, []
            return True
        if self.curve is not None and self.matrix is None and _CONNECTED.match(text):
            return True
        if "Device:" in text and (device := _DEVICE.match(text)):
            self.found.model(device[1])
            return True
        if "Device:" in text and (device := _ROCM_DEVICE.match(text)):
            self.ends[int(device[1])] = "D" if device[3] else "H"
            if device[3]:
                self.found.model(device[2])
            return True
        for pattern, tool in ((_BANDWIDTH, "p2pBandwidthLatencyTest"), (_ROCM, "rocm-bandwidth-test")):
            if "irectional" in text and (found := pattern.match(text)):
                direction = "one" if found[2] == "Uni" else "both"
                memory = "D D" if pattern is _BANDWIDTH else ""
                hosts = 1
                curve = Curve(
                    tool, "", "copy", found[1], direction, memory, hosts=hosts, unit_words="GB = 1e9 B"
                )
                kind = "GPU" if pattern is _BANDWIDTH else "device"
                self.begin(Matrix(curve, kind, kind))
                return True
        if "Latency" in text and (found := _LATENCY.match(text)):
            self._latency(found[1])
            return True
        if self.matrix and self.matrix.times and text.split()[:1] == ["CPU"]:
            self._latency(f"{self.matrix.curve.name.removesuffix(', CPU clock')}, CPU clock")
        return self.take_row(text, line)

    def ends_of(self, row: int, column: int) -> str:
        ends = self.ends.get(row), self.ends.get(column)
        assert self.matrix is not None
        rocm = self.matrix.rows == "device" and all(ends)
        return f"{ends[0]} {ends[1]}" if rocm else self.matrix.curve.memory

    def _latency(self, name: str) -> None:
        curve = Curve("p2pBandwidthLatencyTest", "", "latency", name, memory="D D", hosts=1)
        self.begin(Matrix(curve, factor=1e-6, times=True))


READER = P2pBandwidth
