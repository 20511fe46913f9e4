"""The Slurm epilog that docs/checking.md shows."""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "checking.md"


def script(programs: Path, site: Path, logs: Path) -> str:
    """Its text, with the folder of wirespeed, the bounds and the folder of results of a test."""
    (found,) = re.findall(
        r"```sh\n(#!/bin/sh\n# /etc/wirespeed/epilog\n.*?)```", _PAGE.read_text("utf-8"), re.DOTALL
    )
    text = str(found)
    places = {"/opt/wirespeed/bin": programs, "/etc/wirespeed/site.toml": site, "/var/log": logs}
    for place, ours in places.items():
        assert place in text, place
        text = text.replace(place, str(ours))
    return text
