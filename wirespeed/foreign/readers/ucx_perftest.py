"""ucx_perftest: MB = 2^20 bytes; a line a second, then `Final:`; in batch mode a size a line."""

from __future__ import annotations

import re
from dataclasses import replace

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import count, numbers, whole

_MB = 2**20
_OLD = re.compile(r"\| typical \|")
"""Column of versions before 1.11, which call the time of a message a latency, whatever is measured."""
_KINDS = re.compile(r"\s*\|[\s|]*(overhead|latency) \(usec\)\s*\|\s*bandwidth \((MB|GB)/s\)")
_ROW = re.compile(r"\s*(\[thread \d+\]|Final:|\d[\d_]*(?=\s+\d+\s))(.*)")
_BATCH = re.compile(r"\s*\+([^-+|\s][^-+|]*)-[-+]+$")
"""Name of a test of a batch file: often its size, which must agree with its figures."""
_LAST = re.compile(r"\s*(?:\S+:)?\s*(Final:)\s+(\d.*)")
_TEST = re.compile(r"-t\s+(\w+)")
_SIZE = re.compile(r"-s\s+(\d+)\b(?![:,])")
_MEMORY = re.compile(r"-m\s+([\w-]+)(?:,([\w-]+))?")
_HEADER = re.compile(
    r"\s*\|\s*(API|Test|Data layout|Send memory|Recv memory|Message size|Window size):\s*(.*?)\s*\|?\s*$"
)
_OPERATIONS = (
    *(("_bw", "bandwidth"), ("_lat", "pingpong"), ("get latency /", "rma")),
    *(("bandwidth", "bandwidth"), ("latency", "pingpong"), ("put", "rma"), ("get", "rma"), ("add", "rma")),
)
"""Parts of a test's name on the command line or in the box above -> operation."""
_AGREE, _ROUNDING = 0.02, 0.005
"""Share by which the bytes of a time and a rate may differ from the size; rounding error of a rate."""
_COLUMNS = 8
"""Iterations; percentile, average, overall time; average, overall bandwidth; average, overall rate."""


class UcxPerftest(Reader):
    """The box of columns opens a table."""

    words = (
        "overhead",
        "latency",
        "API",
        "Test",
        "Data",
        "memory",
        "Message",
        "Window",
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.head: dict[str, str] = {}
        self.test = ""
        self.latency = False
        self.factor = float(_MB)
        self.size = -1
        self.named: int | None = None
        """Size that the batch file's name for the test says."""
        self.before = ("", 0.0)
        """Label and iterations of the last row."""

    def take(self, text: str, line: int) -> bool:
        if "|" in text and (head := _HEADER.match(text)):
            if head[1] in ("API", "Test") and self.points:
                self.close()
            self.head[head[1]] = head[2]
            return True
        if "(usec)" in text and (kinds := _KINDS.match(text)):
            self._open(latency=kinds[1] == "latency", giga=kinds[2] == "GB")
            return True
        if self.curve is not None and not self.test and _OLD.search(text):
            self.curve = replace(self.curve, operation="")
            return True
        if self.curve is not None and (batch := _BATCH.match(text)):
            self.named = whole(batch[1])
            return True
        if text.lstrip().startswith(("+--", "|")):
            return self.curve is not None
        return self.curve is not None and self._row(text, line)

    def _open(self, *, latency: bool, giga: bool) -> None:
        command = self.stream.command if "ucx_perftest" in self.stream.command else ""
        found = _TEST.search(command)
        self.test = found[1] if found else self.head.get("Test", "")
        usual = "pingpong" if latency else "bandwidth"
        operation = next((ours for theirs, ours in _OPERATIONS if theirs in self.test), usual)
        self.latency = latency and operation != "bandwidth"
        self.factor = 2.0**30 if giga else float(_MB)
        head, self.head, self.named = self.head, {}, None
        self.open(
            Curve(
                "ucx_perftest",
                "",
                operation,
                self.test,
                memory=self._memory(head, command),
                ranks=2,
                unit_words="GB = 2^30 B" if giga else "MB = 2^20 B",
            )
        )
        self.size = int(size[1]) if (size := _SIZE.search(command)) else -1
        if (said := whole(head.get("Message size", ""))) is not None:
            self.size = said

    def _memory(self, head: dict[str, str], command: str) -> str:
        words = [head.get("Send memory", ""), head.get("Recv memory", "")]
        if not all(words) and (found := _MEMORY.search(command)):
            words = [found[1], found[2] or found[1]]
        if not all(words):
            return ""
        return " ".join("D" if re.match("cuda|rocm|ze", word) else "H" for word in words)

    def _row(self, text: str, line: int) -> bool:
        found = _ROW.match(text) or _LAST.match(text)
        # Before 1.10 a row had no label.
        label, rest = (found[1].replace("_", ""), found[2]) if found else ("", text)
        values = numbers(rest)
        if values is None or len(values) != _COLUMNS or self.curve is None:
            return False
        size = self.size if (labelled := whole(label)) is None else labelled
        iterations = count(values[0])
        _, _, overall, rate, mean = values[1:6]
        if min(values) < 0 or iterations is None:
            return False
        before, self.before = self.before, (label, iterations)
        if label == "Final:" and before[0].startswith("[") and before[1] == iterations:
            return True  # the last line once more
        if labelled is None and self.named is not None:
            named = self.named * (1 - _AGREE), self.named * (1 + _AGREE)
            rounding = _ROUNDING * self.factor * values[2] / 1e6
            moved = rate * self.factor * values[2] / 1e6
            size = self.named if named[0] - rounding < moved < named[1] + rounding else -1
        if self.latency:
            # Both are of the whole run, so that the size follows from them.
            made = Point(size, overall / 1e6, mean * self.factor, repetitions=iterations, line=line)
        else:
            now = rate * self.factor
            made = Point(
                size, None, now, average=now, overall=mean * self.factor, repetitions=iterations, line=line
            )
        return self.add(line, made)

    def close(self) -> None:
        if self.curve is not None and self.points and all(point.bytes < 0 for point in self.points):
            self.curve = replace(self.curve, placement="the size is not said")
        super().close()


READER = UcxPerftest
