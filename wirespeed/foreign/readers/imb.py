"""Intel MPI Benchmarks: which MB they mean follows from their own times."""

from __future__ import annotations

import re
from dataclasses import replace

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import count, numbers

_TITLE = re.compile(r"#\s*Benchmarking\s+(\w+)")
_RANKS = re.compile(r"#\s*#processes\s*=\s*(\d+)")
_VERSION = re.compile(r"#\s*Intel\(?R?\)? MPI Benchmarks\s+(\S+?),|#\s*Intel \(R\) MPI Benchmarks ([^,]+),")
_TIMES = ("t[usec]", "t_avg[usec]", "t_pure[usec]")
"""Of operations that do not block, without the computation beside them."""
_COLUMN = re.compile(
    r"#bytes|#repetitions|t(?:_\w+)?\[usec\]|Mbytes/sec|Msg/sec|defects|overlap\[%\]",
    re.IGNORECASE,
)
_GPU = re.compile(r"-mem_alloc_type\s+(\w+)")
_OPERATIONS = {
    "pingpong": ("pingpong", "one", 1),
    "pingping": ("exchange", "one", 1),
    "sendrecv": ("sendrecv", "both", 2),
    "exchange": ("exchange", "both", 4),
    "uniband": ("bandwidth", "one", 0),
    "biband": ("both-ways", "both", 0),
    "allreduce": ("all-reduce", "algorithm", 0),
    "allgather": ("all-gather", "algorithm", 0),
    "reduce_scatter": ("reduce-scatter", "algorithm", 0),
    "alltoall": ("all-to-all", "algorithm", 0),
    "bcast": ("broadcast", "algorithm", 0),
    "reduce": ("reduce", "algorithm", 0),
    "barrier": ("barrier", "algorithm", 0),
    "gather": ("gather", "algorithm", 0),
    "scatter": ("scatter", "algorithm", 0),
    "sendrecv_replace": ("sendrecv", "both", 2),
    "birandom": ("sendrecv", "both", 2),
    "corandom": ("sendrecv", "both", 2),
    "unidir_put": ("rma", "one", 1),
    "unidir_get": ("rma", "one", 1),
}
"""Name -> operation, direction, messages in a time that the rate counts; 0: no time is printed with it."""
_FILES = re.compile("[SPC]_")
"""Beginnings of the names of benchmarks of files."""
_MODE = re.compile(r"#\s*MODE:\s*([\w-]+)")
_KIN = re.compile(r"^i|v$|_block$|(?:any|specific)source$")
"""What the names of operations have more that do not block, or whose parts differ."""
_UNKNOWN = ("", "unknown", 0)
_UNITS = {1e6: "MB = 1e6 B", 2.0**20: "MB = 2^20 B"}
_ROUNDING = 0.02


class Imb(Reader):
    """A title for each benchmark, then the columns, then a row a size."""

    words = (
        "Benchmarking",
        "processes",
        "bytes",
        "Benchmarks",
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.columns: list[str] = []
        self.version = ""
        self.messages = 0

    def take(self, text: str, line: int) -> bool:
        stripped = text.lstrip()
        if title := _TITLE.match(stripped):
            self._begin(title[1])
            return True
        if version := _VERSION.match(stripped):
            self.version = version[1] or version[2]
            return True
        if self.curve is None:
            return False
        if ranks := _RANKS.match(stripped):
            self.curve = replace(self.curve, ranks=int(ranks[1]))
            return True
        columns = _COLUMN.findall(stripped) if stripped[:1] == "#" else ()
        if len(columns) > 1:
            self.columns = [column.lower() for column in columns]
            return True
        if mode := _MODE.match(stripped):
            self.curve = replace(self.curve, placement=f"mode {mode[1].lower()}")
        return stripped.startswith("#") or self._row(text, line)

    def _begin(self, name: str) -> None:
        self.close()
        if _FILES.match(name):
            return
        known = _OPERATIONS.get(name.lower()) or _OPERATIONS.get(_KIN.sub("", name.lower()), _UNKNOWN)
        operation, direction, self.messages = known
        self.columns = []
        gpu = _GPU.search(self.stream.command)
        memory = {"device": "D D", "host": "H H", "cpu": "H H"}.get(gpu[1], "") if gpu else ""
        ranks = 2 if operation == "pingpong" else None
        self.open(Curve("IMB", self.version, operation, name, direction, memory, ranks=ranks))

    def _row(self, text: str, line: int) -> bool:
        values = numbers(text)
        if values is None or len(values) != len(self.columns) or min(values) < 0:
            return False
        cells = dict(zip(self.columns, values, strict=True))
        size = count(cells.get("#bytes", 0.0 if self.curve and self.curve.operation == "barrier" else 0.5))
        times = count(cells.get("#repetitions", 0.0))
        if size is None or times is None:
            return False
        time = next((cells[name] for name in _TIMES if name in cells), None)
        rate = cells.get("mbytes/sec")
        if time is None and rate is None:
            return False
        point = Point(
            size,
            None if time is None else time / 1e6,
            rate,  # in the tool's MB, until close() knows which
            t_min=_micro(cells.get("t_min[usec]")),
            t_max=_micro(cells.get("t_max[usec]")),
            repetitions=times if "#repetitions" in cells else None,
            wrong=cells.get("defects"),
            line=line,
        )
        # Two decimals are always printed, unless somebody has rounded them; messages per second have none.
        if self.columns[-1] == "msg/sec" or text[-3:-2] in (".", ","):
            return self.add(line, point)
        return self.add_rounded(point, text.split()[-1], text.strip())

    def close(self) -> None:
        if self.curve is not None and self.points:
            factor = self._factor()
            self.points = [
                point._replace(rate=None if point.rate is None or not factor else point.rate * factor)
                for point in self.points
            ]
            if factor and any(point.rate is not None for point in self.points):
                self.curve = replace(self.curve, unit_words=_UNITS[factor])
        super().close()

    def _factor(self) -> float | None:
        """Bytes of the MB that times and rates agree on; of rates without a time 1e6, as since 2018."""
        if not self.messages:
            return 1e6
        for factor in _UNITS:
            shares = [
                (point.rate * factor) * time / (self.messages * point.bytes)
                for point in self.points
                if point.rate and point.bytes > 1024 and (time := point.t_max or point.seconds)
            ]
            if shares and all(abs(share - 1) < _ROUNDING for share in shares):
                return factor
        return None


def _micro(value: float | None) -> float | None:
    return None if value is None else value / 1e6


READER = Imb
