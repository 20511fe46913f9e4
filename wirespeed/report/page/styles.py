"""How paths look, the same everywhere: a colour for the kind of transport, a dash for its variants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HUES = ("grey", "orange", "blue", "green", "purple", "brown", "cyan", "pink")
LIGHT = ("#8a8c8f", "#db6e0f", "#0134ff", "#0c5a3c", "#6e34b7", "#806127", "#0095d5", "#922571")
"""On white: contrast of 3 : 1 and more, and apart from each other for colour-blind eyes, too."""
DARK = ("#abadae", "#d9762c", "#6d93d5", "#adebb5", "#ca4cff", "#e3c204", "#31f3ff", "#ff3276")
"""The same on a dark ground."""
DASHES = ("", "7 3", "2 3", "9 3 2 3", "1 4", "12 4")

_PREFIXES = (
    ("host", "grey"),
    ("staged", "orange"),
    ("aware", "blue"),
    ("nccl", "green"),
    ("shmem", "purple"),
    ("oshmem", "purple"),
    ("rma", "brown"),
    ("ipc", "cyan"),
    ("gpu", "pink"),
    ("h2d", "blue"),
    ("d2h", "orange"),
    ("d2d", "green"),
    ("h2h", "grey"),
)
"""MPI is grey between CPUs and blue between GPUs; copies go by their direction."""


@dataclass(frozen=True)
class Style:
    """Numbers into LIGHT and DARK, and into DASHES."""

    hue: int
    dash: int

    @property
    def dashes(self) -> str:
        return DASHES[self.dash]


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A style for each path; a known path has the same one whatever else is on the page."""
    from wirespeed.paths import all_paths

    found: dict[str, Style] = {}
    used: dict[str, int] = {}
    known = [path.name for path in all_paths()]
    for name in (*known, *sorted(set(names) - set(known))):
        prefix, hue = _family(name)
        found[name] = Style(hue, used.get(prefix, 0) % len(DASHES))
        used[prefix] = used.get(prefix, 0) + 1
    return {name: found[name] for name in names}


def _family(name: str) -> tuple[str, int]:
    """Its prefix and colour; an unknown path's colour goes by its letters."""
    for prefix, colour in _PREFIXES:
        if name.startswith(prefix):
            return prefix, HUES.index(colour)
    return name, sum(map(ord, name)) % len(HUES)
