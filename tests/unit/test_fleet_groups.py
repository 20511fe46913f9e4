"""A fleet whose groups differ, and one in which more than a third of the nodes would be named."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from support.simulated_fleet import simulate

from wirespeed.fleet.judge import exclude, judge
from wirespeed.fleet.software import groups_apart

FIGURE = "pairing host 8 B"


def nodes(
    older: float, seed: int, count: int = 16
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, set[str]]]]:
    """Times over the usual one's, and drivers: every second node has the older one."""
    dice = random.Random(seed)
    distances, facts = {}, {}
    for number in range(count):
        old = number % 2 == 1
        name = f"n{number}"
        distances[name] = {FIGURE: (older if old else 1.0) * (1 + dice.gauss(0, 0.01))}
        facts[name] = {"driver": {"570.1" if old else "580.2"}}
    return distances, facts


def test_more_than_a_third_are_the_fleet() -> None:
    """Protects from half a fleet that is left out: what is usual is no longer most nodes'."""
    for slow, many in ((3, False), (7, True)):
        planted = simulate(1, 16, by=0.5, slow_nodes=slow, slow_links=0, slow_switches=0, ports=40, rounds=12)
        verdict = judge(planted.window)
        assert bool(verdict.of_fleet) == many, exclude(verdict.findings)
        assert len(exclude(verdict.findings)) == (0 if many else slow)


def test_placements_that_change_name_no_fleet() -> None:
    """One node in ten takes 2.5 times as long in each round: in 4 of these 60 fleets many were named."""
    wrong = apart = 0
    for seed in range(60):
        dice = np.random.default_rng(seed)
        window = simulate(seed, 16, slow_nodes=0, slow_links=0, slow_switches=0, rounds=12).window
        slow: dict[tuple[str, str], bool] = {}
        late = np.zeros(len(window.logs))
        for row, ends in enumerate(zip(window.ones, window.others, strict=True)):
            for node in filter(None, ends):
                if slow.setdefault((node, window.launches[row]), bool(dice.random() < 0.1)):
                    late[row] = np.log(2.5)
        verdict = judge(replace(window, logs=window.logs + late))
        wrong += bool(verdict.findings)
        apart += bool(verdict.of_fleet)
    assert wrong <= 1 and apart, "the rule was needed"


@pytest.mark.parametrize("count", [16, 64])
def test_an_older_driver_on_half_the_nodes_is_told(count: int) -> None:
    """Protects from "no node stands out" of a fleet of which half takes a tenth longer."""
    told = [groups_apart(*nodes(1.1, seed, count), 0.02) for seed in range(40)]
    right = [
        lines
        for lines in told
        if len(lines) == 1 and f"driver 570.1 on {count // 2} nodes takes 1." in lines[0]
    ]
    assert len(right) >= 38


@pytest.mark.parametrize("count", [16, 64])
def test_alike_groups_are_not(count: int) -> None:
    assert sum(bool(groups_apart(*nodes(1.0, seed, count), 0.02)) for seed in range(100)) <= 1


def test_three_of_many_are_a_group_and_two_are_not() -> None:
    distances, facts = nodes(1.0, 1)
    for number in range(16):
        facts[f"n{number}"] = {"driver": {"580.2" if number > 1 else "570.1"}}
        distances[f"n{number}"] = {FIGURE: 1.0 + 0.001 * (number % 3) if number > 1 else 2.0}
    assert groups_apart(distances, facts, 0.02) == []
