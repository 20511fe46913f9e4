"""How paths look, the same everywhere: a colour for the kind of transport, a dash for its variants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

FAMILIES = {
    "grey": ("host", "h2h"),
    "orange": ("staged", "d2h"),
    "blue": ("aware", "h2d"),
    "green": ("nccl", "d2d"),
    "purple": ("shmem", "oshmem", "gasnet"),
    "brown": ("rma",),
    "cyan": ("ipc",),
    "pink": ("gpu",),
}
"""Colour: beginnings of its paths' names. MPI is grey between CPUs and blue between GPUs; copies go by their
direction."""
LIGHT = ("#8a8c8f", "#db6e0f", "#0134ff", "#0c5a3c", "#6e34b7", "#806127", "#0095d5", "#922571")
"""On white: contrast of 3 : 1 and more, and apart from each other for colour-blind eyes, too."""
DARK = ("#abadae", "#d9762c", "#6d93d5", "#adebb5", "#ca4cff", "#e3c204", "#31f3ff", "#ff3276")
"""The same on a dark ground."""
DASHES = ("", "7 3", "2 3", "9 3 2 3", "1 4", "12 4")


@dataclass(frozen=True)
class Style:
    """How a path is drawn."""

    hue: int
    """Its place in LIGHT and DARK."""
    dashes: str
    """One of DASHES."""


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A style for each path; a known path has the same one whatever else is on the page."""
    from wirespeed.paths import all_paths

    found: dict[str, Style] = {}
    used: Counter[str] = Counter()
    hues = {prefix: hue for hue, prefixes in enumerate(FAMILIES.values()) for prefix in prefixes}
    known = [path.name for path in all_paths()]
    for name in (*known, *sorted(set(names) - set(known))):
        prefix = next((prefix for prefix in hues if name.startswith(prefix)), name)
        # An unknown path's colour goes by its letters.
        hue = hues.get(prefix, sum(map(ord, name)) % len(FAMILIES))
        found[name] = Style(hue, DASHES[used[prefix] % len(DASHES)])
        used[prefix] += 1
    return {name: found[name] for name in names}
