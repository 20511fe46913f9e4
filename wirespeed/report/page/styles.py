"""Look of paths, the same everywhere: a colour for the kind of transport, a dash for its variants."""

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
    """Look of a path in a drawing."""

    hue: int
    """Its place in LIGHT and DARK."""
    dashes: str
    """One of DASHES."""


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A style for each path; a known path has the same one whatever else is on the page.

    Algorithms (`nccl:ring`) have colours of their own where their paths' colours would need more dashes than
    there are.
    """
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
    return _apart({name: found[name] for name in names})


def _apart(looks: dict[str, Style]) -> dict[str, Style]:
    """The same, with other colours for the algorithms of paths whose colour is that of too many."""
    many = {hue for hue, count in Counter(look.hue for look in looks.values()).items() if count > len(DASHES)}
    moved = {name for name, look in looks.items() if look.hue in many and ":" in name}
    if not moved:
        return looks
    taken = {
        hue: {look.dashes for name, look in looks.items() if look.hue == hue} for hue in range(len(FAMILIES))
    }
    for hue in many:
        taken[hue] = {look.dashes for name, look in looks.items() if look.hue == hue and name not in moved}
    # Colours that the page needs least for others.
    room = [hue for hue in taken if hue not in many and len(taken[hue]) < len(DASHES) / 2]
    free = sorted(room, key=lambda hue: (len(taken[hue]), hue)) or [*taken]
    algorithms = sorted({name.partition(":")[2] for name in moved})
    found = dict(looks)
    for name in looks:
        if name in moved:
            hue = free[algorithms.index(name.partition(":")[2]) % len(free)]
            dashes = next(
                (dash for dash in DASHES if dash not in taken[hue]), DASHES[len(taken[hue]) % len(DASHES)]
            )
            taken[hue].add(dashes)
            found[name] = Style(hue, dashes)
    return found
