"""Variables in the environment that hurt: variables.toml, and those whose value has to be understood."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Conditions, Cost, Finding, Trial
from wirespeed.toml import parse

SIZES = (8, 64 << 10, 16 << 20)
_UCX = "UCX's ucp_context.c: ucp_tl_aliases; UCX FAQ, 'Working with GPU'"
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_ALIASES = {
    "sm": {"posix", "sysv", "xpmem"},
    "shm": {"posix", "sysv", "xpmem"},
    "mm": {"posix", "sysv", "xpmem"},
    "cuda": {"cuda_copy", "cuda_ipc", "gdr_copy"},
    "rocm": {"rocm_copy", "rocm_ipc", "rocm_gdr"},
    "gpu": {"cuda_copy", "cuda_ipc", "gdr_copy", "rocm_copy", "rocm_ipc", "rocm_gdr"},
}
"""Names in UCX_TLS that stand for several transports."""
_SHARED = _ALIASES["sm"]


@cache
def table() -> tuple[Mapping[str, Any], ...]:
    """variables.toml, entry by entry."""
    text = files("wirespeed.doctor").joinpath("variables.toml").read_text("utf-8")
    return tuple(parse(text)["variable"])


def find(facts: Facts) -> list[Finding]:
    """One finding for each variable that hurts here."""
    found = []
    for one in table():
        value = facts.variables.get(one["name"])
        if value is None or not re.fullmatch(one["bad"], value.strip(), re.IGNORECASE):
            continue
        if _matters(facts, one.get("needs", "")):
            found.append(_from_table(facts, one, value))
    return [*found, *_ucx_tls(facts), *_one_of_several(facts)]


def _matters(facts: Facts, needs: str) -> bool:
    if needs == "gpus":
        return bool(facts.gpus)
    if needs == "nics":
        return bool(facts.nics)
    return len(active_ports(facts)) > 1 if needs == "rdma2" else True


def active_ports(facts: Facts) -> list[str]:
    """'mlx5_0:1' of each RDMA port that is up."""
    return [f"{nic.name}:{port.number}" for nic in facts.nics for port in nic.ports if port.state == "ACTIVE"]


def _from_table(facts: Facts, one: Mapping[str, Any], value: str) -> Finding:
    name, better, path = one["name"], one.get("set"), one.get("path", "")
    after = Conditions({name: better}) if better else Conditions(unset=(name,))
    return Finding(
        f"variable-{name}",
        f"{name}={value}: {one['says']}",
        Cost(one["cost"]),
        (f"{name}={value} is set in the environment",),
        (f"export {name}={better}" if better else f"unset {name}",),
        trial=Trial(path, SIZES, after) if path and facts.can_run(path) else None,
        source=one["source"],
    )


def _ucx_tls(facts: Facts) -> list[Finding]:
    """A list of transports that leaves out what the machine has."""
    value = facts.variables.get("UCX_TLS", "").strip()
    if not value:
        return []
    kinds = {gpu.kind for gpu in facts.gpus}
    ipc = "cuda_ipc" if "cuda" in kinds else "rocm_ipc" if "hip" in kinds else ""
    lacks = [ipc] if ipc and not _allows(value, {ipc}) else []
    lacks += ["sm"] if not _allows(value, _SHARED) else []
    if not lacks:
        return []
    says = {
        "sm": "UCX may not use shared memory within a host",
        ipc: "UCX may not copy straight between GPUs",
    }
    fitting = "all" if value.startswith("^") else ",".join([value, *lacks])
    path = "aware" if ipc in lacks else "host"
    return [
        Finding(
            "variable-UCX_TLS",
            f"UCX_TLS={value} leaves out {' and '.join(lacks)}",
            Cost.HIGH,
            (f"UCX_TLS={value} is set in the environment", *(says[lack] for lack in lacks)),
            ("unset UCX_TLS", f"# or, to keep the rest of the choice: export UCX_TLS={fitting}"),
            trial=Trial(path, SIZES, Conditions(unset=("UCX_TLS",))) if facts.can_run(path) else None,
            source=_UCX,
        )
    ]


def _allows(value: str, wanted: set[str]) -> bool:
    """Does a UCX list ('rc,cuda' or '^cuda_ipc') leave one of these transports?"""
    names = {name.strip().partition(":")[0] for name in value.lstrip("^").split(",")}
    listed = set().union(*(_ALIASES.get(name, {name}) for name in names))
    if value.startswith("^"):
        return bool(wanted - listed)
    return "all" in names or bool(wanted & listed)


def _one_of_several(facts: Facts) -> list[Finding]:
    """One network adapter named where there are several."""
    ports = active_ports(facts)
    if len(ports) < 2:
        return []
    found = []
    for name, meant, source in (
        ("UCX_NET_DEVICES", _ucx_ports, "ucx_info -c -f: 'Specifies which network device(s) to use'"),
        ("NCCL_IB_HCA", _nccl_ports, f"{_NCCL}#nccl-ib-hca"),
    ):
        value = facts.variables.get(name, "").strip()
        if value and len(meant(value, ports)) == 1:
            found.append(
                Finding(
                    f"variable-{name}",
                    f"{name}={value} names one of {len(ports)} network ports",
                    Cost.HIGH,
                    (f"{name}={value}", f"ports that are up: {', '.join(ports)}"),
                    (f"unset {name}",),
                    source=source,
                )
            )
    return found


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
