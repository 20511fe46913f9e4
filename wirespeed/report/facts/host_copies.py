"""How often a path copies between a GPU and its host, which handing over device pointers saves."""

from __future__ import annotations

from wirespeed.report.facts.wire_verdicts import of_path
from wirespeed.results.model import Evidence
from wirespeed.results.runs import Run


def host_copies(run: Run) -> str:
    """'staged 1000, aware none': in an iteration, on the rank with most; empty where nobody counted."""
    if not run.traits.counts_copies:
        return ""
    last = {path: found[-1] for path in run.paths if (found := of_path(run, path))}
    counts = {
        path: _count(evidence) for path, evidence in last.items() if evidence.copies and evidence.iterations
    }
    if len(counts) < 2 or not any(counts.values()):
        return ""
    return ", ".join(f"{path} {count or 'none'}" for path, count in counts.items())


def _count(evidence: Evidence) -> int:
    """What setting up brings is a few copies in many iterations."""
    most = max(rank.host_to_device.count + rank.device_to_host.count for rank in evidence.copies)
    return round(most / evidence.iterations)
