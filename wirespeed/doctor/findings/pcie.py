"""PCIe links that are narrower or slower than the device and its slot can do."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from wirespeed.doctor.facts.model import MachineFacts, PciLink
from wirespeed.doctor.facts.pci import named
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.shell import quoted


def find(facts: MachineFacts) -> Iterator[Finding]:
    """GPUs lower their speed while they idle: only their width and slot count."""
    devices = [(gpu.title, gpu.pci, gpu.link, True) for gpu in facts.real_gpus]
    devices += [(nic.name, nic.pci, nic.link, False) for nic in facts.nics]
    for name, pci, link, idles in devices:
        if link and facts.virtual:
            # In a virtual machine the port above a device is made up; the device's own registers are real.
            link = structs.replace(link, slot_speed=None, slot_width=None)
        if link and (fault := _fault(link, idles=idles)):
            yield _finding(name, pci, link, *fault)


def _fault(link: PciLink, *, idles: bool) -> tuple[str, float, str, bool] | None:
    """Key, share of the bandwidth that is left, why, and whether the slot is the reason."""
    width = _share(link.width, link.most_width)
    speed = 1 if idles else _share(link.speed, link.most_speed)
    slot, slot_width = _share(link.slot_speed, link.most_speed), _share(link.slot_width, link.most_width)
    older = "the slot is of an older generation"
    if width < 1:
        by_slot = bool(link.slot_width) and slot_width <= width
        why = "the slot has no more lanes" if by_slot else "lanes were lost in training"
        return "pcie-width", width, why, by_slot
    if speed < 1:
        by_slot = bool(link.slot_speed) and slot <= speed
        return "pcie-speed", speed, older if by_slot else "the link trained at a lower speed", by_slot
    return ("pcie-slot", slot, older, True) if slot < 1 else None


def _share(now: float | None, most: float | None) -> float:
    """1 where it is not known."""
    return now / most if now and most else 1.0


def _finding(name: str, pci: str, link: PciLink, key: str, share: float, why: str, by_slot: bool) -> Finding:
    reseat = (
        f"sudo lspci -s {quoted(pci)} -vv | grep -e LnkCap -e LnkSta  # then reseat it, or try another slot"
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
        (move if by_slot else reseat,),
        source="sysfs: current_link_*, max_link_* (kernel: Documentation/ABI/testing/sysfs-bus-pci)",
    )
