"""Rates of single wires, from wirespeed/limits/links.toml, which names its sources."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from wirespeed.toml import parse

Record = dict[str, Any]


@dataclass(frozen=True)
class Ceiling:
    """Bytes per second in one direction, at most, and their equation."""

    rate: float
    equation: str
    source: str
    wire: str = ""
    """Kind of wire: nvlink, xgmi, pcie, network, loopback, memory (a host's), device memory."""
    stated: bool = False
    """Whether the user has stated the rate."""


@cache
def _table() -> dict[str, Any]:
    return parse(files("wirespeed.limits").joinpath("links.toml").read_text("utf-8"))


def device_links(name: str) -> Record | None:
    """A GPU's links, by the name that its driver gives it."""
    return next((gpu for gpu in _table()["gpu"] if name in gpu["names"]), None)


def gpu_links(name: str, count: int | None = None) -> Ceiling | None:
    """`count` links of a GPU together, at most all that it has; None: all."""
    known = device_links(name)
    if known is None:
        return None
    links = int(known["links"])
    count = links if count is None else min(links, count)
    of_all = f" of {links}" if count < links else ""
    text = f"{count}{of_all} {known['wire']} link{'s' if count != 1 else ''} x {known['rate'] / 1e9:g} GB/s"
    value = count * known["rate"]
    return Ceiling(value, f"{text} = {value / 1e9:g} GB/s", known["source"], known["kind"])


def memory(name: str) -> Ceiling | None:
    """A GPU's own memory, reads and writes together."""
    known = next((one for one in _table()["memory"] if name in one["names"]), None)
    return known and Ceiling(known["rate"], f"{known['rate'] / 1e9:g} GB/s", known["source"], "device memory")


def pcie(generation: int, width: int, *, to_device: bool) -> Ceiling | None:
    """A slot's payload rate: lanes x rate of a lane x share of a packet that is payload."""
    known = next((one for one in _table()["pcie"] if one["generation"] == generation), None)
    if known is None:
        return None
    packets = _table()["pcie_packets"]
    around = packets["to_device" if to_device else "to_host"]
    value = width * known["lane"] * packets["payload"] / around
    raw = f"PCIe {generation}.0 x{width}, {width * known['lane'] / 1e9:.1f} GB/s"
    text = f"{raw} x {packets['payload']}/{around} = {value / 1e9:.1f} GB/s"
    return Ceiling(value, text, f"{known['source']}; {packets['source']}", "pcie")


def slot_of(name: str) -> tuple[int, int] | None:
    """(generation, width) of the slot that a GPU is made for."""
    known = device_links(name)
    if known is None:
        return None
    generation, _, width = str(known["pcie"]).partition(" x")
    return int(float(generation)), int(width)
