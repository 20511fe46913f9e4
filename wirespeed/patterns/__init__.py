"""Patterns: who sends how many bytes to whom, in which order.

Each module in this package has one `PATTERN` (a package: `PATTERNS`), but for those that patterns share:
`answers`, `base`, `block_list`, `kv_models`, `rules` and `steps`. A new one is found by being there. A
pattern is a pure function of one rank's view: it names no transport, no device and no library.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Sequence
from functools import cache

from wirespeed.errors import WirespeedError
from wirespeed.patterns.base import Pattern, Shape
from wirespeed.patterns.rules import Option
from wirespeed.patterns.steps import Derived, Figure, Place, Step, Sums, Team, Transfer, Work

__all__ = ["Derived", "Figure", "Option", "Pattern", "Place", "Shape", "Step", "Sums", "Team", "Transfer"]
__all__ += ["Work", "all_patterns", "find_pattern"]


_PROGRAMS = "wirespeed.programs"
"""Patterns that compute; they lie in a package above this one, which it must not import."""


@cache
def all_patterns() -> dict[str, Pattern]:
    """Every pattern and every program by name."""
    found: list[Pattern] = []
    for package in map(importlib.import_module, (__name__, _PROGRAMS)):
        for module in pkgutil.iter_modules(package.__path__):
            found += _patterns_of(f"{package.__name__}.{module.name}")
    return {pattern.name: pattern for pattern in sorted(found, key=lambda pattern: str(pattern.name))}


def _patterns_of(name: str) -> Sequence[Pattern]:
    """The patterns of a module; none of those that patterns share."""
    module = importlib.import_module(name)
    return [module.PATTERN] if hasattr(module, "PATTERN") else getattr(module, "PATTERNS", ())


@cache
def find_pattern(name: str) -> Pattern:
    """The pattern called `name`. Raises WirespeedError that lists the names there are."""
    # All others are left alone if its module is called like it: each rank of many starts sooner.
    for module in (f"{__name__}.{name}", f"{_PROGRAMS}.{name}") if name.isidentifier() else ():
        if importlib.util.find_spec(module):
            for pattern in _patterns_of(module):
                if pattern.name == name:
                    return pattern
    try:
        return all_patterns()[name]
    except KeyError:
        known = ", ".join(all_patterns())
        raise WirespeedError(f"there is no pattern called '{name}'; there are: {known}") from None
