"""Patterns: who sends how many bytes to whom, in which order.

Each module in this package but `base` has one `PATTERN`; a new one is found by being there. A pattern is
a pure function of one rank's view: it names no transport, no device and no library.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from wirespeed.errors import WirespeedError
from wirespeed.patterns.base import (
    Derived,
    Figure,
    Option,
    Pattern,
    Place,
    Shape,
    Step,
    Sums,
    Team,
    Transfer,
    Work,
)

__all__ = ["Derived", "Figure", "Option", "Pattern", "Place", "Shape", "Step", "Sums", "Team", "Transfer"]
__all__ += ["Work", "all_patterns", "find_pattern"]


_SHARED = ("answers", "base")
"""Modules of this folder that are no patterns."""


@cache
def all_patterns() -> dict[str, Pattern]:
    """Every pattern by name."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name not in _SHARED]
    found = [importlib.import_module(f"{__name__}.{name}").PATTERN for name in names]
    return {pattern.name: pattern for pattern in found}


def find_pattern(name: str) -> Pattern:
    """The pattern called `name`. Raises WirespeedError that lists the names there are."""
    try:
        return all_patterns()[name]
    except KeyError:
        known = ", ".join(all_patterns())
        raise WirespeedError(f"there is no pattern called '{name}'; there are: {known}") from None
