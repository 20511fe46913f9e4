"""OSU micro-benchmarks: point to point, several pairs, one-sided, collective; MB = 1e6 bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import LONGEST_NUMBER

_TITLE = re.compile(
    r"#?\s*OSU (?P<over>MPI|NCCL|OpenSHMEM|UPC|UPC\+\+|xCCL)?(?P<gpu>-\w+)?[ _]?(?P<test>.*?)"
    r"\s+Test(?:\s+(?:v|\(Version )(?P<version>[\d.]+[\w.+-]*)\)?)?\s*$",
    re.IGNORECASE,
)
_BUFFERS = re.compile(
    r"# *(?:Send Buffer|Rank 0 Memory) on (HOST|DEVICE|MANAGED)\b.* on (HOST|DEVICE|MANAGED)\b"
)
_ENDS = re.compile(r"\bosu_\w+\b.*?\s([HDM]) +([HDM])(?:\s|$)")
_PAIRS = re.compile(r"# *\[ *pairs: *(\d+) *\] *\[ *window size: *(\d+) *\]")
_SYNCHRONISATION = re.compile(r"# *(?:Window creation|Synchronization): *(\S+)")
_COLUMN = re.compile(
    r"Size|(?:(?:Avg|Min|Max) )?Latency ?\(us\)|Bandwidth \(MB/s\)|MB/s|Messages/s|Iterations|Validation"
    r"|P\d+ Tail \w+ ?\([^)]*\)|Overall ?\(us\)|Compute ?\(us\)|Pure Comm\. ?\(us\)|Overlap ?\(%\)"
    r"|Coll\. Init ?\(us\)|MPI_\w+ ?\(us\)"
)
_OPERATIONS = (
    (r"multiple bandwidth", "bandwidth"),
    (r"bi-?directional", "both-ways"),
    (r"multi(-pair|ple)? latency|multi-threaded latency|multi-process latency", "pingpong"),
    (r"(put|get|accumulate|fetch|compare|swap|finc|fadd|cswap|add|inc)\w*", "rma"),
    (r"all-?reduce", "all-reduce"),
    (r"all-?gather", "all-gather"),
    (r"reduce.?scatter", "reduce-scatter"),
    (r"all-?to-?all", "all-to-all"),
    (r"broadcast|bcast", "broadcast"),
    (r"barrier", "barrier"),
    (r"gather", "gather"),
    (r"scatter", "scatter"),
    (r"reduce", "reduce"),
    (r"latency", "pingpong"),
    (r"bandwidth", "bandwidth"),
)
_COLUMNS = {
    "seconds": ("Avg Latency (us)", "Latency (us)", "Pure Comm. (us)", "Overall (us)"),
    "rate": ("Bandwidth (MB/s)", "MB/s"),
    "t_min": ("Min Latency (us)",),
    "t_max": ("Max Latency (us)",),
}
"""Field of a point -> columns that have it."""
_FIGURE = re.compile(r"\d{1,15}(?:[.,]\d{1,6})?")
_FIELDS = {name: at for at, name in enumerate(Point._fields)}
WHOLE = ("Iterations", "Validation")
"""Columns without decimals."""
_MEMORY = {"HOST": "H", "DEVICE": "D", "MANAGED": "M"}


class Osu(Reader):
    """A title, then lines that begin with '#', then a row a size."""

    words = ("OSU",)

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self._set_columns([])

    def take(self, text: str, line: int) -> bool:
        if "OSU" in text and (title := _TITLE.match(text.lstrip())) and title["over"]:
            self._begin(title)
            return True
        if self.curve is None:
            return False
        first = text.lstrip()
        return self._comment(first) if first.startswith("#") else self._row(first.split(), line)

    def _begin(self, title: re.Match[str]) -> None:
        test = title["test"].strip()
        operation = next((ours for theirs, ours in _OPERATIONS if re.search(theirs, test, re.I)), "")
        pair = operation in ("pingpong", "bandwidth", "both-ways", "rma")
        two = pair and not re.search("mult", test, re.I)
        self.open(
            Curve(
                "OSU " + (title["over"] or "") + (title["gpu"] or ""),
                title["version"] or "",
                operation,
                f"{test} Test",
                "both" if operation == "both-ways" else "one",
                "H H" if not title["gpu"] else self._ends() if pair else "D D",
                ranks=2 if two else None,
                unit_words="MB = 1e6 B",
            )
        )
        self._set_columns([])

    def _ends(self) -> str:
        """'D D' of a command line that says so; '': none does."""
        found = _ENDS.search(self.stream.command)
        return f"{found[1]} {found[2]}" if found else ""

    def _comment(self, text: str) -> bool:
        assert self.curve is not None
        if found := _BUFFERS.match(text):
            memory = " ".join(_MEMORY[word] for word in found.groups())
            self.curve = replace(self.curve, memory=memory)
        elif found := _PAIRS.match(text):
            ranks, placement = 2 * int(found[1]), f"{int(found[1])} pairs, window of {int(found[2])}"
            self.curve = replace(self.curve, ranks=ranks, placement=placement)
        elif found := _SYNCHRONISATION.match(text):
            placement = f"{self.curve.placement}, {found[1]}".strip(", ")
            self.curve = replace(self.curve, placement=placement)
        elif columns := _COLUMN.findall(text):
            self._set_columns([re.sub(r" ?\(", " (", column) for column in columns])
        else:
            return "Datatype" in text or "Overall =" in text
        return True

    def _row(self, tokens: list[str], line: int) -> bool:
        if len(tokens) != len(self.columns):
            return False
        size = tokens[self.size_at] if self.size_at >= 0 else "0"
        if not size.isdecimal() or len(size) > LONGEST_NUMBER or not self.fields:
            return False
        cells: list[Any] = [None] * len(Point._fields)
        cells[0], cells[-1] = int(size), line
        last = self.doubtful[0] if self.doubtful else self.points[-1] if self.points else None
        if last and cells[0] <= last.bytes:
            return False
        # Two decimals are always printed, unless somebody has rounded them.
        rounded = ""
        for at in self.rounded:
            token = tokens[at]
            if token[-3:-2] not in (".", ",") or not (token[:-3] + token[-2:]).isdecimal():
                if not _FIGURE.fullmatch(token):
                    return False
                rounded = token
        for field, at, is_time in self.fields:
            token = tokens[at]
            value = float(token if "." in token else token.replace(",", "."))
            cells[field] = value / 1e6 if is_time else value * 1e6
        for name, at in self.further:
            if name == "Iterations" and tokens[at].isdecimal() and len(tokens[at]) <= LONGEST_NUMBER:
                cells[_FIELDS["repetitions"]] = int(tokens[at])
            elif name == "Iterations":
                return False
            else:
                cells[_FIELDS["wrong"]] = {"pass": 0.0, "fail": 1.0}.get(tokens[at].lower())
        point = Point._make(cells)
        return self.add_rounded(point, rounded, " ".join(tokens)) if rounded else self.add(line, point)

    def _set_columns(self, columns: list[str]) -> None:
        self.columns = columns
        barrier = self.curve is not None and self.curve.operation == "barrier"
        self.size_at = columns.index("Size") if "Size" in columns else -1
        self.further = [(name, at) for at, name in enumerate(columns) if name in WHOLE]
        self.rounded = [at for at, name in enumerate(columns) if name not in (*WHOLE, "Size")]
        found = {
            field: next((columns.index(name) for name in names if name in columns), -1)
            for field, names in _COLUMNS.items()
        }
        known = found["seconds"] >= 0 or found["rate"] >= 0
        self.fields = [(_FIELDS[field], at, field != "rate") for field, at in found.items() if at >= 0]
        if not known or (self.size_at < 0 and not barrier):
            self.fields = []


READER = Osu
