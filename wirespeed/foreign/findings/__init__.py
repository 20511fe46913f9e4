"""Findings about a log: each module with `find(log)` is found by being there."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache

from wirespeed.foreign.shapes import Finding, Log


def find(log: Log) -> list[Finding]:
    """All findings, worst first."""
    found = [finding for find in _finders() for finding in find(log)]
    return sorted(found, key=lambda finding: (not finding.impossible, not finding.wrong, -finding.severity))


@cache
def _finders() -> tuple[Callable[[Log], Iterable[Finding]], ...]:
    modules = [
        importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    return tuple(module.find for module in modules if hasattr(module, "find"))
