"""wirespeed check: the slowdown that it says would be found, from the usual and with launches' spread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.checks import Record
from support.records import entry, make_run

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
