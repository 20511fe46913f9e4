"""The equations: from the rates of links to the most that a pair, a group or a copy can reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from wirespeed.toml import parse

Record = dict[str, Any]

PAIRWISE = ("pingpong", "exchange", "stream", "pairs")
STAGED = ("staged", "pipelined")
"""Transports that go through host memory; all others on device memory may go straight."""


@dataclass(frozen=True)
class Ceiling:
    """Bytes per second, one way, and how they come about."""

    rate: float
    equation: str
    source: str


@cache
def _table() -> dict[str, Any]:
    return parse(files("wirespeed.limits").joinpath("links.toml").read_text("utf-8"))


def device_links(name: str) -> Record | None:
    """A GPU's links, by the name that its driver gives it."""
    return next((gpu for gpu in _table()["gpu"] if name in gpu["names"]), None)


def pcie_link(name: str) -> Record:
    found: Record = next(link for link in _table()["pcie"] if link["name"] == name)
    return found


def ceiling(pattern: str, step: Record, width: int = 1) -> Ceiling | None:
    """The most that a figure of this job step can be; None where the wires are not known.

    `width`: processors that send out of what is measured: a group's, 1 for a pair.
    """
    ranks = [rank for rank in step.get("ranks") or () if isinstance(rank, dict)]
    hosts = {rank.get("host") for rank in ranks}
    devices = [rank.get("device") for rank in ranks]
    if len(hosts) != 1 or step.get("memory") != "device" or not all(isinstance(d, dict) for d in devices):
        return None
    names = {str(device["name"]) for device in devices if device}
    ids = {str(device["id"]) for device in devices if device}
    links = device_links(names.pop()) if len(names) == 1 and len(ids) == len(ranks) else None
    if links is None:
        return None
    if str(step.get("transport")).startswith(STAGED):
        return _staged(links, width, pipelined="pipelined" in str(step.get("transport")))
    rate = links["links"] * links["rate"]
    each = f"{links['links']} {links['wire']} links x {links['rate'] / 1e9:g} GB/s"
    if pattern in PAIRWISE:
        return Ceiling(
            rate, f"{each} = {rate / 1e9:g} GB/s, if all of a GPU's links lead to the other", links["source"]
        )
    total = width * rate
    return Ceiling(
        total,
        f"{width} x {each} = {total / 1e9:g} GB/s out of a group, if every GPU reaches every other",
        links["source"],
    )


def _staged(links: Record, width: int, *, pipelined: bool) -> Ceiling:
    """1/b = 1/b_D2H + 1/b_H2D where one copy follows the other; the slower of both where they overlap."""
    pcie = pcie_link(links["pcie"])
    rate = pcie["rate"] if pipelined else 1 / (1 / pcie["rate"] + 1 / pcie["rate"])
    how = "both copies at once" if pipelined else "1/b = 1/b_D2H + 1/b_H2D"
    total = width * rate
    text = f"{width} x PCIe {pcie['name']} ({pcie['rate'] / 1e9:.1f} GB/s), {how} = {total / 1e9:.1f} GB/s"
    return Ceiling(total, text, pcie["source"])
