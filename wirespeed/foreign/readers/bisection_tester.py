"""Bisection Bandwidth Tester: a head, and for each way of exchange the rate of one group, both directions."""

from __future__ import annotations

import re
from dataclasses import replace

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point

_HEAD = re.compile(
    r"(Number of processes|Number of iterations|Number of proc\. per group):? +(\d{1,9})\s*$"
    r"|(Peer-to-peer) count \d+ \( *(\d{1,18}) Bytes\)"
)
_VERSION = re.compile(r"(CPU|CUDA|HIP) VERSION\s*$")
_TOTAL = re.compile(r"totalTime: \S+ totalData: \S+ GB \((\d[.,]\d+e[+-]\d\d) GB/s\) --- (\S.{0,59}?)\s*$")
_ROUND = re.compile(r"(?:warmup )?time:? \d[.,]\d+e[+-]\d\d\s*$|ENABLE ")


class BisectionTester(Reader):
    """One run has one size: runs of other sizes go on with the same curves."""

    words = ("Number", "Peer", "VERSION", "ENABLE", "time", "warmup", "totalTime")
    size = ranks = rounds = group = 0
    memory = ""

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.latest: dict[Curve, int] = {}
        """Curve without its points -> its place among all."""

    def take(self, text: str, line: int) -> bool:
        if _ROUND.match(text):  # most lines
            return self.size > 0
        if head := _HEAD.match(text):
            name, value = head[1] or head[3], int(head[2] or head[4])
            if name == "Number of processes":
                self.ranks = value
            elif name == "Number of iterations":
                self.rounds = value
            elif name == "Peer-to-peer":
                self.size = value
            else:
                self.group = value
            return True
        if not self.size:
            return False
        if version := _VERSION.match(text):
            self.memory = "H H" if version[1] == "CPU" else "D D"
            return True
        if (total := _TOTAL.match(text)) is None:
            return False
        rate = float(total[1].replace(",", ".")) * 1e9
        self._add(total[2], Point(self.size, None, rate, repetitions=self.rounds or None, line=line))
        return True

    def _add(self, name: str, point: Point) -> None:
        if not self.found.has_room(1, point.line, kept=False):
            return
        curve = Curve(
            "Bisection Bandwidth Tester",
            operation="groups",
            name=name,
            direction="both",
            memory=self.memory,
            ranks=self.ranks or None,
            placement=f"groups of {self.group}" if self.group else "",
            unit_words="GB = 1e9 B",
        )
        curves = self.found.curves
        if (at := self.latest.get(curve)) is not None and point.bytes > curves[at].points[-1].bytes:
            curves[at] = replace(curves[at], points=(*curves[at].points, point))
        else:
            self.latest[curve] = len(curves)
            curves.append(replace(curve, points=(point,)))


READER = BisectionTester
