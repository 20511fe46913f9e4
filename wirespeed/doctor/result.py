"""What an examination found, and its record in a result file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Finding
from wirespeed.doctor.measured import Stretch
from wirespeed.results.lenient import fitted
from wirespeed.results.model import Doctor
from wirespeed.results.recorder import now
from wirespeed.results.store import Store


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
            "at": now(),
            "facts": self.facts.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
            "fastest": [dataclasses.asdict(stretch) for stretch in self.stretches],
        }

    def append_to(self, file: str) -> None:
        """Adds the record to a result file, or begins one. Raises WirespeedError when it cannot."""
        with Store(file, resume=True) as store:
            store.append(fitted(Doctor, self.to_record()))
