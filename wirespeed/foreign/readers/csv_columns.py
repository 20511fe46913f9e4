"""CSV whose columns are named with their units; MPIBenchmarks.jl writes such files."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from wirespeed.foreign.found import MOST, LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import count, number

ORDER = 2
_SIZE = re.compile(
    r"(?:(?:message|msg|buffer|block|data|transfer)[ _]?)?n?(?:sizes?|bytes)"
    r"(?:[ _]?(?:in[ _])?[(\[]?([KMG]iB|bytes?|B)[)\]]?)?",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?:(?:avg|average|mean|one.way)[ _])?(?:time|latency|t_avg)"
    r"\s*[(\[_ ](s|seconds|ms|us|µs|usec|ns)[)\]]?",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?i:(?:avg|average|mean)[ _])?(?i:bandwidth|bw|rate|throughput)\s*"
    r"[(\[_ ]((?:[KMGT]i?)(?:B|b|bit))(?:/s|p?s|/sec|/second)[)\]]?"
)
_TIMES = re.compile(r"(?:iterations|iters?|repetitions|#?reps)", re.IGNORECASE)
_SECONDS = {"s": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "usec": 1e-6, "ns": 1e-9}
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}
KINDS = ("size", "time", "rate", "times")
_AGREE = 0.005
"""Share by which bytes over time and a rate may differ."""
_JULIA = ("size (bytes)", "iterations")
_BENCHMARK = re.compile(
    r"(Running benchmark|#) ((?:OSU|IMB) [\w ]{1,40}?) with type \w+ on (\d{1,7}) MPI ranks"
)
"""MPIBenchmarks.jl's line above a table. Where it begins with '#', MB are 2^20 bytes (src/osu_p2p.jl)."""
_OPERATIONS = (
    (r"\b(?:Get|Put|Accumulate)\b", "rma"),
    (r"Latency|Pingpong", "pingpong"),
    (r"Pingping", "exchange"),
    (r"All ?reduce", "all-reduce"),
    (r"All ?gather", "all-gather"),
    (r"All ?to ?all", "all-to-all"),
    (r"Broadcast", "broadcast"),
    (r"Gather", "gather"),
    (r"Scatter", "scatter"),
    (r"Reduce", "reduce"),
    (r"Bandwidth", "bandwidth"),
)
"""What a benchmark's name has, and its operation; the first counts."""


class CsvColumns(Reader):
    """The head names a size and a time or a rate; a column without a unit is none."""

    words = (
        "size",
        "Size",
        "SIZE",
        "bytes",
        "Bytes",
        *("message_", "msg_", "buffer_", "block_", "data_", "transfer_", "nbytes"),
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.separator = ","
        self.commas = False
        """May they be decimal points?"""
        self.columns = 0
        self.places: list[int] = []
        """Of the columns that are read."""
        self.at, self.factors = [-1] * len(KINDS), [1.0] * len(KINDS)
        """Of each of KINDS: its number among the columns that are read (-1: none), and its unit."""

    def take(self, text: str, line: int) -> bool:
        if self.curve is not None and self._row(text, line):
            return True
        separator = next((letter for letter in (",", ";", "\t") if letter in text), None)
        if separator is None:
            return False
        names = [name.strip().strip("\"'") for name in text.split(separator)]
        columns = [_column(name) for name in names]
        kinds = [kind for kind, _ in columns]
        if kinds.count("size") != 1 or not {"time", "rate"} & set(kinds):
            return False
        self.columns, self.separator, self.commas = len(columns), separator, separator != ","
        read = [kind for kind in KINDS if kind in kinds]
        self.places = [kinds.index(kind) for kind in read]
        self.at = [read.index(kind) if kind in read else -1 for kind in KINDS]
        self.factors = [columns[kinds.index(kind)][1] if kind in read else 1.0 for kind in KINDS]
        title = _BENCHMARK.match(self.stream.caption)
        julia = title is not None or tuple(name.lower() for name in names[:2]) == _JULIA
        rated = "rate" in kinds
        unit = next((name for name, (kind, _) in zip(names, columns, strict=True) if kind == "rate"), "")
        found = _RATE.fullmatch(unit)
        if found and found[1] == "MB" and title and title[1] == "#":
            self.factors[KINDS.index("rate")] = 2.0**20
        words = f"{found[1]} = {_exact(self.factors[KINDS.index('rate')])}" if found else ""
        timed = "latency" * any("latency" in name.lower() for name in names)
        operation = "bandwidth" if rated else timed
        self.open(
            Curve(
                "MPIBenchmarks.jl" if julia else "CSV",
                "",
                _operation(title[2]) if title else operation,
                title[2] if title else ", ".join(names)[:80],
                ranks=int(title[3]) if title else None,
                unit_words=words,
            )
        )
        return True

    def _row(self, text: str, line: int) -> bool:
        cells = text.split(self.separator)
        if len(cells) != self.columns:
            return False
        try:
            values = [float(cells[at]) for at in self.places]
        except ValueError:
            values = [self._number(cells[at]) for at in self.places]
        if "_" in text or not all(0 <= value < math.inf for value in values):
            return self._not_understood(cells, text, line)
        size, time, rate, times = (None if at < 0 else values[at] for at in self.at)
        whole = count((size or 0.0) * self.factors[0])
        repetitions = None if times is None else count(times)
        if whole is None or (times is not None and repetitions is None):
            return self._not_understood(cells, text, line)
        time = None if time is None else time * self.factors[1]
        rate = None if rate is None else rate * self.factors[2]
        if rate == math.inf:
            return self._not_understood(cells, text, line)
        return self.add(line, Point(whole, time, rate, None, None, None, None, None, repetitions, line=line))

    def _number(self, cell: str) -> float:
        found = number(cell.strip(" \"'"), commas=self.commas)
        return math.nan if found is None else found

    def _not_understood(self, cells: list[str], text: str, line: int) -> bool:
        """Names a row that has a size."""
        row = self._number(cells[self.places[0]]) >= 0
        if row and len(self.found.unknown) < MOST:
            self.found.unknown.append((line, text.strip()))
        return row

    def close(self) -> None:
        """Where times say that the rates' units are powers of 1024, not of 1000, so are the figures."""
        power = {1e3: 1, 1e6: 2, 1e9: 3, 1e12: 4}.get(self.factors[2], 0)
        shares = [
            point.rate * point.seconds / point.bytes * 1.024**power
            for point in self.points
            if point.rate and point.seconds and point.bytes
        ]
        if self.curve is not None and power and shares and all(abs(share - 1) < _AGREE for share in shares):
            unit = self.curve.unit_words.partition(" = ")[0]
            self.curve = replace(self.curve, unit_words=f"{unit} = {_exact(1024.0**power)} by its times")
            self.points = [
                point._replace(rate=None if point.rate is None else point.rate * 1.024**power)
                for point in self.points
            ]
        super().close()


def _exact(factor: float) -> str:
    """'1e6 B', '2^20 B', '1e9 bits'."""
    value = int(factor)
    if value.bit_count() == 1:
        return f"2^{value.bit_length() - 1} B"
    bits = str(value).strip("0") != "1"
    return f"1e{len(str(8 * value if bits else value)) - 1} {'bits' if bits else 'B'}"


def _operation(title: str) -> str:
    return next((ours for theirs, ours in _OPERATIONS if re.search(theirs, title, re.IGNORECASE)), "")


def _column(name: str) -> tuple[str, float]:
    """(kind, what a value of 1 is in bytes, seconds or bytes per second); '': another column."""
    if found := _SIZE.fullmatch(name):
        unit = (found[1] or "B")[0].upper()
        return "size", 1024.0 ** _POWERS.get(unit, 0)
    if found := _TIME.fullmatch(name):
        return "time", _SECONDS[found[1].lower()]
    if found := _RATE.fullmatch(name):
        base = 1024.0 if "i" in found[1][:2] and not found[1].endswith("bit") else 1000.0
        return "rate", base ** _POWERS[found[1][0]] / (1 if found[1].endswith("B") else 8)
    return ("times", 1.0) if _TIMES.fullmatch(name) else ("", 1.0)


READER = CsvColumns
