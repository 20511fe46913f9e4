"""Rates of single wires, from wirespeed/limits/links.toml, which names its sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wirespeed.toml import beside

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
    """The user has stated the rate."""
    low: float = 0.0
    """Lower end of a measured rate's interval; 0: without an interval."""
    high: float = 0.0
    cached: int = 0
    """Messages up to so many bytes can stay in caches before a memory, which then does not limit them."""

    def applies(self, size: int) -> bool:
        """Does it limit messages of this size?"""
        return size > self.cached

    def share(self, rate: float, size: int) -> float | None:
        """A message's rate as a share of this limit; None where the limit does not apply."""
        return rate / self.rate if self.applies(size) else None

    def exceeded(self, rate: float, size: int) -> bool:
        """True where the rate is above the limit, and above the interval of a measured one."""
        return self.applies(size) and rate > ROUNDING * max(self.rate, self.high)


ROUNDING = 1.005
"""Above a limit by no more than this factor is a rounding error."""
CPU_CACHES = 64 << 20
"""Bytes that a CPU's caches are taken to hold where the result file does not say."""


def table() -> dict[str, Any]:
    """Content of links.toml."""
    return beside(__file__, "links.toml")


def device_links(name: str) -> Record | None:
    """A GPU's links, by the name that its driver gives it."""
    return next((gpu for gpu in table()["gpu"] if name in gpu["names"]), None)


def gpu_names() -> set[str]:
    """Names that drivers give to the GPUs whose links or slots are known."""
    return {name for kind in ("gpu", "slot") for known in table()[kind] for name in known["names"]}


def switch_may_sum(name: str) -> bool:
    """May a switch between GPUs of this name sum what passes it? True where nothing is known of them."""
    known = device_links(name)
    return known is None or "switch_sums" in known


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
    known = next((item for item in table()["memory"] if name in item["names"]), None)
    if known is None:
        return None
    text = f"{known['rate'] / 1e9:g} GB/s"
    return Ceiling(known["rate"], text, known["source"], "device memory", cached=known["cache"])


def pcie(generation: int, width: int, *, to_device: bool) -> Ceiling | None:
    """A slot's payload rate: lanes x rate of a lane x share of a packet that is payload."""
    known = next((item for item in table()["pcie"] if item["generation"] == generation), None)
    if known is None:
        return None
    packets = table()["pcie_packets"]
    around = packets["to_device" if to_device else "to_host"]
    value = width * known["lane"] * packets["payload"] / around
    raw = f"PCIe {generation}.0 x{width}, {width * known['lane'] / 1e9:.1f} GB/s"
    text = f"{raw} x {packets['payload']}/{around} = {value / 1e9:.1f} GB/s"
    return Ceiling(value, text, f"{known['source']}; {packets['source']}", "pcie")


def slot_of(name: str) -> tuple[int, int] | None:
    """(generation, width) of the slot that a GPU is made for."""
    cards = (item for item in table()["slot"] if name in item["names"])
    known = device_links(name) or next(cards, None)
    if known is None:
        return None
    generation, _, width = str(known["pcie"]).partition(" x")
    return int(float(generation)), int(width)
