"""Findings about variables that the text sets: the doctor's rules, where the text shows that they matter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wirespeed.foreign.findings.transports import active_ports, faster_network
from wirespeed.foreign.shapes import Finding, Log
from wirespeed.host.ucx_transports import left_out
from wirespeed.host.variables import bad_settings

SEVERITIES = {"breaks": 2, "high": 2, "some": 1}
"""Cost by the table -> severity; what costs little is no finding about figures."""
WITHIN_HOST = ("OMPI_MCA_btl",)
"""Variables that hurt ranks of one host."""
_HOSTS = re.compile(r"\s(?:-H|--?hosts?)[ =][\w.-]+(?::\d+)?,\s*[\w.-]+")
"""Two hosts that a command line names."""
OF_MPI = ("OMPI_", "PMIX_", "UCX_", "MPICH_", "MPIR_", "I_MPI_", "MV2_", "MVP_")
GPU_SETTINGS = ("CUDA_", "NCCL_", "RCCL_", "HIP_", "ROCR_")


def find(log: Log) -> Iterator[Finding]:
    """One for each variable that hurts."""
    gpus, adapters = _gpus(log), _adapters(log)
    on_one_host = any(curve.hosts == 1 for curve in log.curves)
    several_hosts = any(_HOSTS.search(command) for _, command in log.commands)
    by_nccl = bool(log.curves) and all(curve.tool.startswith(("nccl", "rccl")) for curve in log.curves)
    present = {"gpus": gpus, "nics": True, "rdma2": len(active_ports(log)) > 1, "": True}
    for row, value in bad_settings(log.settings):
        severity, needs = SEVERITIES.get(row["cost"], 0), row.get("needs", "")
        # A network that is switched off may not exist where the text names no adapter.
        severity = min(severity, 1) if needs == "nics" and not adapters else severity
        if row["name"] in WITHIN_HOST and not on_one_host:
            severity = 0 if several_hosts else min(severity, 1)
        # Under nccl-tests, MPI starts the ranks, and moves none of the bytes.
        if by_nccl and row["name"].startswith(OF_MPI):
            severity = 0
        if severity and present[needs]:
            better = row.get("set")
            do = f"export {row['name']}={better}" if better else f"unset {row['name']}"
            seen = f"{row['name']}={value} is set"
            yield Finding(f"variable-{row['name']}", severity, seen, row["says"], do)
    if not by_nccl:
        yield from _ucx_tls(log.settings.get("UCX_TLS", "").strip(), gpus, adapters)


def _ucx_tls(value: str, gpus: bool, adapters: bool) -> Iterator[Finding]:
    names = set(value.split(","))
    lacks = left_out(value, "cuda_ipc" if gpus or "cuda" in value else "", network=adapters)
    if "cuda_copy" in names and not {"gdr_copy", "cuda", "gpu", "all"} & names:
        lacks["gdr_copy"] = "UCX copies small messages of GPU memory by the driver, some 10 us each"
    if lacks:
        fitting = "all" if value.startswith("^") else ",".join([value, *lacks])
        yield Finding(
            "variable-UCX_TLS",
            1,
            f"UCX_TLS={value} leaves out {', '.join(lacks)}",
            "; ".join(lacks.values()),
            f"unset UCX_TLS, or export UCX_TLS={fitting}",
        )


def _gpus(log: Log) -> bool:
    """Does the text show that GPUs take part?"""
    on_gpu = any("D" in curve.memory.split() for curve in log.curves)
    named = any(name.startswith(GPU_SETTINGS) for name in log.settings)
    return on_gpu or named or bool(log.topology.get("gpus"))


def _adapters(log: Log) -> bool:
    """Does it show network adapters?"""
    by_verbs = any(made.kind == "NET" and not made.detail.startswith("Socket") for made in log.transports)
    return by_verbs or bool(faster_network(log)) or any(curve.tool == "perftest" for curve in log.curves)
