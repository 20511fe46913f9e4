"""NCCL's and RCCL's INFO and WARN lines: version, transports of the channels, networks, failures."""

from __future__ import annotations

import re

from wirespeed.foreign.found import Reader
from wirespeed.foreign.readers.failing import kind_of
from wirespeed.foreign.shapes import Transport

_HEAD = re.compile(r"(?:(\S+?):\d+:\d+ )?\[(?:\d+|-)\] (?:\S+:\d+ )?(?:NCCL|RCCL) (INFO|WARN|TRACE) ?(.*)")
_PLAIN = re.compile(r"(?:^|\s)(?:NCCL|RCCL) (INFO|WARN) (.*)")
_VIA = re.compile(
    r"Channel \d+(?:/\d+)?\s*:\s*(\d+)(?:\[\w+\])?\s*->\s*(\d+)(?:\[\w+\])?\s*"
    r"(?:\[(?:send|receive)\]\s*)?via (\w+)(?:/(.*))?"
)
_VERSION = re.compile(r"\b(NCCL|RCCL) version\s*:?\s+(\d[\w.]*)(?:\+(\w+?)(\d[\d.]*))?")
_NETWORK = re.compile(r"Using (?:network|NET plugin:?) (\S+)")
_DEVICES = re.compile(r"NET/(\w+) : Using (.*)")
_RANKS = re.compile(r"\bnranks (\d+)\b.*\b[Nn][Nn]odes (\d+)|\bnranks (\d+)\b")


class NcclLog(Reader):
    """Each line stands alone."""

    words = (
        "NCCL",
        "RCCL",
    )

    def take(self, text: str, line: int) -> bool:
        if "INFO" not in text and (version := _VERSION.search(text)):
            self._version(version)
            return True
        match = _HEAD.search(text)
        host, level, rest = (match[1] or "", match[2], match[3]) if match else ("", "", "")
        if match is None:
            if (plain := _PLAIN.search(text)) is None:
                return False
            level, rest = plain[1], plain[2]
        if " via " in rest and (via := _VIA.match(rest)):
            sender, receiver, kind, detail = via.groups()
            if kind == "direct":  # as versions before 2.11 say it
                kind, detail = "SHM", "direct shared memory"
            made = Transport("NCCL", kind, (detail or "").strip(), sender, receiver, host, line)
            self.found.transport(made)
            return True
        self._facts(rest)
        kind = kind_of(rest)
        if level == "WARN" or kind:
            self.found.failure(kind or "nccl-warning", text, line)
        return True

    def _facts(self, rest: str) -> None:
        topology = self.found.topology
        if version := _VERSION.search(rest):
            self._version(version)
        elif network := _NETWORK.search(rest):
            topology["nccl-network"] = network[1]
        elif (devices := _DEVICES.match(rest)) and "No device" not in rest:
            topology["nccl-devices"] = f"{devices[1]} {devices[2]}"[:200]
        elif ranks := _RANKS.search(rest):
            topology["nccl-ranks"] = int(ranks[1] or ranks[3])
            if ranks[2]:
                topology["nccl-hosts"] = int(ranks[2])

    def _version(self, found: re.Match[str]) -> None:
        self.found.version(found[1], found[2].rstrip("."))
        if found[3]:
            self.found.version({"cuda": "CUDA", "hip": "HIP"}.get(found[3], found[3]), found[4])


READER = NcclLog
