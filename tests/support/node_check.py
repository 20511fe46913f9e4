"""The scripts of examples/nodes, with the places of a test in place of a machine's."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "nodes"


def script(name: str, programs: Path, site: Path, folder: Path, logs: Path) -> str:
    """Its text, with a test's folders of wirespeed, scripts and results, and its bounds."""
    text = (EXAMPLES / name).read_text()
    for place, ours in {
        "/opt/wirespeed/bin": programs,
        "/etc/wirespeed/site.toml": site,
        "/etc/wirespeed": folder,
        "/var/log": logs,
    }.items():
        text = text.replace(place, str(ours))
    return text


def write(programs: Path, site: Path, folder: Path) -> Path:
    """Writes check-node and drain-slow into a folder, with logs below it; returns the folder."""
    for name in ("check-node", "drain-slow"):
        file = folder / name
        file.write_text(script(name, programs, site, folder, folder))
        file.chmod(0o755)
    return folder
