"""Files of the kernel below a root folder; None for files that cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

from wirespeed.host.process import cpu_list as cpu_list


class Tree:
    """/proc and /sys of one machine; a test gives a folder of its own instead of '/'."""

    def __init__(self, root: Path | str = "/") -> None:
        self.root = Path(root)

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str | None:
        """A file's content, without blanks around it."""
        try:
            return self.at(path).read_text(errors="replace").strip()
        except (OSError, ValueError):
            return None

    def number(self, path: str) -> int | None:
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def natural_number(self, path: str) -> int | None:
        """None for the -1 by which the kernel says that it does not know."""
        number = self.number(path)
        return number if number is not None and number >= 0 else None

    def names(self, path: str) -> list[str]:
        """Names in a folder, in natural order: eth2 before eth10."""
        try:
            return sorted((entry.name for entry in self.at(path).iterdir()), key=natural)
        except OSError:
            return []

    def target(self, path: str) -> str | None:
        """Name of a link's target."""
        try:
            return self.at(path).resolve(strict=True).name
        except (OSError, RuntimeError):
            return None


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which eth2 stands before eth10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
