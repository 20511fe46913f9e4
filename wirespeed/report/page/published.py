"""Curves that others published, in columns."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.report.systems.published_curves import load_system


@dataclass(frozen=True)
class Curve:
    """One path of a published system."""

    system: str
    path: str
    setting: str
    """What it was measured on."""
    source: str
    sizes: tuple[int, ...]
    """In bytes."""
    seconds: tuple[float, ...]
    rates: tuple[float, ...]
    """In bytes per second, from the bandwidths as published."""


def curves(name: str) -> list[Curve]:
    """A system's curves. Raises WirespeedError that lists the systems there are."""
    system = load_system(name)
    found = []
    for path, points in system.curves.items():
        sizes = tuple(sorted(points))
        seconds = tuple(points[size].seconds for size in sizes)
        rates = tuple(points[size].rate for size in sizes)
        told = system.published
        found.append(Curve(system.name, path, told.setting, told.source, sizes, seconds, rates))
    return found
