"""The published machine that this one is, by what it says of itself; None where that is not sure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wirespeed.host.process import host_name
from wirespeed.systems import all_systems
from wirespeed.systems.model import Sign, System


@dataclass(frozen=True)
class Here:
    """Facts that can be seen of this machine without opening a device."""

    environment: Mapping[str, str]
    hostname: str
    devices: Sequence[str]
    """Names that the driver gives its GPUs, one for each."""
    product: str = ""
    """Its DMI product name."""


def recognise(here: Here, systems: Mapping[str, System]) -> str | None:
    """The key of the one system that shows a sign of its own; None when there is none, or more than one."""
    shown = {
        key: [sign for sign in system.signs if _shows(sign, system, here)] for key, system in systems.items()
    }
    # A site's name for its machine says more than what kind of box it is.
    named = [key for key, signs in shown.items() if any(not sign.product for sign in signs)]
    found = named or [key for key, signs in shown.items() if signs]
    return found[0] if len(found) == 1 else None


def _shows(sign: Sign, system: System, here: Here) -> bool:
    if sign.variable:
        return re.fullmatch(sign.value, here.environment.get(sign.variable, "")) is not None
    if sign.host:
        return re.fullmatch(sign.host, here.hostname) is not None
    return (
        re.fullmatch(sign.product, here.product.strip()) is not None
        and len(here.devices) == system.node.gpus
        and set(here.devices) <= set(system.node.driver_names)
    )


def look(root: Path = Path("/")) -> Here:
    """This machine, as files show it: no driver is opened, so that a login node stays as it was."""
    product = _text(root / "sys/class/dmi/id/product_name")
    return Here(os.environ, host_name(), _nvidia_gpus(root), product)


def recognised_here() -> str | None:
    """The key of the machine that this one is, if it is a known one."""
    return recognise(look(), all_systems())


def _nvidia_gpus(root: Path) -> tuple[str, ...]:
    files = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    found = (re.search(r"^Model:\s*(.+?)\s*$", _text(file), re.MULTILINE) for file in files)
    return tuple(match[1] for match in found if match)


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace")
    return ""
