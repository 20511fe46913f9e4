"""Variables in the environment that hurt: the faults of host/variables.toml, and values to be parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import TRIAL_SIZES, Conditions, Cost, Finding, Trial
from wirespeed.doctor.shell import assigned, exports, quoted
from wirespeed.host.variables import TableRow, table

_UCX = "UCX's ucp_context.c: ucp_tl_aliases; UCX FAQ, 'Working with GPU'"
_SHARED = {"posix", "sysv", "xpmem"}
_RDMA = {
    f"{kind}{engine}" for kind in ("rc", "ud", "dc") for engine in ("", "_verbs", "_mlx5", "_v", "_x")
} | {"srd"}
_ALIASES = {
    "ib": _RDMA,
    **{kind: {word for word in _RDMA if word.startswith(kind)} for kind in ("rc", "ud", "dc")},
    **dict.fromkeys(("sm", "shm", "mm"), _SHARED),
    "cuda": {"cuda_copy", "cuda_ipc", "gdr_copy"},
    "rocm": {"rocm_copy", "rocm_ipc", "rocm_gdr"},
    "gpu": {"cuda_copy", "cuda_ipc", "gdr_copy", "rocm_copy", "rocm_ipc", "rocm_gdr"},
}
"""Names in UCX_TLS that stand for several transports."""


def find(facts: MachineFacts) -> Iterator[Finding]:
    """One finding for each variable that hurts here."""
    for table_row in table("fault"):
        value = facts.variables.get(table_row["name"])
        bad = value is not None and re.fullmatch(table_row["bad"], value.strip(), re.IGNORECASE)
        if value is not None and bad and _matters(facts, table_row.get("needs", "")):
            yield _from_table(facts, table_row, value)
    yield from _ucx_tls(facts)


def _matters(facts: MachineFacts, needs: str) -> bool:
    several = len(facts.active_ports) > 1
    return {"gpus": bool(facts.gpus), "nics": bool(facts.nics), "rdma2": several}.get(needs, True)


def _from_table(facts: MachineFacts, table_row: TableRow, value: str) -> Finding:
    name, better = table_row["name"], table_row.get("set")
    path = next((path for path in table_row.get("path", "").split("|") if path and facts.can_run(path)), "")
    after = Conditions({name: better}) if better else Conditions(unset=(name,))
    return Finding(
        f"variable-{name}",
        f"{assigned(name, value)}: {table_row['says']}",
        table_row["cost"],
        (f"{assigned(name, value)} is set in the environment",),
        exports({name: better}) if better else (f"unset {name}",),
        trial=Trial(path, TRIAL_SIZES, after) if path else None,
        source=table_row["source"],
    )


def _ucx_tls(facts: MachineFacts) -> Iterator[Finding]:
    """A list of transports that leaves out what the machine has."""
    value = facts.variables.get("UCX_TLS", "").strip()
    kinds = {gpu.kind for gpu in facts.gpus}
    ipc = "cuda_ipc" if "cuda" in kinds else "rocm_ipc" if "hip" in kinds else ""
    lacks = {ipc: "UCX may not copy directly between GPUs"} if ipc and not _allows(value, {ipc}) else {}
    if not _allows(value, _SHARED):
        lacks["sm"] = "UCX may not use shared memory within a host"
    # A list without any network serves jobs of one host.
    networked = value.startswith("^") or "tcp" in value.split(",")
    if facts.active_ports and networked and not _allows(value, _RDMA):
        lacks["rc"] = "UCX may not use RDMA between hosts"
    if not value or not lacks:
        return
    fitting = "all" if value.startswith("^") else ",".join([value, *lacks])
    path = "aware" if ipc in lacks else "host"
    yield Finding(
        "variable-UCX_TLS",
        f"{assigned('UCX_TLS', value)} leaves out {' and '.join(lacks)}",
        Cost.HIGH,
        (f"{assigned('UCX_TLS', value)} is set in the environment", *lacks.values()),
        ("unset UCX_TLS", f"# or, to keep the rest of the choice: export UCX_TLS={quoted(fitting)}"),
        trial=Trial(path, TRIAL_SIZES, Conditions(unset=("UCX_TLS",))) if facts.can_run(path) else None,
        source=_UCX,
    )


def _allows(value: str, wanted: set[str]) -> bool:
    """Whether a UCX list ('rc,cuda' or '^cuda_ipc') allows one of these transports."""
    names = {name.strip().partition(":")[0] for name in value.lstrip("^").split(",")}
    listed = set().union(*(_ALIASES.get(name, {name}) for name in names))
    if value.startswith("^"):
        return bool(wanted - listed)
    return "all" in names or bool(wanted & listed)
