"""The CPU's caches: what fits them is not limited by memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

SYSFS = Path("/sys/devices/system/cpu")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def cache_bytes(folder: Path = SYSFS) -> int | None:
    """Bytes of all levels that hold one core's data; None if the kernel does not say.

    The core is the first on which this process may run.
    """
    core = min(os.sched_getaffinity(0))
    levels = (folder / f"cpu{core}" / "cache").glob("index[0-9]*")
    return sum(_size(level) for level in levels if _read(level / "type") != "Instruction") or None


def _size(level: Path) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", _read(level / "size"))
    return int(match[1]) * _UNITS[match[2]] if match else 0


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
