"""Variables that choose network ports: values that leave out the fast ones."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.shell import assigned

_UCX = "ucx_info -c -f: 'Specifies which network device(s) to use'"
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-hca"


def find(facts: MachineFacts) -> Iterator[Finding]:
    """RDMA ports: values that name none of them or one of several; without ports, slow interfaces."""
    ports = facts.active_ports
    for name, meant, source in (("UCX_NET_DEVICES", _ucx_ports, _UCX), ("NCCL_IB_HCA", _nccl_ports, _NCCL)):
        value = facts.variables.get(name, "").strip()
        if not value:
            continue
        lacks = _interfaces(facts, value) if name == "UCX_NET_DEVICES" else ""
        if ports:
            lacks = _of_several(len(meant(value, ports)), len(ports))
        if lacks:
            seen = f"ports that are up: {', '.join(ports or [net.name for net in facts.nets]) or 'none'}"
            yield Finding(
                f"variable-{name}",
                f"{assigned(name, value)} {lacks}",
                Cost.HIGH,
                (f"{assigned(name, value)} is set in the environment", seen),
                (f"unset {name}",),
                source=source,
            )


def _of_several(left: int, ports: int) -> str:
    if not left:
        return "names none of the RDMA ports that are up"
    return f"names one of {ports} RDMA ports" if left == 1 < ports else ""


def _interfaces(facts: MachineFacts, value: str) -> str:
    """What UCX lacks with these interfaces; virtual ones are unknown here, and nothing is said of them."""
    rates = {net.name: net.rate or 0.0 for net in facts.nets if net.state == "up"}
    names = {name.strip() for name in value.lstrip("^").split(",")}
    if names == {"lo"} and not value.startswith("^"):
        return "names the loopback interface, by which UCX reaches no other host"
    left = {name: rate for name, rate in rates.items() if (name in names) != value.startswith("^")}
    fastest = max(rates, key=lambda name: rates[name], default="")
    if not left or "all" in names or rates[fastest] <= max(left.values()):
        return ""
    return f"leaves out {fastest}, the fastest interface ({rates[fastest]:g} Gb/s)"


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
