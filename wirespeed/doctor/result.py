"""What an examination found, and its record in a result file."""

from __future__ import annotations

from msgspec import Struct, structs, to_builtins

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Finding
from wirespeed.doctor.measured import Stretch
from wirespeed.results.lenient import fitted
from wirespeed.results.model import Doctor
from wirespeed.results.recorder import now


class Result(Struct, frozen=True):
    """What was found."""

    facts: Facts
    findings: tuple[Finding, ...]
    stretches: tuple[Stretch, ...] = ()
    """Which path is best at which size, where there are measurements."""
    notes: tuple[str, ...] = ()

    @property
    def record(self) -> Doctor:
        """One record of a result file, without the measurements, which have records of their own."""
        members = structs.asdict(self.facts).items()
        record = {
            "at": now(),
            "facts": {name: one for name, one in members if name not in ("runs", "trial")},
            "findings": [structs.replace(one, cost=one.measured_cost) for one in self.findings],
            "fastest": self.stretches,
        }
        found: Doctor = fitted(Doctor, to_builtins(record))
        return found
