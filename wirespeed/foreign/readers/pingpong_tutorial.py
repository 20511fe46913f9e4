"""OLCF's CUDA-aware MPI ping-pong tutorial, and what --format tutorial prints: a line a size; GB = 2^30 B."""

from __future__ import annotations

import re

from wirespeed.foreign.found import Reader
from wirespeed.foreign.shapes import Curve, Point

_LINE = re.compile(
    r"\s*Transfer size \(B\): +(\d{1,18}), Transfer Time \(s\): +(\d{1,9}[.,]\d+), "
    r"Bandwidth \(GB/s\): +(\d{1,9}[.,]\d+)\s*$"
)


class PingPongTutorial(Reader):
    """A smaller size than the last one begins a table; the command tells of the three programs."""

    words = ("Transfer",)

    def take(self, text: str, line: int) -> bool:
        match = _LINE.match(text)
        if match is None:
            return False
        size, seconds, rate = int(match[1]), *(float(match[at].replace(",", ".")) for at in (2, 3))
        if self.curve is None or (self.points and size <= self.points[-1].bytes):
            command = self.stream.command
            staged, aware = "cuda_staged" in command, "cuda_aware" in command
            self.open(
                Curve(
                    "ping-pong tutorial",
                    operation="pingpong",
                    name="staged" if staged else "aware" if aware else "ping-pong",
                    memory="D D" if staged or aware else "",
                    ranks=2,
                    unit_words="GB = 2^30 B",
                )
            )
        return self.add(line, Point(size, seconds, rate * 2**30, line=line))


READER = PingPongTutorial
