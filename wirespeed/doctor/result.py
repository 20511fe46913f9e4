"""Outcome of an examination, and its record in a result file."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct, structs, to_builtins

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.measured import Stretch
from wirespeed.results.decoding import DoesNotFit, fitted
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.model import Doctor
from wirespeed.results.recorder import now


class Result(Struct, frozen=True):
    """Findings of one examination."""

    facts: MachineFacts
    findings: tuple[RecordedFinding, ...]
    stretches: tuple[Stretch, ...] = ()
    """Best path by size, where there are measurements."""
    since: str = ""
    """When, for a record of a result file."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks that a reader must know before the findings."""
        then = (f"wirespeed doctor found this at {self.since}",) if self.since else ()
        return (*then, *self.facts.reservations)

    @property
    def standing(self) -> tuple[RecordedFinding, ...]:
        """The findings whose remedies no measurement has refuted."""
        return tuple(finding for finding in self.findings if not finding.refuted)

    @property
    def record(self) -> Doctor:
        """One record of a result file, without the measurements, which have records of their own."""
        members = structs.asdict(self.facts).items()
        record = {
            "at": now(),
            "facts": {name: item for name, item in members if name not in ("runs", "trial")},
            "findings": [structs.replace(finding, cost=finding.measured_cost) for finding in self.findings],
            "fastest": self.stretches,
        }
        found: Doctor = fitted(Doctor, to_builtins(record))
        return found

    @classmethod
    def of(cls, record: Doctor) -> Result:
        """Result that a record of a result file holds; facts of another version may not fit."""
        facts, stretches = MachineFacts(), tuple[Stretch, ...]()
        with suppress(DoesNotFit):
            facts = fitted(MachineFacts, record.facts)
        with suppress(DoesNotFit):
            stretches = fitted(tuple[Stretch, ...], record.fastest)
        return cls(facts, tuple(record.findings), stretches, record.at)
