"""PCIe links that are narrower or slower than the device and its slot can do."""

from __future__ import annotations

import dataclasses

from wirespeed.doctor.facts.model import Facts, PciLink
from wirespeed.doctor.facts.pci import named
from wirespeed.doctor.finding import Cost, Finding


def find(facts: Facts) -> list[Finding]:
    """GPUs lower their speed while they idle, so that of them only width and slot count."""
    found = []
    for gpu in facts.real_gpus:
        if gpu.link:
            found += _check(gpu.title, gpu.pci, _link(facts, gpu.link), idles=True)
    for nic in facts.nics:
        if nic.link:
            found += _check(nic.name, nic.pci, _link(facts, nic.link), idles=False)
    return found


def _link(facts: Facts, link: PciLink) -> PciLink:
    """In a virtual machine the port above a device is made up; the device's own registers are real."""
    return dataclasses.replace(link, slot_speed=None, slot_width=None) if facts.virtual else link


def _check(name: str, pci: str, link: PciLink, *, idles: bool) -> list[Finding]:
    width = _share(link.width, link.most_width)
    speed = None if idles else _share(link.speed, link.most_speed)
    slot = _share(link.slot_speed, link.most_speed)
    slot_width = _share(link.slot_width, link.most_width)
    if width is not None and width < 1:
        by_slot = slot_width is not None and slot_width <= width
        why = "the slot has no more lanes" if by_slot else "lanes were lost in training"
        return [_finding("pcie-width", name, pci, link, width, why, by_slot)]
    if speed is not None and speed < 1:
        by_slot = slot is not None and slot <= speed
        why = "the slot is of an older generation" if by_slot else "the link trained at a lower speed"
        return [_finding("pcie-speed", name, pci, link, speed, why, by_slot)]
    if slot is not None and slot < 1:
        return [_finding("pcie-slot", name, pci, link, slot, "the slot is of an older generation", True)]
    return []


def _share(now: float | None, most: float | None) -> float | None:
    return now / most if now and most else None


def _finding(key: str, name: str, pci: str, link: PciLink, share: float, why: str, slot: bool) -> Finding:
    reseat = (
        f"sudo lspci -s {pci} -vv | grep -e LnkCap -e LnkSta  # then reseat it, or move it to another slot"
    )
    move = f"sudo dmidecode -t slot  # is there a better slot than that of {pci}?"
    now = named(link.speed, link.width) or "unknown"
    evidence = [f"{pci}: runs at {now}, can do {named(link.most_speed, link.most_width) or 'unknown'}"]
    if link.slot_speed or link.slot_width:
        evidence.append(f"the port above it can do {named(link.slot_speed, link.slot_width)}")
    return Finding(
        key,
        f"{name} has {share:.0%} of its PCIe bandwidth: {why}",
        Cost.HIGH if share <= 0.5 else Cost.SOME,
        tuple(evidence),
        (move if slot else reseat,),
        source="sysfs: current_link_*, max_link_* (kernel: Documentation/ABI/testing/sysfs-bus-pci)",
    )
