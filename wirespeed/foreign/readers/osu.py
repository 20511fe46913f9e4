"""OSU micro-benchmarks: point to point, several pairs, one-sided, collective; MB = 1e6 bytes."""

from __future__ import annotations

import re
from dataclasses import replace

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import number

_TITLE = re.compile(r"#?\s*OSU (?P<over>MPI|NCCL|OpenSHMEM|UPC|UPC\+\+|xCCL)?(?P<gpu>-\w+)?[ _]?(?P<test>.*?)"
                    r"\s+Test(?:\s+v(?P<version>[\d.]+\w*))?\s*$", re.IGNORECASE)  # fmt: skip
_BUFFERS = re.compile(
    r"# *(?:Send Buffer|Rank 0 Memory) on (HOST|DEVICE|MANAGED)\b.* on (HOST|DEVICE|MANAGED)\b"
)
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
_MEMORY = {"HOST": "H", "DEVICE": "D", "MANAGED": "M"}


class Osu(Reader):
    """A title, then lines that begin with '#', then a row a size."""

    words = ("OSU",)

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.columns: list[str] = []

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
        self.columns = []
        self.open(
            Curve(
                "OSU " + (title["over"] or "") + (title["gpu"] or ""),
                title["version"] or "",
                operation,
                f"{test} Test",
                "both" if operation == "both-ways" else "one",
                "H H" if not title["gpu"] else "" if pair else "D D",
                ranks=2 if two else None,
                unit_words="MB = 1e6 B",
            )
        )

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
            self.columns = [re.sub(r" ?\(", " (", column) for column in columns]
        else:
            return "Datatype" in text or "Overall =" in text
        return True

    def _row(self, tokens: list[str], line: int) -> bool:
        if len(tokens) != len(self.columns):
            return False
        cells = dict(zip(self.columns, tokens, strict=True))
        size = cells.get("Size", "0" if self.curve and self.curve.operation == "barrier" else "")
        if not size.isdigit() or (self.points and int(size) <= self.points[-1].bytes):
            return False
        commas = any("," in token for token in tokens)
        values: dict[str, float] = {}
        for name, token in cells.items():
            if name in ("Size", "Validation"):
                continue
            # Two decimals are always printed, unless the line was cut off.
            if name not in WHOLE and (token[-3:-2] not in (".", ",") or not token[-2:].isdigit()):
                return False
            if (value := number(token, commas=commas)) is None:
                return False
            values[name] = value
        validation = cells.get("Validation", "").lower()
        latency = values.get("Avg Latency (us)", values.get("Latency (us)", values.get("Overall (us)")))
        rate = values.get("Bandwidth (MB/s)", values.get("MB/s"))
        if latency is None and rate is None:
            return False
        self.points.append(
            Point(
                int(size),
                None if latency is None else latency / 1e6,
                None if rate is None else rate * 1e6,
                t_min=_seconds(values.get("Min Latency (us)")),
                t_max=_seconds(values.get("Max Latency (us)")),
                repetitions=int(values["Iterations"]) if "Iterations" in values else None,
                wrong={"pass": 0.0, "fail": 1.0}.get(validation),
                line=line,
            )
        )
        return True


WHOLE = ("Iterations",)
"""Columns without decimals."""


def _seconds(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


READER = Osu
