"""Quantities that a solver conserves: sums over the field before and after some steps, and their rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.patterns.steps import Place, Work

_PIECE, _THREADS, _MAX_BLOCKS = 256, 256, 1024
ROUNDING = 2.0**-53
"""Relative, of one operation on doubles, at most."""
_SUM_ROUNDINGS = 272
"""Most roundings of its terms by which a block's sum is off, whatever its size (conserved.h)."""


@dataclass(frozen=True)
class ConservedSum:
    """A sum over the planes of the field that the checked iterations leave as it was."""

    name: str
    weights: tuple[float, ...]
    """Weight of each plane."""


@dataclass(frozen=True)
class Conservation:
    """Quantities of a rank's block: planes [rows][width] of positive numbers; pitch and plane in numbers."""

    quantities: tuple[ConservedSum, ...]
    field: Place
    real: int
    """Bytes of a number."""
    width: int
    rows: int
    pitch: int
    rounding: float
    """Largest change of a quantity by the checked iterations, relative to the sum of its terms' sizes."""
    plane: int = 0
    """From one plane to the next."""

    @property
    def planes(self) -> int:
        return len(self.quantities[0].weights)

    @property
    def blocks(self) -> int:
        """Blocks of threads, each of which leaves a part of each plane's sum."""
        return min(-(-self.width // _PIECE) * self.rows, _MAX_BLOCKS)

    def work(self, to: Place) -> Work:
        """Leaves the parts [planes][blocks] there, as doubles."""
        layout = self.width, self.rows, self.pitch, self.planes, self.plane
        arguments = (self.field, *layout, to, self.blocks)
        return Work(f"ws_conserved_sums_f{8 * self.real}", arguments, self.blocks, _THREADS)

    def plane_sums(self, parts: Sequence[float]) -> list[float]:
        """Sums of planes, from the parts that work() leaves."""
        return [total(parts[at : at + self.blocks]) for at in range(0, len(parts), self.blocks)]

    def violation(self, before: Sequence[float], after: Sequence[float]) -> str | None:
        """In words, which quantity of the whole grid changed. Both: each plane's sum over all ranks."""
        bound = self.rounding + 2 * _SUM_ROUNDINGS * ROUNDING
        for quantity in self.quantities:
            of_planes = list(zip(quantity.weights, before, after, strict=True))
            change = total([weight * (new - old) for weight, old, new in of_planes])
            size = total([abs(weight * old) for weight, old, _ in of_planes])
            # What is no number compares unequal, too.
            if not abs(change) <= bound * size:
                return (
                    f"{quantity.name} changed by {change:.3g} of {size:.6g}; "
                    f"rounding changes it by {bound * size:.1g} at most"
                )
        return None


def total(numbers: Sequence[float]) -> float:
    """The exact sum, rounded once; no number where one of them is not finite."""
    return math.fsum(numbers) if all(map(math.isfinite, numbers)) else math.nan
