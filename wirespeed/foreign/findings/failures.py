"""Findings about lines that tell of a failure: causes, without what follows from them."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.foreign.findings.told import table, told
from wirespeed.foreign.shapes import FailingLine, Finding, Log

LONGEST = 200
"""Letters of a line that are shown."""
PER_TASK = (
    "--gpus-per-task",
    "--gpu-bind",
    "--tres-per-task",
    "--tres-bind",
    "SLURM_GPUS_PER_TASK",
    "SLURM_GPU_BIND",
)
"""Settings by which a batch system gives each rank GPUs of its own."""


def find(log: Log) -> Iterator[Finding]:
    """One for each kind, at its first line."""
    lines: dict[str, list[FailingLine]] = {}
    for failure in log.failures:
        lines.setdefault(failure.kind, []).append(failure)
    explained: set[str] = set()
    bound = {
        name: value for name, value in log.settings.items() if name in PER_TASK and not value.endswith("none")
    }
    for row in table()["failure"]:
        kind = row["kind"]
        if kind not in lines or kind in explained:
            continue
        explained.update(row["explains"])
        seen = _seen(log, lines[kind])
        if kind in ("cuda-ipc", "ipc-export") and bound:
            settings = ", ".join(f"{name}={value}" for name, value in bound.items())
            gpus = log.settings.get("--gpus", "N")
            yield told(kind, 2, seen, "bound", settings=settings, gpus=gpus)
        else:
            yield Finding(kind, row["severity"], seen, row["cause"], row["do"])


def _seen(log: Log, lines: list[FailingLine]) -> str:
    first = lines[0]
    text = first.text if len(first.text) <= LONGEST else f"{first.text[:LONGEST]} ..."
    return f"{log.place(first.line)}: {text}" + (f" ({len(lines)} such lines)" if len(lines) > 1 else "")
