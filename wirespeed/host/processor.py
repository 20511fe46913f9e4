"""The model of this machine's processors."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cpu_model(file: Path = Path("/proc/cpuinfo")) -> str:
    """x86 names its model; others at least the architecture."""
    try:
        text = file.read_text(errors="replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        name, _, model = line.partition(":")
        if name.strip() in ("model name", "cpu model", "cpu") and model.strip():
            return " ".join(model.split())
    return f"{sys.platform} {os.uname().machine}"
