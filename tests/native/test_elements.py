"""Elements of reductions: 16-bit types round as IEEE 754 says, and numbers that are none stay none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wirespeed.host.core import Core
from wirespeed.patterns.collectives.rank_view import REDUCTIONS, TYPES

pytestmark = pytest.mark.slow(after=1)

TYPE = {name: number for number, name in enumerate(TYPES)}


@pytest.fixture(scope="module")
def core() -> Core:
    return Core()


def combined(core: Core, kind: str, reduction: str, one: Any, other: Any) -> Any:
    """What the kernel makes of two arrays, on the CPU."""
    device = core.open_device("host", 0)
    to = np.zeros_like(one)
    given = [*(array.ctypes.data for array in (to, one, other)), one.size, TYPE[kind]]
    words = core.ffi.new("uint64_t[]", [*given, REDUCTIONS.index(reduction)])
    core.check(
        core.lib.ws_device_launch(device, b"pageable", b"ws_elements_combine", 1, 1, words, len(words))
    )
    core.lib.ws_device_close(device)
    return to


def test_half_of_every_value_and_of_sums(core: Core) -> None:
    """Protects fp16 sums: denormal numbers, infinities, and ties to even, against NumPy's own."""
    every = np.arange(1 << 16, dtype=np.uint16)
    kept = combined(core, "fp16", "sum", every, np.full_like(every, 0x8000)).view(np.float16)
    assert np.array_equal(kept, every.view(np.float16), equal_nan=True)
    other = np.random.default_rng(1).permutation(every)
    with np.errstate(all="ignore"):
        exact = every.view(np.float16).astype(np.float32) + other.view(np.float16).astype(np.float32)
        right = exact.astype(np.float16)
    found = combined(core, "fp16", "sum", every, other).view(np.float16)
    assert np.array_equal(found, right, equal_nan=True)


def test_sums_of_bfloat16(core: Core) -> None:
    """Protects bf16 sums: the nearest of the numbers that 16 bits hold, to even where two are as near."""
    every = np.arange(1 << 16, dtype=np.uint16)
    other = np.random.default_rng(2).permutation(every)

    def wide(narrow: Any) -> Any:
        return (narrow.astype(np.uint32) << 16).view(np.float32)

    with np.errstate(all="ignore"):
        exact = wide(every) + wide(other)
    bits = exact.view(np.uint32)
    right = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    found = combined(core, "bf16", "sum", every, other)
    none = np.isnan(exact)
    assert np.array_equal(found[~none], right[~none]) and np.isnan(wide(found[none])).all()


@pytest.mark.parametrize(("kind", "dtype"), [("fp32", np.float32), ("fp64", np.float64), ("int32", np.int32)])
def test_sums_and_extremes(core: Core, kind: str, dtype: Any) -> None:
    random = np.random.default_rng(3)
    one, other = (random.integers(-1000, 1000, 257).astype(dtype) for _ in range(2))
    for reduction, right in (
        ("sum", one + other),
        ("max", np.maximum(one, other)),
        ("min", np.minimum(one, other)),
    ):
        assert np.array_equal(combined(core, kind, reduction, one, other), right)


def test_a_count_of_wrong_elements_has_no_end(core: Core) -> None:
    """Protects long results: 2^32 wrong elements are none for a count of 32 bits."""
    device = core.open_device("host", 0)
    held, found = np.zeros(4, np.int32), np.array([2**64 - 1, 2**32 - 1], np.uint64)
    content = (0, 100, 0)  # tag, largest, odd

    def launch(kernel: str, *given: int) -> None:
        words = core.ffi.new("uint64_t[]", given)
        core.check(core.lib.ws_device_launch(device, b"pageable", kernel.encode(), 1, 1, words, len(given)))

    what = held.ctypes.data, held.size, TYPE["int32"]
    launch("ws_elements_fill", *what, 0, 1, *content)
    held[2] += 1
    launch("ws_elements_check", *what, REDUCTIONS.index("sum"), 0, 1, 1, 1, 1, *content, found.ctypes.data)
    core.lib.ws_device_close(device)
    assert found.tolist() == [2, 2**32]
