"""A measurement on the side: `wirespeed pingpong` as a process of its own, under conditions of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from wirespeed import interrupts
from wirespeed.doctor.facts.model import RankPlacement
from wirespeed.doctor.facts.tree import cpu_list
from wirespeed.errors import WirespeedError
from wirespeed.frontend.bound import LEAST_S, Bound
from wirespeed.host.die_with_parent import dies_with_parent
from wirespeed.host.process import end, last_line, on_cpus
from wirespeed.host.temporary import temporary_folder
from wirespeed.job.cause import Cause
from wirespeed.results.findings import AS_IT_IS, Conditions
from wirespeed.results.runs import Entry, Failure, Run, collect, joined

LONGEST_S = 600.0
"""Limit for one measurement. Each path has its own limit for hangs; this one is for anything else."""
MAX_TIME_S = 0.1
"""Time per size: enough for a ratio with its interval."""
UNBOUND = {
    "I_MPI_PIN": "off",
    "MV2_ENABLE_AFFINITY": "0",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "SLURM_CPU_BIND": "none",
}
"""Variables that keep launchers from binding ranks to other CPUs than those of this process."""


class Late(WirespeedError):
    """There is no time for a measurement."""


class Base(Struct, frozen=True):
    """Options that all measurements share."""

    device: str = "auto"
    mpi: str | None = None
    launcher: str = "auto"
    timeout: float | None = None
    one_gpu: bool = False
    """All ranks of a trial use the only GPU."""
    bound: Bound | None = None
    """On the time of all measurements."""

    def refuse_late(self) -> None:
        """Raises Late where no time is left for a measurement."""
        if self.bound and self.bound.left < LEAST_S:
            raise Late(f"no time is left of {self.bound}")


class Attempt(Struct):
    """The outcome of one path under one set of conditions."""

    entries: dict[int, Entry] = {}
    failures: list[Failure] = []
    run: Run | None = None
    refusal: str = ""
    """Reason why nothing could be measured at all."""

    @property
    def text(self) -> str:
        """The failure in one line; empty if there was none."""
        return self.refusal or (self.failures[0].text if self.failures else "")

    @property
    def what(self) -> str:
        """works, or the kind of failure."""
        if self.entries and not self.failures:
            return "works"
        return self.failures[0].what if self.failures else "error"

    @property
    def cause(self) -> Cause:
        """Cause of the failure; of an unknown kind if there was none, or nothing could be measured at all."""
        return self.failures[0].cause if self.failures and not self.refusal else Cause()


def measure(
    path: str,
    sizes: Sequence[int],
    base: Base,
    setting: Conditions = AS_IT_IS,
    pattern: Sequence[str] = (),
    *,
    evidence: bool = False,
) -> Attempt:
    """One path at some sizes, in job steps of its own. It raises nothing for failures of the path.

    `evidence`: also count the traffic on the wires. Raises Late.
    """
    base.refuse_late()
    entry = Path(__file__).parents[1] / "cli"
    words = [sys.executable, str(entry), *command(path, sizes, base, setting, pattern)]
    words += [] if evidence else ["--no-evidence"]
    words += [f"--within={base.bound.left:.1f}"] if base.bound else []
    with temporary_folder("doctor") as folder:
        out = folder / "job.jsonl"
        attempt = _read(out, path, _run([*words, "--out", str(out)], setting))
    if not (attempt.entries or attempt.failures):
        base.refuse_late()
    return attempt


def command(
    path: str,
    sizes: Sequence[int],
    base: Base,
    setting: Conditions = AS_IT_IS,
    pattern: Sequence[str] = (),
) -> list[str]:
    """The words after `wirespeed` that measure one path at some sizes."""
    words = [*(pattern or ("pingpong",)), "--paths", path, "--sizes", ",".join(map(str, sizes))]
    words += ["--max-time", str(MAX_TIME_S), "--device", base.device, "--launcher", base.launcher]
    words += ["--mpi", mpi] if (mpi := setting.mpi or base.mpi) else []
    if base.one_gpu and not {"--between", "--ranks-per-gpu"} & {*words}:
        words += ["--ranks-per-gpu", words[words.index("--ranks") + 1] if "--ranks" in words else "2"]
    return words + (["--timeout", f"{base.timeout:g}"] if base.timeout is not None else [])


def environment(setting: Conditions) -> dict[str, str]:
    """This process's environment, changed as the conditions say."""
    found = {name: text for name, text in os.environ.items() if name not in setting.unset}
    if setting.cpus:
        found |= UNBOUND
    return found | dict(setting.variables)


def _run(words: Sequence[str], setting: Conditions) -> str:
    """Its last line on stderr."""
    try:
        _, said = run_process(words, environment(setting), LONGEST_S, setting.cpus)
    except subprocess.TimeoutExpired:
        return f"it was ended after {LONGEST_S:.0f} s"
    except OSError:
        why = " on these CPUs: this process may not use them" if setting.cpus else ""
        return f"it could not be started{why}"
    return last_line(said)


def run_process(
    words: Sequence[str], variables: Mapping[str, str], limit: float, cpus: Sequence[int] = ()
) -> tuple[str, str]:
    """A process's output on stdout and stderr. No process is left behind, whatever happens.

    Raises OSError when it may not run on these CPUs, TimeoutExpired after `limit` seconds.
    """
    with on_cpus(cpus):
        process = subprocess.Popen(
            dies_with_parent(words),
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    until = time.monotonic() + limit
    try:
        while True:
            try:
                return process.communicate(timeout=interrupts.POLL_S)
            except subprocess.TimeoutExpired:
                interrupts.check()
                if time.monotonic() > until:
                    raise
    finally:
        end(process)


def _read(out: Path, path: str, said: str) -> Attempt:
    from wirespeed.results.reading import read

    try:
        runs = collect(read(out).records)
    except WirespeedError:
        runs = []
    if not runs:
        return Attempt(refusal=said or "it printed nothing")
    run = joined(runs)
    entries = {entry.bytes: entry for entry in run.of_path(path)}
    failures = [failure for failure in run.failures if failure.path == path]
    return Attempt(entries, failures, run, "" if entries or failures else said)


def placements(run: Run | None) -> tuple[RankPlacement, ...]:
    """CPUs and GPU of each rank in a run's last step."""
    return tuple(
        RankPlacement(
            rank.rank,
            rank.host,
            cpu_list(rank.cpus),
            ((rank.device and rank.device.pci) or "").lower(),
            (rank.device and rank.device.id) or "",
            tuple(rank.visible),
        )
        for rank in (run.steps[-1].ranks if run and run.steps else ())
    )
