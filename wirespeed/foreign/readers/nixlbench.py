"""nixlbench: a row for each size of a block and of a batch; GB = 1e9, MiB = 2^20 bytes."""

from __future__ import annotations

import re
from dataclasses import replace

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import count, numbers

_COLUMN = re.compile(
    r"Block Size \(B\)|Batch Size|Aggregate B/W \([^)]*\)|B/W \([^)]*\)|Network Util \(%\)|Avg Lat\. \(us\)"
    r"|(?:Avg|P99) (?:Prep|Post|Tx) \(us\)"
)
_OPTION = re.compile(
    r"--?(initiator_seg_type|target_seg_type|op_type|backend)=(?:\[[^]]*\]\)?\s*:?\s*)?(\w+)"
)
_MEMORY = {"VRAM": "D", "DRAM": "H"}


class Nixlbench(Reader):
    """The head of the columns opens the table; each batch size is a curve of its own."""

    words = (
        "Block",
        "initiator_",
        "target_",
        "op_",
        "backend",
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.columns: list[str] = []
        self.options: dict[str, str] = {}
        self.batches: dict[int, list[Point]] = {}

    def take(self, text: str, line: int) -> bool:
        if "Block Size (B)" in text:
            self.columns = _COLUMN.findall(text)
            ends = [self.options.get(name, "") for name in ("initiator_seg_type", "target_seg_type")]
            memory = (
                " ".join(_MEMORY.get(end, "") for end in ends) if all(end in _MEMORY for end in ends) else ""
            )
            name = f"{self.options.get('backend', '')} {self.options.get('op_type', '')}".strip()
            self.open(Curve("nixlbench", "", "bandwidth", name, "one", memory, unit_words="GB = 1e9 B"))
            self.batches = {}
            return True
        if options := _OPTION.findall(text):
            self.options |= dict(options)
            return True
        return self.curve is not None and self._row(text, line)

    def _row(self, text: str, line: int) -> bool:
        values = numbers(text)
        if values is None or len(values) != len(self.columns) or min(values) < 0:
            return False
        cells = dict(zip(self.columns, values, strict=True))
        size, batch = count(cells.get("Block Size (B)", 0.5)), count(cells.get("Batch Size", 0.5))
        rate, latency = cells.get("B/W (GB/Sec)"), cells.get("Avg Lat. (us)")
        if size is None or batch is None or rate is None:
            return False
        made = Point(size, None if latency is None else latency / 1e6, rate * 1e9, line=line)
        if self.found.has_room(1, line, kept=self.kept):
            self.batches.setdefault(batch, []).append(made)
        return True

    def close(self) -> None:
        if self.curve is not None:
            for batch, points in self.batches.items():
                placement = f"batches of {batch}"
                self.found.curves.append(replace(self.curve, points=tuple(points), placement=placement))
        self.batches = {}
        super().close()


READER = Nixlbench
