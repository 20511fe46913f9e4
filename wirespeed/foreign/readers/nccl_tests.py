"""nccl-tests and rccl-tests: their tables and JSON; GB = 1e9 bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor, inf
from typing import Any

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import number, whole
from wirespeed.judge.series import SEPARATE, STAGED

_DEVICE = re.compile(
    r"#\s*Rank\s+(\d{1,7})(?:\s+Group\s+(\d+))?\s+Pid\s+\d+ on\s+(\S+)\s+device\s+\d+\s+\[[^]]*\]\s*(.*)"
)
_VERSION = re.compile(
    r"#\s*(nccl|rccl)-tests version (\S+)(?:.*\b(?:nccl|rccl)-library=(\d+))?", re.IGNORECASE
)
_RCCL = re.compile(r"rccl-tests: Version (\S+)")
_TEST = re.compile(r"(?:[Cc]ollective test starting: |(?:^|[\s/]))(\w+?)_perf(?:_mpi)?\b")
_BEGINS = re.compile(r"#\s*nThread\s+\d+")
_COLUMNS = re.compile(r"#\s*size\s+count\s+type\b.*\balgbw\s+busbw\b")
_USUAL = "size count type redop root" + 2 * " time algbw busbw #wrong"
_WHOLE_ROW = re.compile(
    r"\s*\d+\s+\d+\s+[a-z]+\d*(?:_\w+)?\s+(?:sum|prod|min|max|avg|none)\s+-?\d+(?:\s+[\d.]+\s+\d+\.\d\d\s+\d+\.\d\d\s+\d+){2}\s*$"
)
"""A row of the usual columns, which a post may hold without their head."""
_PREFIX_INSIDE = re.compile(r"(?<=[\w.])\[\d+(?:,\d+)?\](?:<\w+>:?)?(?=\s)")
_LATE = re.compile(r"\s{25,}\S")
"""A gap as wide as the figures out of place."""
_OPERATIONS = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "alltoallv": "all-to-all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "sendrecv": "sendrecv",
    "gather": "gather",
    "scatter": "scatter",
    "hypercube": "all-gather",
}
_SHARE = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1, "all-to-all": 1, "gather": 1, "scatter": 1}
"""Bus over algorithm bandwidth is this times (n - 1) / n, of n ranks."""
_MOST_RANKS = 4096
_DISAGREE = 0.15
"""Share by which size / time and the algorithm bandwidth may differ."""
_ROUNDING = 0.005
"""GB/s: both bandwidths have two decimals."""


class NcclTests(Reader):
    """A head of columns, then a row a size: out of place and in place."""

    words = (
        "algbw",
        "tests",
        "perf",
        "nThread",
        "Pid",
        *("float", "half", "double", "bfloat", "int", "uint", "f"),
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.labels: list[str] = []
        self.groups: list[list[str]] = []
        self.rows: list[tuple[float, float]] = []
        """(algorithm, bus bandwidth) of each row."""
        self.hosts: dict[str, int] = {}
        self.last_rank, self.jobs = -1, 0
        """Highest number of a rank, and how often rank 0 is listed."""
        self.redop = self.root = ""
        """Of the last row."""
        self.test = self.version = ""
        self.tool = "nccl-tests"

    def take(self, text: str, line: int) -> bool:
        stripped = text.lstrip()
        if stripped.startswith("#"):
            return self._comment(stripped)
        if found := _RCCL.match(stripped):
            self.tool, self.version = "rccl-tests", found[1]
            return True
        if found := _TEST.search(text):
            self.test = _OPERATIONS.get(found[1], "")
            return False
        if self.curve is None and _WHOLE_ROW.match(text):
            self._columns(_USUAL.split())
        return self.curve is not None and self._row(text, line)

    def _comment(self, text: str) -> bool:
        if device := _DEVICE.match(text):
            self.hosts[device[3]] = self.hosts.get(device[3], 0) + 1
            self.last_rank = max(self.last_rank, int(device[1]))
            self.jobs += int(device[1]) == int(device[2] or 0) == 0
            self._model(device[4])
        elif version := _VERSION.match(text):
            self.close()
            self.hosts, self.last_rank, self.jobs, self.test = {}, -1, 0, ""
            self.tool, self.version = f"{version[1].lower()}-tests", version[2]
            if version[3]:
                self.found.version("NCCL", _of_code(int(version[3])))
        elif _BEGINS.match(text):
            self.close()
            self.hosts, self.last_rank, self.jobs = {}, -1, 0
        elif found := _TEST.search(text):
            self.test = _OPERATIONS.get(found[1], "")
            if "concluded" in text and self.curve is not None and not self.curve.operation:
                self.curve = replace(self.curve, operation=self.test)
        elif _COLUMNS.match(text):
            self._columns(text.lstrip("# ").split())
        else:
            return self.curve is not None and ("(B)" in text or "out-of-place" in text)
        return True

    def _model(self, name: str) -> None:
        if name := name.strip():
            self.found.model(name)
            self.tool = "rccl-tests" if "AMD" in name else self.tool

    def _columns(self, names: list[str]) -> None:
        starts = [place for place, name in enumerate(names) if name in ("time", "cputime")]
        if not starts:
            return
        command = _TEST.search(self.stream.command)
        test = self.test or (_OPERATIONS.get(command[1], "") if command else "")
        staged = STAGED if STAGED in self.stream.command else ""
        self.open(Curve(self.tool, self.version, test, direction="bus", memory="D D", placement=staged))
        ends = [*starts[1:], len(names)]
        self.labels = names[: starts[0]]
        self.groups = [names[start:end] for start, end in zip(starts, ends, strict=True)]
        if "timestamp" in self.groups[-1]:
            self.groups[-1].remove("timestamp")
        self.rows = []

    def _row(self, text: str, line: int) -> bool:
        if "[" in text and re.search(r"\d\[\d", text):
            text = _PREFIX_INSIDE.sub("", text)
        tokens = text.split()
        if len(tokens) < 6 or (size := whole(tokens[0])) is None or whole(tokens[1]) is None:
            return False
        at = 3
        if number(tokens[2]) is not None:
            return False
        if "redop" in self.labels and number(tokens[at]) is None:
            self.redop, at = tokens[at], at + 1
        if "root" in self.labels:
            self.root, at = tokens[at], at + 1
        places: Iterator[bool] = iter((False, True))
        if len(tokens) - at <= len(self.groups[0]) and _LATE.search(text[len(text) // 2 - 40 :]):
            next(places)
        made = []
        for names, place in zip(self.groups, places, strict=False):
            cells = dict(zip(names, tokens[at : at + len(names)], strict=False))
            at += len(names)
            point = self._point(size, cells, names, line, in_place=place, commas="," in text)
            if point is None:
                break
            made.append(point)
        return self.add(line, *made)

    def _point(
        self, size: int, cells: dict[str, str], names: list[str], line: int, *, in_place: bool, commas: bool
    ) -> Point | None:
        values = {name: number(cell, commas=commas) for name, cell in cells.items()}
        time = values.get("time", values.get("cputime"))
        algorithm, bus = values.get("algbw"), values.get("busbw")
        if len(cells) < len(names) or time is None or algorithm is None or bus is None:
            return None
        if cells.get("error", "0").strip("0").isdigit():
            return None  # of '3e+02' the rest was cut off
        if min(time, algorithm, bus) < 0 or not (values.get("cputime") or _agree(size, time, algorithm)):
            return None
        self.rows.append((algorithm, bus))
        wrong = values.get("#wrong", values.get("error"))
        return Point(size, time / 1e6, bus * 1e9, wrong=wrong, in_place=in_place, line=line)

    def close(self) -> None:
        if self.curve is not None:
            operation = self.curve.operation or _by_columns(self.root, self.redop, self.rows)
            self.curve = self._described(self.curve, operation)
        super().close()

    def _described(self, curve: Curve, operation: str) -> Curve:
        name = next((name for name, ours in _OPERATIONS.items() if ours == operation), "")
        listed, placement = sum(self.hosts.values()), curve.placement
        moved = any(bus for _, bus in self.rows)
        alone = not moved and any(algorithm > 20 * _ROUNDING for algorithm, _ in self.rows)
        several = self.jobs > 1
        ranks: int | None = max(0 if several else listed, self.last_rank + 1) or None
        if alone:
            ranks = 1
        elif several:
            placement = ", ".join(filter(None, (placement, f"{self.jobs} {SEPARATE}")))
        if moved and ranks == 1:
            ranks = None  # a list that was cut off
        if ranks is None and (ranks := _by_ratio(operation, self.rows)):
            placement = ", ".join(filter(None, (placement, "ranks by busbw / algbw")))
        return replace(
            curve,
            operation=operation,
            name=f"{name}_perf" if name else "",
            ranks=ranks,
            hosts=len(self.hosts) if listed == ranks and not several else None,
            placement=placement,
        )

    def take_json(self, value: Any, line: int) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("results"), list):
            return False
        points = [point for one in value["results"] for point in _of_json(one, line)]
        if not points:
            return False
        config = _part(value, "config", dict)
        devices = [one for one in _part(config, "devices", list) if isinstance(one, dict)]
        found = _TEST.search(" ".join(str(word) for word in _part(value, "args", list)))
        operation = _OPERATIONS.get(found[1], "") if found else ""
        self.open(Curve("nccl-tests", "", operation, direction="bus", memory="D D"))
        self.hosts, self.last_rank, self.jobs = {}, -1, 0
        for device in devices:
            host = str(device.get("hostname", "")).strip()
            self.hosts[host] = self.hosts.get(host, 0) + 1
            self._model(str(device.get("device_info", "")))
        if isinstance(value.get("nccl_version"), int):
            self.found.version("NCCL", _of_code(value["nccl_version"]))
        for word in _part(value, "env", list):
            name, sign, text = str(word).partition("=")
            if sign and name.startswith(("NCCL_", "RCCL_", "UCX_", "CUDA_VISIBLE", "OMPI_MCA_")):
                self.found.setting(name, text)
        self.labels, self.rows = ["root"], []
        self.add(line, *points)
        self.close()
        return True


def _of_json(one: Any, line: int) -> Iterator[Point]:
    if not isinstance(one, dict) or (size := _whole(one.get("size"))) is None:
        return
    for name, in_place in (("out_of_place", False), ("in_place", True)):
        cells = one.get(name)
        if not isinstance(cells, dict):
            continue
        time, bus = _real(cells.get("time", cells.get("cpu_time"))), _real(cells.get("bus_bw"))
        if time is not None and bus is not None:
            yield Point(
                size,
                time / 1e6,
                bus * 1e9,
                wrong=_real(cells.get("nwrong")),
                repetitions=_whole(one.get("actual_iterations")),
                in_place=in_place,
                line=line,
            )


def _part(value: dict[str, Any], name: str, kind: type[Any]) -> Any:
    """A member of this type, or an empty one."""
    found = value.get(name)
    return found if isinstance(found, kind) else kind()


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        return whole(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 60 else None


def _real(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e18 else None


def _of_code(code: int) -> str:
    """'2.18.3' of 21803; '2.7.8' of 2708."""
    if code < 10_000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"


def _agree(size: int, microseconds: float, algorithm: float) -> bool:
    """Are these a row's figures, not those of other columns?"""
    small = algorithm * 10 < 1 or not microseconds
    return small or abs(size / microseconds / 1e3 / algorithm - 1) < _DISAGREE


def _by_columns(root: str, redop: str, rows: list[tuple[float, float]]) -> str:
    """The operation that has such columns and such a ratio of both bandwidths; '': more than one has.

    `root`: '' where there is no such column, -1 of operations without one.
    """
    ratios = {round(bus / algorithm, 1) for algorithm, bus in rows if algorithm > 1}
    above = any(bus > algorithm * 1.01 + 2 * _ROUNDING for algorithm, bus in rows)
    below = any(bus < algorithm * 0.99 - 2 * _ROUNDING for algorithm, bus in rows)
    if above:
        return "all-reduce"
    reduces = redop not in ("", "none")
    if not any(bus for _, bus in rows):
        return ""
    if below:
        return "reduce-scatter" if reduces else ""
    if ratios != {1.0}:
        return ""
    if root not in ("", "-1"):
        return "reduce" if reduces else "broadcast"
    # Of two ranks both bandwidths of an all-reduce are the same.
    return "all-reduce" if reduces else "sendrecv" if not root else ""


def _by_ratio(operation: str, rows: list[tuple[float, float]]) -> int | None:
    """The one number of ranks that all ratios of bus and algorithm bandwidth allow."""
    factor = _SHARE.get(operation)
    if not factor or not rows:
        return None
    fewest, most = 2.0, float(_MOST_RANKS - 1)
    for algorithm, bus in rows:
        if algorithm > 1:
            # (ranks - 1) / ranks, between what rounding allows.
            rounding = _ROUNDING * (1 + factor) + 1e-9
            low, high = ((bus + sign * rounding) / (algorithm * factor) for sign in (-1, 1))
            fewest = max(fewest, 1 / (1 - low) if low < 1 else inf)
            most = min(most, 1 / (1 - high) if high < 1 else inf)
    return ceil(fewest) if fewest <= most and ceil(fewest) == floor(most) else None


READER = NcclTests
