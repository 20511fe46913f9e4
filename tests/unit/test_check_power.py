"""wirespeed check: the slowdown that it says would be found, from the usual and with launches' spread."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.checks import Check, Record, site, write, write_runs
from support.records import entry, make_run

from wirespeed.errors import ExitCode
from wirespeed.report.check.evaluate import FAILED, check
from wirespeed.report.check.learn import learn
from wirespeed.report.check.requirements import read_requirements

SIZES = (8, 64, 512, 4096)
LAUNCHES, PAIRS = 5, 4
SPREAD = 0.02


def launch(slower: float) -> list[Record]:
    return [entry("gpu", size, (1e-6 + size * 1e-10) * slower, 0.002) for size in SIZES]


@pytest.mark.parametrize("spread", [None, SPREAD])
def test_what_is_said_to_be_found_is_found(spread: float | None, tmp_path: Path) -> None:
    """Protects from a power that only noise within the launch under test tells: launches differ by 2 %."""
    dice, hits = np.random.default_rng(1), []
    for _ in range(25):
        factors = iter(np.exp(dice.normal(0, SPREAD, LAUNCHES + 2 + 2 * PAIRS)).tolist())
        good = [make_run(*launch(next(factors))) for _ in range(LAUNCHES)]
        (tmp_path / "site.toml").write_text(learn(good, ["good"], spread).text)
        asked = read_requirements(str(tmp_path / "site.toml"))
        told = check(asked, [make_run(*launch(next(factors))) for _ in range(2)])
        smallest, rule = min((one.smallest, at) for at, one in enumerate(told) if one.smallest is not None)
        for _ in range(PAIRS):
            slow = [make_run(*launch(next(factors) * (1 + smallest))) for _ in range(2)]
            hits.append(check(asked, slow)[rule].what == FAILED)
    assert 0.82 <= np.mean(hits) <= 0.98


@pytest.mark.parametrize(
    ("asked", "bound"),
    [("at most 1.2 us, usually 1 us", 1.2), ("at least 6.4 MB/s, usually 8 MB/s", 1.25)],
)
def test_it_is_measured_from_the_usual(asked: str, bound: float, check_: Check) -> None:
    """Protects from a slow launch that passes for what is usual, of which little more would be found."""
    found = 100 * (bound / 0.998 * np.exp(0.02 * 1.2815515655) - 1)
    for slower in (0.95, 1.0, 1.1):
        file = write(Path("r.jsonl"), entry("host", 8, 1e-6 * slower, 0.002))
        code, out, _ = check_(site(f'8 = "{asked} (spread 2 %)"'), file)
        says = f"against the usual, 9 times in 10 this finds a figure that became {found:.3g} % slower"
        assert (code, out) == (ExitCode.OK, [says, "the bound holds"])


def test_a_noisy_launch_finds_less_than_the_spread_says(check_: Check) -> None:
    """Protects from a spread learnt on a calm day: at least the noise within the launch counts."""
    file = write(Path("r.jsonl"), entry("host", 8, 1e-6, 0.1))
    _, out, _ = check_(site('8 = "at most 1.2 us, usually 1 us (spread 1 %)"'), file)
    found = 1.2 / 0.9 * (1.1 / 0.9) ** (1.28155 / 1.95996 / 2) - 1
    assert f"became {100 * found:.3g} % slower" in out[0]


@pytest.mark.parametrize(
    ("spread", "says", "found"),
    [
        (
            " (spread 3 %)",
            "usual, 9 times in 10 this finds a figure that became",
            1.1 / 0.998 * np.exp(0.03 * 1.2815515655),
        ),
        (
            "",
            "their intervals, 9 times in 10 this finds a figure that became",
            1.1 / 1.03 / 0.998 * 1.002 ** (1.28 / 1.96),
        ),
    ],
)
def test_a_median_has_a_spread_of_its_own(spread: str, says: str, found: float, check_: Check) -> None:
    sizes = "\n".join(f'{size} = "at most 9 us, usually 1 us"' for size in SIZES)
    text = site(sizes, more=f'median = "at most 110 % of the usual{spread}"')
    _, out, _ = check_(text, write_runs([entry("host", size, 1.03e-6, 0.002) for size in SIZES]))
    number = re.search(f"{says} ([0-9.]+) %", "\n".join(out))
    assert number and float(number[1]) == pytest.approx(100 * (found - 1), rel=0.01), out


def test_a_launch_that_waited_for_cpus_tells_nothing_from_the_usual(check_: Check) -> None:
    cores = {"waited": 0.8, "rank": 0, "preempted": 9, "shared": None}
    file = write(Path("r.jsonl"), entry("host", 8, 1e-6, 0.002) | {"cores": cores})
    assert check_(site('8 = "at most 2 us, usually 1 us (spread 1 %)"'), file)[1] == ["the bound holds"]
