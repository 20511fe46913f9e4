"""Programs: what transfers are for. Each computes a field in time steps, with halos between its ranks.

A module with a `PATTERN` is a program, and its kernels lie beside it: NAME.py and NAME.h. A new one is found
by being there.
"""

from __future__ import annotations

from wirespeed.programs.base import (
    A_GPU_EACH,
    FieldComparison,
    NormCheck,
    ProgramFacts,
    ProgramPattern,
    Scratch,
    Values,
    as_program,
)

__all__ = [
    "A_GPU_EACH",
    "FieldComparison",
    "NormCheck",
    "ProgramFacts",
    "ProgramPattern",
    "Scratch",
    "Values",
    "as_program",
]
