"""Which of many are slow: formulas on numbers worked out by hand, and fleets with planted faults."""

from __future__ import annotations

import numpy as np
import pytest
from support.simulated_fleet import named, simulate, subjects

from wirespeed.fleet.judge import judge
from wirespeed.statistics.outliers import bulk_scale, excess, simes
from wirespeed.statistics.two_way import group_medians, two_way

SEEDS = range(2)
"""bench/fleet_faults.py runs 20; docs/fleet.md has their table."""


def all_pairs(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(nodes, 1)
    return first.astype(np.int64), second.astype(np.int64)


def test_effects_of_nodes_come_out_exactly_without_noise() -> None:
    own = np.array([0.0, 0.0, 0.0, 0.2, 0.0, -0.1])
    first, second = all_pairs(6)
    fit = two_way(first, second, -11.0 + own[first] + own[second], 6)
    assert fit.centre == pytest.approx(-11.0)
    assert fit.effects == pytest.approx(own, abs=1e-6)
    assert fit.pair_effects == pytest.approx(np.zeros(15), abs=1e-6)
    assert fit.partners.tolist() == [5] * 6


def test_a_slow_link_does_not_make_its_ends_slow() -> None:
    """Protects from naming two nodes for one cable: what least squares without weights would do."""
    first, second = all_pairs(8)
    logs = np.random.default_rng(1).normal(0, 0.001, len(first))
    logs[0] += 1.0
    fit = two_way(first, second, logs, 8)
    assert np.abs(fit.effects).max() < 0.005
    assert fit.pair_effects[0] == pytest.approx(1.0, abs=0.01)


def test_a_node_with_few_partners_is_not_told_from_them() -> None:
    """Protects from blaming both ends of the only pair there is."""
    first, second = np.array([0, 0, 0, 1, 1, 2, 0]), np.array([1, 2, 3, 2, 3, 3, 4])
    logs = np.array([0.0, 0, 0, 0, 0, 0, 0.5])
    fit = two_way(first, second, logs, 5)
    assert fit.effects[4] == 0 and np.isinf(fit.effect_errors[4])
    assert fit.partners.tolist() == [4, 3, 3, 3, 1]


def test_medians_of_groups() -> None:
    groups, values = np.array([0, 2, 0, 2, 0, 2, 2]), np.array([5.0, 4, 1, 1, 3, 2, 9])
    assert group_medians(groups, values, 3).tolist() == [3.0, 0.0, 3.0]


def test_the_scale_of_the_bulk_ignores_outliers() -> None:
    values = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 1e9])
    # Median 0.5; distances 0.5, 0.5, 1.5, 1.5, 2.5 and very many: their median 1.5.
    assert bulk_scale(values) == pytest.approx(1.5 / 0.6744897501960817)


def test_simes_takes_the_least_of_p_times_count_over_rank() -> None:
    assert simes([0.01], 1) == pytest.approx(0.01)
    assert simes([0.02, 0.01], 4) == pytest.approx(0.04)
    assert simes([0.01, 0.011, 0.012], 4) == pytest.approx(0.016)
    assert simes([0.9], 3) == 1.0


def test_too_few_are_not_judged() -> None:
    assert excess(np.zeros(4), np.zeros(4)) is None


def test_a_long_fast_tail_widens_all_errors() -> None:
    """Protects from false alarms where noise is heavier than normal: nothing broken makes anyone fast."""
    random = np.random.default_rng(3)
    effects = random.normal(0, 0.01, 2000)
    plain = excess(effects, np.zeros(2000))
    effects[:40] = -0.2
    tailed = excess(effects, np.zeros(2000))
    assert plain and tailed
    assert tailed.errors[100] > 3 * plain.errors[100]


def test_up_to_least_is_no_fault() -> None:
    random = np.random.default_rng(4)
    effects = random.normal(0, 0.0001, 1000)
    effects[7] += np.log(1.015)
    judged = excess(effects, np.zeros(1000))
    assert judged
    assert judged.p_values(0.02)[7] == 1.0 and judged.p_values(0.01)[7] < 1e-6


def test_planted_faults_of_ten_percent_are_found_and_nothing_else() -> None:
    """Protects the promise of docs/fleet.md: precision and recall of 95 % and more."""
    fleets = [simulate(seed) for seed in SEEDS]
    found = [named(one) for one in fleets]
    right = sum(len(names & one.faults) for names, one in zip(found, fleets, strict=True))
    assert right >= 0.95 * sum(map(len, found))
    assert right >= 0.9 * sum(len(one.faults) for one in fleets)
    assert all({kind for kind, _ in names} == {"node", "link", "switch"} for names in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_planted_nothing_found(seed: int) -> None:
    fleet = simulate(seed, slow_nodes=0, slow_links=0, slow_switches=0)
    assert named(fleet) == set()


def test_without_a_topology_a_slow_switch_shows_as_its_nodes() -> None:
    """Protects what docs/fleet.md says of --topology: it tells a switch from its nodes."""
    fleet = simulate(1, nodes=800, slow_nodes=0, slow_links=0)
    (switch,) = fleet.faults
    behind = fleet.topology.switches[switch[1]].nodes
    without = subjects(judge(fleet.window))
    assert {kind for kind, _ in without} == {"node"}
    assert len({name for _, name in without} & set(behind)) > 0.9 * len(behind)
    assert subjects(judge(fleet.window, fleet.topology)) == {switch}
