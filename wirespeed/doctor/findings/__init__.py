"""Findings: each module's `find` yields one kind of fault. A new module is found without being listed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Finding, ordered

Rule = Callable[[MachineFacts], Iterator[Finding]]


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every module's `find`."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").find for name in names)


def find_all(facts: MachineFacts) -> list[Finding]:
    """All findings, most expensive first."""
    return ordered([finding for rule in all_rules() for finding in rule(facts)])
