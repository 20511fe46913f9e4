"""How paths look, the same everywhere: a colour for the kind of transport, a dash for its variants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HUES = ("grey", "orange", "blue", "green", "purple", "brown", "cyan", "pink")
LIGHT = ("#57606a", "#c4460b", "#0b5fc0", "#0c7d56", "#7446b0", "#806300", "#047a96", "#c0186f")
"""On white, each with a contrast of more than 4.5 : 1."""
DARK = ("#b1bac4", "#ff9b5e", "#6cb2ff", "#45d6a0", "#c3a5ff", "#e5c54a", "#5cd8f0", "#ff86c5")
"""The same hues on a dark ground."""
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
