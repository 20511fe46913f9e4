"""perftest (ib_write_bw and its relatives): MB = 2^20 bytes, Gb = 1e9 bits; text and JSON."""

from __future__ import annotations

import re
from typing import Any

from wirespeed.foreign.found import LogStream, Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import count, numbers

_TITLE = re.compile(
    r"\s*((?:RDMA_)?(?:Write|Read|Send|Atomic|Write with Imm)\w*(?: \w+){0,3}?) (?:BW|Latency|Lat) Test\b"
)
_BANDWIDTH = re.compile(
    r"\s*#bytes\s+#iterations\s+BW peak ?\[(.+?)\]\s+BW average ?\[(.+?)\](?:\s+MsgRate ?\[Mpps\].*)?$"
)
_LATENCY = re.compile(r"\s*#bytes\s+#iterations\s+(t_\w+|\d).*\[usec\]")
_COLUMN = re.compile(r"#bytes|#iterations|t_min|t_max|t_typical|t_avg|t_stdev|[\d.]+% percentile|tps average")
_FIELD = re.compile(
    r"(Dual-port|Device|Number of qps|Transport type|Connection type|Mtu|Link type)\s*:\s*(\S+)"
)
_COMMAND = re.compile(r"\b(?:ib|raw_ethernet|nvperf)_(\w+?)_(bw|lat)\b")
_GPU = re.compile(r"--use_(?:cuda|rocm)|\b(?:CUDA|ROCm?) (?:device|Ctx)|GPUDirect", re.IGNORECASE)
_NAME = re.compile(
    r"\bGPU ?\d+\b|\b(?:mlx[45]_|rdmap|efa_|bnxt_re|irdma|roceo|ibp|ib|rocep|qedr|hfi1_|rxe|siw)\w*\d\w*"
)
_ROUND = re.compile(r"RDMA_Read|Atomic")
_UNITS = {"MB/sec": 2**20, "MiB/sec": 2**20, "Gb/sec": 1e9 / 8}
_WORDS = {"MB/sec": "MB = 2^20 B", "MiB/sec": "MiB = 2^20 B", "Gb/sec": "Gb = 1e9 bits"}


class Perftest(Reader):
    """A title and fields, then the columns, then a row a size."""

    words = (
        "bytes",
        "BW",
        "Latency",
        "Lat",
        "Device",
        "Link",
        "Connection",
        "CUDA",
        "ROCm",
        "GPUDirect",
        "Number",
        "Mtu",
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.title = ""
        self.fields: dict[str, str] = {}
        self.gpu = self.gpu_follows = False
        self.factor = 0.0
        self.columns: list[str] = []

    def take(self, text: str, line: int) -> bool:
        if (" BW " in text or " Lat" in text) and _TITLE.match(text):
            self.close()
            self.title, self.fields = text.strip(), {}
            self.gpu, self.gpu_follows = self.gpu_follows, False
            return True
        if "#bytes" in text and (found := _BANDWIDTH.match(text)):
            if (factor := _UNITS.get(found[2])) is None or found[1] != found[2]:
                return False
            self.factor, self.columns = float(factor), []
            self._open("bandwidth", _WORDS[found[2]])
            return True
        if "#bytes" in text and _LATENCY.match(text):
            self.columns = _COLUMN.findall(text)
            # A read and an atomic operation come back to the one that asks: their time is not halved.
            self._open("rma" if _ROUND.match(self.title) else "pingpong", "")
            return True
        if self.curve is not None and self._row(text, line):
            return True
        fields = _FIELD.findall(text) if self.title and ":" in text else []
        self.fields |= dict(fields)
        if "--" not in text and "destroying" not in text and _GPU.search(text):
            # Before the title of their table, or below it.
            self.gpu = self.gpu_follows = True
            return True
        return bool(fields)

    def _open(self, operation: str, unit: str) -> None:
        command = self.stream.command if _COMMAND.search(self.stream.command) else ""
        both = "Bidirectional" in self.title or re.search(r"\s(?:-b|--bidirectional)\b", command) is not None
        if operation == "bandwidth" and both:
            operation = "both-ways"
        names = _NAME.findall(self.stream.caption)
        device = (
            self.fields.get("Device") or ((found := re.search(r"-d\s+(\S+)", command)) and found[1]) or ""
        )
        pair = " ".join(
            dict.fromkeys([*(name.replace(" ", "") for name in names), *([device] if device else [])])
        )
        gpu = self.gpu or "GPU" in pair or _GPU.search(command) is not None
        self.gpu_follows = False
        self.open(
            Curve(
                "perftest",
                "",
                operation,
                self.title,
                "both" if operation == "both-ways" else "one",
                "D D" if gpu else "",
                ranks=2,
                unit_words=unit,
                pair=pair,
                placement=self.fields.get("Connection type", ""),
            )
        )

    def _row(self, text: str, line: int) -> bool:
        values = numbers(text)
        if values is None or len(values) < 4:
            return False
        size, iterations = map(count, values[:2])
        if (
            size is None
            or iterations is None
            or min(values) < 0
            or not re.match(r"\s*\d+\s+\d+\s+\d+[.,]\d+\s+\d+[.,]\d+(?:(?<=\d\d)$|\s+\d)", text)
        ):
            return False
        if not self.columns:
            if not 4 <= len(values) <= 6:
                return False
            peak, average = (value * self.factor for value in values[2:4])
            made = Point(size, None, average, peak or None, average, repetitions=iterations, line=line)
        else:
            if len(values) != len(self.columns):
                return False
            cells = dict(zip(self.columns, values, strict=True))
            seconds = cells.get("t_avg", cells.get("t_typical"))
            if seconds is None:
                return False
            made = Point(size, seconds / 1e6, repetitions=iterations, line=line)
        return self.add(line, made)

    def take_json(self, value: Any, line: int) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("results"), dict):
            return False
        info = value.get("test_info")
        rows, info = value["results"], info if isinstance(info, dict) else {}
        size, average, peak = (rows.get(name) for name in ("MsgSize", "BW_average", "BW_peak"))
        if not isinstance(size, int) or not isinstance(average, int | float) or not 0 <= average < 1e12:
            return False
        command = self.stream.command
        # The file does not say which unit it has; the command line may.
        if not _COMMAND.search(command):
            self.found.unknown.append(
                (line, f"BW_average {average} (in MB/s or Gb/s, which the JSON does not say)")
            )
            return True
        unit = "Gb/sec" if "--report_gbits" in command or "--report-gbits" in command else "MB/sec"
        self.title = str(info.get("test", ""))[:80]
        self.fields = {"Device": str(info.get("Device", ""))[:80]}
        self.gpu, factor = _GPU.search(command) is not None, _UNITS[unit]
        self._open("bandwidth", _WORDS[unit])
        high = peak * factor if isinstance(peak, int | float) and 0 < peak < 1e12 else None
        times = rows.get("n_iterations")
        self.add(
            line,
            Point(
                size,
                None,
                average * factor,
                high,
                average * factor,
                repetitions=times if isinstance(times, int) else None,
                line=line,
            ),
        )
        self.close()
        return True


READER = Perftest
