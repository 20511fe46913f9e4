"""Variables in the environment that hurt: variables.toml, and those whose values have to be parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import TRIAL_SIZES, Conditions, Cost, Finding, Trial
from wirespeed.doctor.shell import assigned, exports, quoted
from wirespeed.doctor.tables import TableRow, table

_UCX = "UCX's ucp_context.c: ucp_tl_aliases; UCX FAQ, 'Working with GPU'"
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_SHARED = {"posix", "sysv", "xpmem"}
_ALIASES = {
    **dict.fromkeys(("sm", "shm", "mm"), _SHARED),
    "cuda": {"cuda_copy", "cuda_ipc", "gdr_copy"},
    "rocm": {"rocm_copy", "rocm_ipc", "rocm_gdr"},
    "gpu": {"cuda_copy", "cuda_ipc", "gdr_copy", "rocm_copy", "rocm_ipc", "rocm_gdr"},
}
"""Names in UCX_TLS that stand for several transports."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each variable that hurts here."""
    for one in table("variables"):
        value = facts.variables.get(one["name"])
        bad = value is not None and re.fullmatch(one["bad"], value.strip(), re.IGNORECASE)
        if value is not None and bad and _matters(facts, one.get("needs", "")):
            yield _from_table(facts, one, value)
    yield from _ucx_tls(facts)
    yield from _one_of_several(facts)


def _matters(facts: Facts, needs: str) -> bool:
    several = len(active_ports(facts)) > 1
    return {"gpus": bool(facts.gpus), "nics": bool(facts.nics), "rdma2": several}.get(needs, True)


def active_ports(facts: Facts) -> list[str]:
    """'mlx5_0:1' of each RDMA port that is up."""
    return [f"{nic.name}:{port.number}" for nic in facts.nics for port in nic.ports if port.state == "ACTIVE"]


def _from_table(facts: Facts, one: TableRow, value: str) -> Finding:
    name, better, path = one["name"], one.get("set"), one.get("path", "")
    after = Conditions({name: better}) if better else Conditions(unset=(name,))
    return Finding(
        f"variable-{name}",
        f"{assigned(name, value)}: {one['says']}",
        one["cost"],
        (f"{assigned(name, value)} is set in the environment",),
        exports({name: better}) if better else (f"unset {name}",),
        trial=Trial(path, TRIAL_SIZES, after) if path and facts.can_run(path) else None,
        source=one["source"],
    )


def _ucx_tls(facts: Facts) -> Iterator[Finding]:
    """A list of transports that leaves out what the machine has."""
    value = facts.variables.get("UCX_TLS", "").strip()
    kinds = {gpu.kind for gpu in facts.gpus}
    ipc = "cuda_ipc" if "cuda" in kinds else "rocm_ipc" if "hip" in kinds else ""
    lacks = {ipc: "UCX may not copy directly between GPUs"} if ipc and not _allows(value, {ipc}) else {}
    if not _allows(value, _SHARED):
        lacks["sm"] = "UCX may not use shared memory within a host"
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


def _one_of_several(facts: Facts) -> Iterator[Finding]:
    """A variable that names one network port where there are several."""
    ports = active_ports(facts)
    for name, meant, source in (
        ("UCX_NET_DEVICES", _ucx_ports, "ucx_info -c -f: 'Specifies which network device(s) to use'"),
        ("NCCL_IB_HCA", _nccl_ports, f"{_NCCL}#nccl-ib-hca"),
    ):
        value = facts.variables.get(name, "").strip()
        if value and len(ports) > 1 and len(meant(value, ports)) == 1:
            yield Finding(
                f"variable-{name}",
                f"{assigned(name, value)} names one of {len(ports)} network ports",
                Cost.HIGH,
                (
                    f"{assigned(name, value)} is set in the environment",
                    f"ports that are up: {', '.join(ports)}",
                ),
                (f"unset {name}",),
                source=source,
            )


def _ucx_ports(value: str, ports: list[str]) -> set[str]:
    """UCX names ports in full, as mlx5_0:1; other names are no RDMA ports."""
    names = {name.strip() for name in value.lstrip("^").split(",")}
    if "all" in names:
        return set(ports)
    return {port for port in ports if (port in names) != value.startswith("^")}


def _nccl_ports(value: str, ports: list[str]) -> set[str]:
    """NCCL: beginnings of names; '=' in front means whole names, '^' all others."""
    others, exact = value.startswith("^"), value.lstrip("^").startswith("=")
    names = [name.strip() for name in value.lstrip("^=").split(",") if name.strip()]

    def named(port: str) -> bool:
        device = port.partition(":")[0]
        return any(name in (port, device) if exact else port.startswith(name) for name in names)

    return {port for port in ports if named(port) != others}
