"""Variables in the environment that hurt: the faults of host/variables.toml, and values to be parsed."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import TRIAL_SIZES, Conditions, Cost, Finding, Trial
from wirespeed.doctor.shell import assigned, exports, quoted
from wirespeed.host.ucx_transports import SOURCE, left_out
from wirespeed.host.variables import TableRow, bad_settings


def find(facts: MachineFacts) -> Iterator[Finding]:
    """One finding for each variable that hurts here."""
    for table_row, value in bad_settings(facts.variables):
        if _matters(facts, table_row.get("needs", "")):
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
    lacks = left_out(value, ipc, network=bool(facts.active_ports))
    if not lacks:
        return
    fitting = "all" if value.startswith("^") else ",".join([value, *lacks])
    path = "aware" if any(name.endswith(("_ipc", "_copy")) for name in lacks) else "host"
    yield Finding(
        "variable-UCX_TLS",
        f"{assigned('UCX_TLS', value)} leaves out {' and '.join(lacks)}",
        Cost.HIGH,
        (f"{assigned('UCX_TLS', value)} is set in the environment", *lacks.values()),
        ("unset UCX_TLS", f"# or, to keep the rest of the choice: export UCX_TLS={quoted(fitting)}"),
        trial=Trial(path, TRIAL_SIZES, Conditions(unset=("UCX_TLS",))) if facts.can_run(path) else None,
        source=SOURCE,
    )
