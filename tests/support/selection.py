"""What `make test` leaves to `make test-all`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

FIRST_CASES = ("conformance", "faults", "fuzz", "hosts", "native", "ranks")
"""Folders whose tests `make test` runs with their first parameters only."""
FURTHER = {
    *("test_allocators", "test_gasnet", "test_nccl_variants", "test_oshmem", "test_shmem", "test_ucx"),
    *("test_foreign_launcher", "test_nccl_faults", "test_nics", "test_slurm"),
    *("test_declared", "test_pictures", "test_pipelined", "test_ranges", "test_soak"),
    *("test_folds", "test_gpu_devices", "test_kernels_clang", "test_lanes"),
}
"""Files of libraries that few have, and of what quicker tests protect in part."""


def thorough(*values: Any) -> Any:
    """Parameters of one more case, for `make test-all` only."""
    return pytest.param(*values, marks=pytest.mark.thorough)


def mark_further(items: Sequence[pytest.Item]) -> None:
    """Marks what FURTHER names, and all cases of a test but the first, unless every MPI counts."""
    begun = set[str]()
    for item in items:
        if item.path.parent.name not in FIRST_CASES or item.get_closest_marker("every_mpi"):
            continue
        name = item.nodeid.partition("[")[0]
        if name in begun or item.path.stem in FURTHER:
            if not item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.further)
            item.add_marker(pytest.mark.thorough)
        elif not item.get_closest_marker("thorough"):
            begun.add(name)
