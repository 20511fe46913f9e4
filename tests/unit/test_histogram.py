"""Histograms: quantiles against exact ones, and the way into the file and back."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.statistics.histogram import Histogram

times = st.floats(1e-9, 1e3)


@given(st.lists(times, min_size=1, max_size=300), st.floats(0, 1), st.floats(0, 1))
def test_quantiles_are_within_a_bin_of_the_exact_ones_and_never_fall(
    values: list[float], share: float, other: float
) -> None:
    histogram = Histogram()
    histogram.add(values)
    exact = sorted(values)[max(math.ceil(share * len(values)), 1) - 1]
    assert exact / histogram.base * (1 - 1e-9) <= histogram.quantile(share)
    assert histogram.quantile(share) <= exact * histogram.base * (1 + 1e-9)
    assert histogram.quantile(min(share, other)) <= histogram.quantile(max(share, other))


@given(st.lists(st.lists(times, max_size=30), max_size=5))
def test_histograms_survive_the_file_and_any_order(parts: list[list[float]]) -> None:
    histogram, at_once = Histogram(), Histogram()
    for part in parts:
        histogram.add(part)
    at_once.add([value for part in parts for value in part])
    told = json.loads(json.dumps(histogram.to_dict()))
    counts = {told["first"] + at: count for at, count in enumerate(told["counts"]) if count}
    assert counts == histogram.counts == at_once.counts and sum(counts.values()) == at_once.total
    assert (told["base"], told["unit_s"]) == (2 ** (1 / 16), 1e-9)


@given(st.integers(-100, 700), st.sampled_from([16, 4096]))
def test_a_bin_holds_its_own_lower_end(index: int, bins: int) -> None:
    histogram = Histogram(bins)
    histogram.add([histogram.edge(index)])
    assert histogram.counts == {index: 1}


@pytest.mark.parametrize("bins", [16, 4096])
def test_what_is_just_below_a_bin_is_not_in_it(bins: int) -> None:
    """Protects both sides of an edge from the rounding of the logarithm."""
    for index in range(-100, 700):
        histogram = Histogram(bins)
        histogram.add([math.nextafter(histogram.edge(index), 0.0)])
        assert histogram.counts == {index - 1: 1}


def test_a_histogram_looks_as_published() -> None:
    histogram = Histogram()
    histogram.add([1.01e-9, 1.01e-9, 2.01e-9])
    data = histogram.to_dict()
    assert data["base"] == pytest.approx(2 ** (1 / 16)) and data["unit_s"] == 1e-9
    assert data["first"] == 0 and data["counts"] == [2, *[0] * 15, 1]


def test_what_has_no_quantile() -> None:
    for share, why in ((0.5, "empty"), (1.5, "between 0 and 1"), (-0.1, "between 0 and 1")):
        with pytest.raises(ValueError, match=why):
            Histogram().quantile(share)
    empty = Histogram().to_dict()
    assert (empty["first"], empty["counts"]) == (0, [])


def test_places_between_bins_are_even_on_the_log_scale() -> None:
    """One bin an octave: four samples in [1, 2) ns, two in [4, 8) ns; each has its share of the bin."""
    histogram = Histogram(bins_per_octave=1)
    histogram.add([1.5e-9, 1.2e-9, 1.1e-9, 1.9e-9, 5e-9, 6e-9])
    assert histogram.counts == {0: 4, 2: 2} and histogram.total == 6
    octaves = {0.0: 0.0, 1 / 6: 0.25, 0.5: 0.75, 4 / 6: 1.0, 5 / 6: 2.5, 1.0: 3.0}
    for share, octave in octaves.items():
        assert histogram.quantile(share) == pytest.approx(1e-9 * 2**octave)
    # The sample of a rank stands in the middle of its share.
    octaves = {1: 0.125, 4: 0.875, 5: 2.25, 6: 2.75}
    for rank, octave in octaves.items():
        assert histogram.ranked(int(rank)) == pytest.approx(1e-9 * 2**octave)


def test_nothing_counts_as_a_picosecond() -> None:
    """16 x log2(0.001) = -159.5."""
    histogram = Histogram()
    histogram.add([0.0, 1e-15, 1e-12])
    assert histogram.counts == {-160: 3}


def test_finer_bins_are_added_up() -> None:
    fine, coarse = Histogram(4), Histogram(2)
    fine.add([1e-9 * 2 ** ((bin_ + 0.5) / 4) for bin_ in (0, 1, 1, 2, 7)])
    coarse.add([1.1e-9])
    coarse.merge(fine)
    assert coarse.counts == {0: 4, 1: 1, 3: 1} and coarse.total == 6
    for other in (Histogram(3), Histogram(4, unit_s=1e-6)):
        with pytest.raises(ValueError, match="do not fit into each other"):
            coarse.merge(other)
