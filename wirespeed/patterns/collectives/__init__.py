"""Collective operations: what all ranks do together, by a library's own call or by messages of a path.

`ring`, `doubling`, `direct` and `one_shot` have a function for each operation that they do: one rank's steps.
"""

from wirespeed.patterns.collectives.operation import PATTERNS

__all__ = ["PATTERNS"]
