"""UCC's ucc_perftest: a head, then a row a size with times of the ranks, and with -F the bus bandwidth."""

from __future__ import annotations

import re

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import numbers, whole

_FIELD = re.compile(r"(Collective|Memory type|Inplace|Datatype): *(\S[\w /-]{0,30}?)\s*$")
_COLUMNS = re.compile(r"\s*Count +Size +Time, us(?: +(?:Bus )?Bandwidth, GB/s)?\s*$")
_WIDTHS = (5, 8)
"""Figures of a row, without the three bandwidths and with them; the first is that of the average time."""
_OPERATIONS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "allgatherv": "all-gather",
    "alltoall": "all-to-all",
    "alltoallv": "all-to-all",
    "bcast": "broadcast",
    "reduce_scatter": "reduce-scatter",
    "reduce_scatterv": "reduce-scatter",
    "memcpy": "local-copy",
}
_MEMORY = {"host": "H H", "cuda": "D D", "rocm": "D D", "cuda-managed": "M M", "rocm-managed": "M M"}


class UccPerftest(Reader):
    """Times are averages over the iterations: of all ranks, of the quickest, of the slowest."""

    words = ("Collective", "Memory", "Inplace", "Datatype", "Count")

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.fields: dict[str, str] = {}

    def take(self, text: str, line: int) -> bool:
        if field := _FIELD.match(text):
            if field[1] == "Collective":
                self.close()
                self.fields = {}
            self.fields[field[1]] = field[2]
            return "Collective" in self.fields
        if "Collective" in self.fields and _COLUMNS.match(text):
            self._open(rated="Bandwidth" in text)
            return True
        return self.curve is not None and (text.split()[:2] == ["avg", "min"] or self._row(text, line))

    def _open(self, *, rated: bool) -> None:
        name = self.fields["Collective"]
        self.open(
            Curve(
                "ucc_perftest",
                operation=_OPERATIONS.get(name.lower(), name.lower()),
                name=name,
                direction="bus" if rated and name.lower() != "memcpy" else "one",
                memory=_MEMORY.get(self.fields.get("Memory type", ""), ""),
                unit_words="GB = 1e9 B" if rated else "",
            )
        )

    def _row(self, text: str, line: int) -> bool:
        tokens = text.replace("N/A", "0").split()
        size = whole(tokens[1]) if len(tokens) in _WIDTHS else None
        values = numbers(" ".join(tokens))
        # Two decimals are always printed, unless the line was cut off.
        if size is None or values is None or min(values) < 0 or text.rstrip()[-3:-2] not in (".", ",", "N"):
            return False
        average, shortest, longest = (value / 1e6 for value in values[2:5])
        rate = values[5] * 1e9 if len(values) > _WIDTHS[0] and values[5] else None
        in_place = {"0": False, "1": True}.get(self.fields.get("Inplace", ""))
        return self.add(
            line,
            Point(size, average, rate, t_min=shortest, t_max=longest, in_place=in_place, line=line),
        )


READER = UccPerftest
