"""Matrices of figures between numbered devices, as several tools print them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import number

_COLUMNS = re.compile(r"\s*(?:D\\D|D/D|GPU|CPU)?((?:\s+\d+)+)\s*$|(0(?:\s+\d+)*)\s*$")
_MOST = 1024


@dataclass(frozen=True)
class Matrix:
    """Title of a matrix. rows, columns: names of the devices, such as 'GPU'."""

    curve: Curve
    rows: str = "GPU"
    columns: str = "GPU"
    factor: float = 1e9
    """Bytes per second of a rate of 1, or seconds of a time of 1."""
    times: bool = False
    size: int = -1


class MatrixReader(Reader):
    """Reads the rows behind a title; each pair is a curve of its own."""

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.matrix: Matrix | None = None
        self.devices: list[int] = []

    def begin(self, matrix: Matrix) -> None:
        self.open(matrix.curve)
        self.matrix, self.devices = matrix, []

    def take_row(self, text: str, line: int) -> bool:
        """The head of the columns, or a row."""
        if self.matrix is None or self.curve is None:
            return False
        tokens = text.split()
        if not self.devices:
            if head := _COLUMNS.match(text):
                self.devices = [int(word) for word in (head[1] or head[2]).split()][:_MOST]
                return bool(self.devices)
            return False
        if len(tokens) != len(self.devices) + 1 or not tokens[0].isdecimal():
            head = _COLUMNS.match(text)
            if head and not tokens[0].isdecimal():
                self.devices = [int(word) for word in (head[1] or head[2]).split()][:_MOST]
                return True
            return False
        commas = "," in text
        values = [None if token == "N/A" else number(token, commas=commas) for token in tokens[1:]]
        if any(value is None and token != "N/A" for value, token in zip(values, tokens[1:], strict=True)):
            return False
        if not self.found.has_room(len(values), line, kept=self.kept):
            return True
        for device, value in zip(self.devices, values, strict=True):
            if value is not None and value >= 0:
                self._add(int(tokens[0]), device, value, line)
        return True

    def _add(self, row: int, column: int, value: float, line: int) -> None:
        matrix = self.matrix
        assert matrix is not None
        curve = matrix.curve
        local = matrix.rows == matrix.columns and row == column
        seconds, rate = (value * matrix.factor, None) if matrix.times else (None, value * matrix.factor)
        pair = f"{matrix.rows}{row} {matrix.columns}{column}"
        self.found.curves.append(
            Curve(
                curve.tool,
                curve.version,
                self.local(curve.operation) if local else curve.operation,
                curve.name,
                # CUDA's test counts bytes read and bytes written, AMD's each byte once.
                "both" if local and not matrix.times and matrix.rows == "GPU" else curve.direction,
                self.ends_of(row, column),
                curve.ranks,
                curve.hosts,
                (Point(matrix.size, seconds, rate, line=line),),
                curve.unit_words,
                pair,
                curve.placement,
            )
        )

    def ends_of(self, row: int, column: int) -> str:
        """'H D': memory of a row's device and a column's."""
        return self.matrix.curve.memory if self.matrix else ""

    def local(self, operation: str) -> str:
        """Operation of a device with itself."""
        return f"local-{operation}" if operation in ("copy", "latency") else operation

    def close(self) -> None:
        super().close()
        self.matrix, self.devices = None, []
