"""TransferBench: transfers one by one, and its matrix of pairs; GB = 1e9 bytes."""

from __future__ import annotations

import re

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import number

_VERSION = re.compile(r"TransferBench v([\d.]+\w*)")
_SIZE = re.compile(r"Bytes Per Direction\s+(\d+)")
_MATRIX = re.compile(r"\s*((Uni|Bi)directional copy peak bandwidth) GB/s\s*(\[[^]]*\].*)")
_HEAD = re.compile(r"\s*SRC(?:\+EXE)?\\DST((?:\s+(?:CPU|GPU)\s*\d+)+)")
_ROW = re.compile(r"\s*((?:CPU|GPU)\s*\d+)\s*(<->|->|<-)\s*(.+)$")
_TRANSFER = re.compile(
    r"\s*Transfer\s+(\d+)\s*[|│:]\s*(\d+\.?\d*) GB/s\s*[|│]\s*(\d+\.?\d*) ms\s*[|│]"
    r"\s*(\d+) bytes\s*[|│]\s*(.+?)\s*[|│]?$"
)
_TEST = re.compile(r"\s*Test (\d+):")
_END = re.compile(r"(?:R\d+)?([CGFBDHMNU])(\d+)")


class TransferBench(Reader):
    """Each transfer, and each pair of a matrix, is a curve of one point."""

    words = (
        "TransferBench",
        "Bytes",
        "Unidirectional",
        "Bidirectional",
        "SRC",
        "Transfer",
        "Test",
        "CPU",
        "GPU",
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.version = self.test = ""
        self.size = -1
        self.matrix: Curve | None = None
        self.columns: list[str] = []

    def take(self, text: str, line: int) -> bool:
        if self.columns and text.lstrip()[:3] in ("CPU", "GPU") and (row := _ROW.match(text)):
            return self._row(row, line)
        if "TransferBench v" in text and (version := _VERSION.search(text)):
            self.version = version[1]
        elif "Bytes Per" in text and (size := _SIZE.search(text)):
            self.size = int(size[1]) if len(size[1]) < 18 else -1
        elif "copy peak bandwidth" in text and (title := _MATRIX.match(text)):
            direction = "one" if title[2] == "Uni" else "both"
            name = f"{title[1]} {title[3]}"[:100]
            unit = "GB = 1e9 B"
            self.matrix = Curve(
                "TransferBench", self.version, "copy", name, direction, hosts=1, unit_words=unit
            )
            self.columns = []
        elif self.matrix and "DST" in text and (head := _HEAD.match(text)):
            self.columns = re.findall(r"(?:CPU|GPU)\s*\d+", head[1])
        elif "Transfer " in text and (transfer := _TRANSFER.match(text)):
            self._transfer(transfer, line)
        elif "Test " in text and (test := _TEST.match(text)):
            self.test = f"test {test[1]}"
            return bool(self.version)
        else:
            return False
        return True

    def _row(self, row: re.Match[str], line: int) -> bool:
        tokens = row[3].split()
        values = [None if token == "N/A" else number(token) for token in tokens]
        if len(values) != len(self.columns) or self.matrix is None:
            return False
        if self.matrix.direction == "both" and row[2] != "<->":
            return True  # one direction of both at once: their sum stands in the row below
        if not self.found.has_room(len(values), line, kept=False):
            return True
        for name, value in zip(self.columns, values, strict=True):
            if value is not None and value >= 0:
                self._add(self.matrix, _place(row[1]), _place(name), value, self.size, line)
        return True

    def _add(self, curve: Curve, sender: str, receiver: str, value: float, size: int, line: int) -> None:
        local = sender == receiver
        ends = "D" if sender.startswith("GPU") else "H", "D" if receiver.startswith("GPU") else "H"
        self.found.curves.append(
            Curve(
                curve.tool,
                curve.version,
                "local-copy" if local else "copy",
                curve.name,
                curve.direction,
                " ".join(ends),
                None,
                1,
                (Point(size, None, value * 1e9, line=line),),
                curve.unit_words,
                f"{sender} {receiver}",
                curve.placement,
            )
        )

    def _transfer(self, found: re.Match[str], line: int) -> None:
        ends = [one for part in found[5].split("->") if (one := _END.search(part.strip()))]
        names = [f"{'GPU' if one[1] in 'GFM' else 'CPU'}{int(one[2])}" for one in ends]
        if len(names) < 2 or len(found[4]) > 17:
            return
        name = f"{self.test} transfer {int(found[1])}".strip()
        curve = Curve(
            "TransferBench", self.version, "copy", name, unit_words="GB = 1e9 B", placement=found[5][:60]
        )
        if self.found.has_room(1, line, kept=False):
            self._add(curve, names[0], names[-1], float(found[2]), int(found[4]), line)


def _place(name: str) -> str:
    """'GPU3' of 'GPU 03'."""
    return f"{name[:3]}{int(name[3:])}"


READER = TransferBench
