"""What a fleet's times say: the model, single tests, and whole fleets that are made up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.simulated_fleet import named, simulate, subjects

from wirespeed.fleet.judge import judge
from wirespeed.statistics.mixed import Term, fit
from wirespeed.statistics.outliers import (
    Tail,
    at_least,
    hits_of,
    p_of_times,
    slow_ones,
    smallest_named,
    spread_of,
)
from wirespeed.statistics.student import simes

SEEDS = range(1, 4)


def test_a_sum_of_effects_without_noise_is_taken_apart() -> None:
    """Twelve rounds of pairs of six nodes: a node of 30 %, a launch of 10 %, and nothing else."""
    random = np.random.default_rng(1)
    orders = [random.permutation(6).reshape(-1, 2) for _ in range(12)]
    first, second = np.concatenate(orders).T
    launches = np.repeat(np.arange(12), 3)
    logs = -11 + 0.3 * ((first == 2) | (second == 2)) + 0.1 * (launches == 5)
    model = fit(logs, {"launch": Term.of(launches, count=12), "node": Term.of(first, second, count=6)})
    node, launch = model.effects["node"], model.effects["launch"]
    assert node[2] - np.median(node) == pytest.approx(0.3, abs=0.01)
    assert launch[5] - np.median(launch) == pytest.approx(0.1, abs=0.01)
    assert np.abs(np.delete(node, 2) - np.median(node)).max() < 0.01


def test_a_late_time_does_not_make_its_ends_look_slow() -> None:
    random = np.random.default_rng(2)
    first, second = np.concatenate([random.permutation(16).reshape(-1, 2) for _ in range(8)]).T
    logs = random.normal(0, 0.001, len(first))
    logs[5] += 1.0
    model = fit(logs, {"node": Term.of(first, second, count=16)})
    assert np.abs(model.effects["node"]).max() < 0.01
    assert model.rest[5] == pytest.approx(1.0, abs=0.02) and model.without[5] < 1.2


def test_two_thirds_of_the_times_decide() -> None:
    assert [hits_of(count) for count in (1, 2, 3, 4, 6, 8, 9)] == [1, 2, 3, 3, 5, 6, 7]


def test_at_least_is_the_tail_of_a_binomial() -> None:
    assert at_least(1, 3, np.array([0.5]))[0] == pytest.approx(7 / 8)
    assert at_least(3, 3, np.array([0.1]))[0] == pytest.approx(0.001)
    assert at_least(0, 4, np.array([0.2]))[0] == pytest.approx(1.0)


def test_the_tail_is_what_was_seen_and_then_a_power() -> None:
    tail = Tail(np.arange(-50, 50) / 1000, 100)
    assert tail.survival(np.array([0.0]))[0] == pytest.approx(51 / 101)
    assert tail.survival(np.array([0.098]))[0] == pytest.approx(1 / 101 / 8)
    # Without the ten latest, the latest is 0.039.
    without = np.arange(40, 50) / 1000
    assert tail.survival(np.array([0.078]), without)[0] == pytest.approx(1 / 91 / 8)


def test_the_spread_is_that_of_the_bulk() -> None:
    values = np.random.default_rng(3).normal(0, 0.02, 200)
    values[:20] = 3.0
    spread = spread_of(values)
    assert spread.deviation == pytest.approx(0.02, rel=0.2) and abs(spread.centre) < 0.006


@pytest.mark.parametrize("count", [3, 8])
def test_one_late_time_of_a_subject_names_nobody(count: int) -> None:
    spread, tail = (
        spread_of(np.random.default_rng(4).normal(0, 0.01, 64)),
        Tail(np.linspace(-0.02, 0.02, 200), 200),
    )
    late = np.zeros(count)
    late[0] = 5.0
    zeros = np.zeros(count, dtype=np.int64)
    assert not slow_ones(zeros, late, np.zeros(count), spread, tail, 0.02, late)
    slow = slow_ones(zeros, late * 0 + 0.3, np.zeros(count), spread, tail, 0.02, late * 0)
    assert slow[0].p < 1e-5 and slow[0].effect == pytest.approx(0.3)


def test_a_p_value_is_no_smaller_than_what_noise_alone_does() -> None:
    """Half of all times are in a slow mode: three such times of a node mean nothing."""
    spread, noise = spread_of(np.random.default_rng(5).normal(0, 0.001, 64)), np.tile([0.0, 0.05], 100)
    assert p_of_times(0.05, 3, 3, spread, Tail(noise, 200)) > 0.1


def test_the_smallest_slowdown_that_is_named_is_found_in_nine_of_ten() -> None:
    """The promise that every verdict prints, held against subjects made up without the model."""
    random = np.random.default_rng(6)
    spread, tail = spread_of(random.normal(0, 0.01, 400)), Tail(random.normal(0, 0.01, 4000), 4000)
    smallest = smallest_named(5, 1e-4, spread, tail)
    assert 0.03 < smallest < 0.12
    found = 0
    for _ in range(300):
        times = smallest + random.normal(0, 0.01) + random.normal(0, 0.01, 5)
        decides = float(np.sort(times)[1])
        found += p_of_times(decides, hits_of(5), 5, spread, tail) <= 1e-4
    assert 0.85 <= found / 300 <= 0.97


def test_simes_takes_the_least_of_p_times_count_over_rank() -> None:
    assert simes([0.01], 1) == pytest.approx(0.01)
    assert simes([0.02, 0.01], 4) == pytest.approx(0.04)
    assert simes([0.01, 0.011, 0.012], 4) == pytest.approx(0.016)
    assert simes([0.9], 3) == 1.0


def test_up_to_least_is_no_fault() -> None:
    fleet = simulate(2, nodes=200, by=0.04, slow_links=0, slow_switches=0, noise=0.0001)
    fleet.window.logs[:] = np.log(1e-5) + (fleet.window.ones == "n0007") * math.log(1.015)
    assert not judge(fleet.window, least=0.02).findings
    assert {name for _, name in subjects(judge(fleet.window, least=0.005))} == {"n0007"}


@pytest.mark.slow
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
