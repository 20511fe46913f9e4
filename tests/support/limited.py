"""Job steps, wires and evidence made up for limits."""

from __future__ import annotations

from typing import Any

from wirespeed.limits import Ceiling, Used

H200 = "NVIDIA H200"


def ranks(count: int, name: str = H200, per_host: int | None = None) -> list[dict[str, Any]]:
    return [
        {
            "rank": n,
            "host": f"n{n // (per_host or count)}",
            "device": {"kind": "cuda", "name": name, "id": f"G{n}"} if name else None,
        }
        for n in range(count)
    ]


def used(pattern: str = "pingpong", transport: str = "mpi", count: int = 2, **more: Any) -> Used:
    step = {
        "ranks": ranks(count, more.pop("name", H200), more.pop("per_host", None)),
        "memory": more.pop("memory", "device"),
        "transport": transport,
        "into": more.pop("into", None),
    }
    return Used(pattern, step, **more)


def rate(found: Ceiling | None) -> float:
    """GB/s."""
    assert found is not None
    return round(found.rate / 1e9, 1)


def wire(kind: str, name: str = "", host: str = "n0", **facts: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, "host": host, "device": None, "rate": None, **facts}


def counted(kind: str, *, moved: int = 125, verdict: str = "network", hosts: int = 2) -> dict[str, Any]:
    """Of each 100 bytes of payload that a host exchanged."""
    wires = [
        {"kind": kind, "host": host, "name": "port", "sent": moved, "received": 0}
        | {"expected_sent": 100, "expected_received": 0}
        for host in (f"n{number}" for number in range(hosts))
    ]
    return {"verdict": verdict, "wires": wires}
