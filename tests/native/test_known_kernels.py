"""Kernels whose results are known: the chain that loads follow, and elements of reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wirespeed.host.core import Core
from wirespeed.patterns.collectives.rank_view import REDUCTIONS, TYPES

pytestmark = pytest.mark.slow(after=1)

LINE, NONE = 128, (1 << 64) - 1


@pytest.fixture(scope="module")
def core() -> Core:
    return Core()


def launch(core: Core, kernel: bytes, *words: int) -> None:
    device = core.open_device("host", 0)
    given = core.ffi.new("uint64_t[]", words)
    core.check(core.lib.ws_device_launch(device, b"pageable", kernel, 1, 1, given, len(words)))
    core.lib.ws_device_close(device)


def chain(core: Core, links: int, wrong: int = NONE, seed: int = 1) -> Any:
    """The chain's words, 16 to a line: the address of the next link and the number of this one come first."""
    words = np.zeros((links, LINE // 8), dtype=np.uint64)
    launch(core, b"ws_chain_fill", *[words.ctypes.data] * 2, links, seed, wrong)
    return words


def next_lines(words: Any) -> Any:
    """For each line, the one that its link leads to."""
    places, odd = np.divmod(words[:, 0] - np.uint64(words.ctypes.data), LINE)
    assert not odd.any()
    return places.astype(np.int64)


def chased(core: Core, words: Any, line: int, untimed: int, each: int, samples: int) -> tuple[int, int, Any]:
    """The number of the link reached, its line, and the clock's readings."""
    out = np.zeros(2 + samples + 2, dtype=np.uint64)
    start = words.ctypes.data + LINE * line
    launch(core, b"ws_chase", start, untimed, each, samples, 3, out.ctypes.data)
    return int(out[0]), (int(out[1]) - words.ctypes.data) // LINE, out[2:]


@pytest.mark.parametrize("links", [2, 3, 4, 5, 16, 17, 1000, 4096, 4097])
def test_one_cycle_through_all_lines(core: Core, links: int) -> None:
    """Protects SIZE: a chain that leaves lines out stays in caches that SIZE does not fit."""
    words = chain(core, links)
    following = next_lines(words)
    line, visited = 0, []
    for _ in range(links):
        visited.append(line)
        line = int(following[line])
    assert line == 0 and sorted(visited) == list(range(links))
    numbers = words[visited, 1].astype(np.int64)
    assert ((numbers - numbers[0]) % links == np.arange(links)).all()
    assert not words[:, 2:].any()


def test_no_order_that_hardware_foresees(core: Core) -> None:
    """Protects from neighbours one after the other, and from a stride: then a prefetch hides the latency."""
    steps = next_lines(chain(core, 4096)) - np.arange(4096)
    assert np.abs(steps).mean() == pytest.approx(4096 / 3, rel=0.1)
    _, counts = np.unique(steps, return_counts=True)
    assert counts.max() < 20
    assert (next_lines(chain(core, 4096, seed=2)) - np.arange(4096) != steps).mean() > 0.9


def test_where_loads_lead(core: Core) -> None:
    """Protects the count of loads, of which a figure is one, and the end that is compared."""
    words = chain(core, 100)
    first = int(words[7, 1])
    for untimed, each, samples in ((0, 0, 0), (0, 1, 1), (3, 7, 5), (250, 100, 2)):
        number, line, stamps = chased(core, words, 7, untimed, each, samples)
        assert number == (first + untimed + each * samples) % 100
        assert words[line, 1] == number
        assert stamps.all() and (np.diff(stamps.astype(np.int64)) >= 0).all()


def test_a_wrong_link_leads_elsewhere(core: Core) -> None:
    """Protects the check: once round a chain with one wrong link is not where it began."""
    words = chain(core, 100, wrong=42)
    for line in (0, 50, 99):
        first = int(words[line, 1])
        number, _, _ = chased(core, words, line, 0, 100, 1)
        assert number == (first + 101) % 100


TYPE = {name: number for number, name in enumerate(TYPES)}


def combined(core: Core, kind: str, reduction: str, one: Any, other: Any) -> Any:
    """What the kernel makes of two arrays, on the CPU."""
    to = np.zeros_like(one)
    given = (*(array.ctypes.data for array in (to, one, other)), one.size, TYPE[kind])
    launch(core, b"ws_elements_combine", *given, REDUCTIONS.index(reduction))
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
    held, found = np.zeros(4, np.int32), np.array([2**64 - 1, 2**32 - 1], np.uint64)
    content = (0, 100, 0)  # tag, largest, odd

    what = held.ctypes.data, held.size, TYPE["int32"]
    launch(core, b"ws_elements_fill", *what, 0, 1, *content)
    held[2] += 1
    how = (REDUCTIONS.index("sum"), 0, 1, 1, 1, 1)
    launch(core, b"ws_elements_check", *what, *how, *content, found.ctypes.data)
    assert found.tolist() == [2, 2**32]
