"""Wires by the names that people use: HDR, NDR200, 10GbE, NVLink4x18, PCIe4x16."""

from __future__ import annotations

import re

from wirespeed.limits.rates import Ceiling, pcie, table
from wirespeed.units import parse_rate

_ETHERNET = re.compile(r"(\d{1,4})(?:GBE|GIGE|GETH)|ROCE(\d{1,4})|GIGABITETHERNET()")
_NVLINK = re.compile(r"NVLINK([1-6])(?:X(\d{1,2}))?")
_PCIE = re.compile(r"PCIE?(?:GEN)?([3-6])(?:\.0)?(?:X(\d{1,2}))?")
EXAMPLES = "HDR, NDR200, 10GbE, Slingshot11, NVLink4x18, PCIe4x16"


def named_link(name: str) -> Ceiling | None:
    """Rate of such a wire in one direction; None for an unknown name."""
    word = re.sub(r"[ _./-]|INFINIBAND", "", name.upper())
    for port in table()["port"]:
        if word in (known.upper() for known in port["names"]):
            return _of(name, port["rate"], port["source"], "network")
    if found := _ETHERNET.fullmatch(word):
        gigabits = int(found[1] or found[2] or 1)
        return _of(name, gigabits / 8 * 1e9, f"{gigabits} Gb/s / 8", "network") if gigabits else None
    if found := _NVLINK.fullmatch(word):
        rates = {gpu["wire"]: (gpu["rate"], gpu["source"]) for gpu in table()["gpu"]}
        rate, source = rates.get(f"NVLink {found[1]}", (0.0, ""))
        return _of(name, int(found[2] or 1) * rate, source, "nvlink") if rate else None
    if found := _PCIE.fullmatch(word):
        return pcie(int(found[1]), int(found[2] or 16), to_device=True)
    return None


def parse_link(word: str) -> tuple[str, float]:
    """(name, bytes per second) of 'HDR' or 'eth0=25Gbit/s'. Raises ValueError, WirespeedError."""
    name, sign, rate = word.partition("=")
    if sign and name:
        return name, parse_rate(rate)
    if (known := named_link(word)) is None:
        raise ValueError(f"write NAME=RATE, as in eth0=25Gbit/s, or a name that is known: {EXAMPLES}")
    return word, known.rate


def _of(name: str, rate: float, source: str, wire: str) -> Ceiling:
    return Ceiling(rate, f"{name}: {rate / 1e9:g} GB/s", source, wire)
