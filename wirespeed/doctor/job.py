"""A measurement on the side: `wirespeed pingpong` as a process of its own, under a setting of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wirespeed.doctor.facts.model import Place
from wirespeed.doctor.facts.tree import cpu_list
from wirespeed.doctor.finding import Setting
from wirespeed.errors import WirespeedError
from wirespeed.host.process import end, last_line, on_cpus
from wirespeed.host.tether import tethered
from wirespeed.results.model import StepRecord
from wirespeed.results.runs import NO_STEP, Entry, Failure, Run, collect, joined

LONGEST_S = 600.0
"""For one measurement: each path has its own limit for hangs, this one is for what nobody foresaw."""
MAX_TIME_S = 0.1
"""Per size: enough for a ratio with its interval."""
UNBOUND = {
    "I_MPI_PIN": "off",
    "MV2_ENABLE_AFFINITY": "0",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "SLURM_CPU_BIND": "none",
}
"""Launchers that would bind ranks elsewhere leave them where this process may run."""


@dataclass(frozen=True)
class Base:
    """What all measurements share."""

    device: str = "auto"
    mpi: str | None = None
    launcher: str = "auto"
    timeout: float | None = None


@dataclass
class Attempt:
    """What came of one path in one setting."""

    entries: dict[int, Entry] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    run: Run | None = None
    refusal: str = ""
    """Why nothing could be measured at all."""

    @property
    def text(self) -> str:
        """What went wrong, in one line; empty if nothing did."""
        return self.refusal or (self.failures[0].text if self.failures else "")

    @property
    def what(self) -> str:
        """works, or what kind of failure it was."""
        if self.entries and not self.failures:
            return "works"
        return self.failures[0].what if self.failures else "error"

    def step(self) -> StepRecord:
        return self.run.steps[-1] if self.run and self.run.steps else NO_STEP


def measure(
    path: str,
    sizes: Sequence[int],
    base: Base,
    setting: Setting | None = None,
    pattern: Sequence[str] = (),
    *,
    evidence: bool = False,
) -> Attempt:
    """One path at some sizes, in job steps of its own. Never raises for what the path does.

    `evidence`: also count what the wires carry.
    """
    setting = setting or Setting()
    with tempfile.TemporaryDirectory(prefix="wirespeed-doctor-") as folder:
        out = Path(folder, "job.jsonl")
        words = [*_command(pattern or ("pingpong",), path, sizes, base, setting), "--out", str(out)]
        words += [] if evidence else ["--no-evidence"]
        said = _run(words, environment(setting), setting.cpus)
        return _read(out, path, said)


def _command(
    pattern: Sequence[str], path: str, sizes: Sequence[int], base: Base, setting: Setting
) -> list[str]:
    entry = Path(__file__).parents[1] / "cli"
    words = [sys.executable, str(entry), *pattern, "--paths", path, "--sizes", ",".join(map(str, sizes))]
    words += ["--device", base.device, "--launcher", base.launcher, "--max-time", str(MAX_TIME_S)]
    if mpi := setting.mpi or base.mpi:
        words += ["--mpi", mpi]
    if base.timeout is not None:
        words += ["--timeout", f"{base.timeout:g}"]
    return words


def environment(setting: Setting) -> dict[str, str]:
    """This process's, changed as the setting says."""
    found = {name: text for name, text in os.environ.items() if name not in setting.unset}
    if setting.cpus:
        found |= UNBOUND
    return found | dict(setting.variables)


def _run(words: Sequence[str], variables: Mapping[str, str], cpus: Sequence[int]) -> str:
    """The last line that it said on stderr."""
    try:
        _, said = run_process(words, variables, LONGEST_S, cpus)
    except subprocess.TimeoutExpired:
        return f"it was ended after {LONGEST_S:.0f} s"
    except OSError:
        return f"it could not be started{' on these CPUs: this process may not use them' if cpus else ''}"
    return last_line(said)


def run_process(
    words: Sequence[str], variables: Mapping[str, str], limit: float, cpus: Sequence[int] = ()
) -> tuple[str, str]:
    """What a process said on stdout and stderr. It leaves none behind, whatever happens here.

    Raises OSError when it may not run on these CPUs, TimeoutExpired after `limit` seconds.
    """
    with on_cpus(cpus):
        process = subprocess.Popen(
            tethered(words),
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    try:
        return process.communicate(timeout=limit)
    finally:
        end(process)


def _read(out: Path, path: str, said: str) -> Attempt:
    from wirespeed.results.store import read

    try:
        runs = collect(read(out).records)
    except WirespeedError:
        runs = []
    if not runs:
        return Attempt(refusal=said or "it said nothing")
    run = joined(runs)
    entries = {entry.bytes: entry for entry in run.of_path(path)}
    failures = [failure for failure in run.failures if failure.path == path]
    return Attempt(entries, failures, run, "" if entries or failures else said)


def places(run: Run) -> tuple[Place, ...]:
    """Where the ranks of a run's last step stood."""
    return tuple(
        Place(rank.rank, rank.host, cpu_list(rank.cpus), ((rank.device and rank.device.pci) or "").lower())
        for rank in (run.steps[-1].ranks if run.steps else ())
    )
