"""Findings about a log: each module with `find(log)` is found by being there."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache

from wirespeed.foreign.shapes import Finding, Log


def find(log: Log) -> list[Finding]:
    """Findings of all modules."""
    return [finding for find_in in _finders() for finding in find_in(log)]


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """Sorts findings."""
    return sorted(found, key=lambda finding: (not finding.impossible, not finding.wrong, -finding.severity))


@cache
def _finders() -> tuple[Callable[[Log], Iterable[Finding]], ...]:
    modules = [
        importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    return tuple(module.find for module in modules if hasattr(module, "find"))
