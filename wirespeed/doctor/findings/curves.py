"""Measurements: sizes at which a path's curve is not sound, where no other rule explains them."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.findings import thresholds
from wirespeed.results.curves import curve_findings


def find(facts: MachineFacts) -> Iterator[Finding]:
    """Findings of each path's latest run."""
    explained = {finding.key.split("-")[1] for finding in thresholds.find(facts)}
    latest = {path: run for run in facts.runs for path in run.paths}
    for run in {id(run): run for run in latest.values()}.values():
        for path, found in curve_findings(run):
            if latest[path] is run and path not in explained:
                yield Finding(
                    f"curve-{found.kind}-{path}",
                    f"{path}: {found.seen}",
                    Cost.SOME,
                    (f"{facts.file}: {found.cause}",),
                    (f"# {found.do}",),
                    source=SOURCE,
                    suggestion=True,
                )


SOURCE = "wirespeed/judge/shape.py: bounds from the curves of results/"
