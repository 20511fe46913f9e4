"""What an examination found, and its record in a result file."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Finding
from wirespeed.doctor.measured import Stretch
from wirespeed.results import record
from wirespeed.results.reading import cannot, shown, why

LONGEST = 64 << 20
"""Bytes of a line."""


@dataclass(frozen=True)
class Result:
    """What was found."""

    facts: Facts
    findings: tuple[Finding, ...]
    stretches: tuple[Stretch, ...] = ()
    """Which path is best at which size, where there are measurements."""
    notes: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """One record of a result file."""
        return {
            "kind": "doctor",
            "at": record.now(),
            "facts": self.facts.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
            "fastest": [dataclasses.asdict(stretch) for stretch in self.stretches],
        }

    def append_to(self, file: str) -> None:
        """Adds the record to a result file, or begins one. Raises WirespeedError when it cannot."""
        line = json.dumps(self.to_record(), separators=(",", ":"), default=str).encode() + b"\n"
        try:
            with Path(file).open("a+b") as stream:
                stream.seek(0)
                before = stream.readline(LONGEST)
                if before and not _is_record(before):
                    raise cannot(f"{shown(file)} is not a result file; name another one (--out)")
                if before:
                    stream.seek(-1, os.SEEK_END)
                    line = line if stream.read(1) == b"\n" else b"\n" + line
                stream.write(line)
        except (OSError, ValueError) as error:
            raise cannot(f"cannot write {shown(file)}: {why(error)}; name another file (--out)") from None


def _is_record(line: bytes) -> bool:
    """Is it one of ours? A file may hold nothing but what a doctor said."""
    try:
        record = json.loads(line)
    except ValueError:
        return False
    return isinstance(record, dict) and isinstance(record.get("kind"), str)
