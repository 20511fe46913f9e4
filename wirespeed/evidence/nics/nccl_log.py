"""NCCL's log: the NICs of one rank's connections to other hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_VIA = re.compile(r"NET/(?P<network>.+?)/(?P<number>\d+)(?:\(\d+\))?(?P<gpudirect>/GDRDMA)?")
_DEVICE = re.compile(r"\[(?P<number>\d+)\](?P<name>[^\s/]+)(?P<link>/\w+)?")
_MERGED = re.compile(r"Made virtual device \[(?P<number>\d+)\] name=(?P<names>\S+)")


def nics(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The NICs in what the transport `ccl` says of itself; empty where no channel leads over a network.

    `channels`: [{"via": "NET/IB/0/GDRDMA", ...}]; `networks`: lines of the log that number the devices, as
    "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB ib0:192.168.11.1<0>".
    """
    numbers = _numbers(details.get("networks") or ())
    found: dict[str, dict[str, Any]] = {}
    for channel in details.get("channels") or ():
        if via := _VIA.match(str(channel["via"])):
            network, number = via["network"], int(via["number"])
            # What a plug-in calls itself is not in its lines: IBext_v8, NCCL RDMA Plugin v10.
            names = numbers.get(number) or [f"{network} device {number}"]
            for name in names:
                nic = {"name": name, "transport": network, "gpudirect": via["gpudirect"] is not None}
                found.setdefault(name, nic)
    return list(found.values())


def _numbers(lines: Sequence[str]) -> dict[int, list[str]]:
    """The ports or interfaces behind each number; NCCL may make several ports one device."""
    numbers: dict[int, list[str]] = {}
    for line in lines:
        if using := line.partition(" : Using ")[2]:
            for match in _DEVICE.finditer(using.partition("; OOB")[0]):
                # A socket's device is "eth0:10.0.0.1<0>", a port's "mlx5_0:1/IB".
                name = match["name"] if match["link"] else match["name"].partition(":")[0]
                numbers[int(match["number"])] = [name]
    for line in lines:
        if (merged := _MERGED.search(line)) and "+" in merged["names"]:
            parts = set(merged["names"].split("+"))
            ports = [name for names in numbers.values() for name in names if name.partition(":")[0] in parts]
            numbers[int(merged["number"])] = list(dict.fromkeys(ports)) or sorted(parts)
    return numbers
