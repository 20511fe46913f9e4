"""The scripts of docs/checking.md, with the places of a test in place of a machine's."""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "checking.md"


def blocks(kind: str) -> list[str]:
    """The page's code of this kind, in order."""
    return re.findall(rf"```{kind}\n(.*?)```", _PAGE.read_text("utf-8"), re.DOTALL)


def write(programs: Path, site: Path, folder: Path) -> Path:
    """Writes check-node and drain-slow into a folder, with logs below it; returns the folder."""
    for name in ("check-node", "drain-slow"):
        (text,) = (block for block in blocks("sh") if f"# /etc/wirespeed/{name}" in block)
        for place, ours in {
            "/opt/wirespeed/bin": programs,
            "/etc/wirespeed/site.toml": site,
            "/etc/wirespeed": folder,
            "/var/log": folder,
        }.items():
            text = text.replace(place, str(ours))
        file = folder / name
        file.write_text(text)
        file.chmod(0o755)
    return folder
