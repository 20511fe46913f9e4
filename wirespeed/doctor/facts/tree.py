"""Files of the kernel below a root folder: what cannot be read is None, never an error."""

from __future__ import annotations

import re
from pathlib import Path

_SPAN = re.compile(r"(\d+)(?:-(\d+))?")


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

    def names(self, path: str) -> list[str]:
        """Names in a folder, in the order in which people count: eth2 before eth10."""
        try:
            found = [entry.name for entry in self.at(path).iterdir()]
        except OSError:
            return []
        return sorted(found, key=natural)

    def target(self, path: str) -> str | None:
        """Name of what a link leads to."""
        try:
            return self.at(path).resolve(strict=True).name
        except (OSError, RuntimeError):
            return None


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which eth2 stands before eth10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def cpu_list(text: str | None) -> tuple[int, ...]:
    """The kernel's '0-3,8' as numbers."""
    found: list[int] = []
    for match in _SPAN.finditer(text or ""):
        first, last = int(match[1]), int(match[2] or match[1])
        found += range(first, last + 1)
    return tuple(found)
