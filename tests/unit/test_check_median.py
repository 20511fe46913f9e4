"""wirespeed check: what slows a path shows in medians, before any figure is beyond its bound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.checks import Record
from support.records import entry, head, make_run, step

from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.check.evaluate import FAILED, KEPT, check
from wirespeed.report.check.learn import learn
from wirespeed.report.check.requirements import read_requirements

PATHS = ("gpu", "aware", "nccl")
PAIRS, SLOWER = 20, 1.09


def test_learnt_medians_hold_and_find_what_figures_hide(tmp_path: Path) -> None:
    """Ten launches whose figures differ by 5 %: 9 % of all is within what one does by itself."""
    dice = np.random.default_rng(3)
    sizes = [1 << size for size in range(13)]
    site = tmp_path / "site.toml"

    def launches(many: int, slower: float) -> list[list[Record]]:
        return [
            [
                entry(path, size, 1e-6 * slower * float(np.exp(dice.normal(0, 0.05))), 0.002, launch=number)
                for path in PATHS
                for size in sizes
            ]
            for number in range(1, many + 1)
        ]

    def judged(found: list[list[Record]]) -> tuple[list[str], float]:
        """What is said of each median, and the share of the figures that fail."""
        run = make_run(head(), *map(step, PATHS), *(record for launch in found for record in launch))
        findings = check(read_requirements(str(site)), [run])
        medians = [finding.what for finding in findings if finding.requirement.bytes is None]
        figures = [finding.what == FAILED for finding in findings if finding.requirement.bytes is not None]
        assert len(figures) == len(PATHS) * len(sizes)
        return medians, sum(figures) / len(figures)

    good = make_run(head(), *map(step, PATHS), *(record for one in launches(10, 1.0) for record in one))
    site.write_text(learn([good], ["good"]).text)
    cases = (2, 1.0), (1, SLOWER), (2, SLOWER)
    healthy, once, twice = ([judged(launches(*case)) for _ in range(PAIRS)] for case in cases)

    def share(found: list[tuple[list[str], float]], what: str) -> float:
        return sum(medians.count(what) for medians, _ in found) / len(found) / len(PATHS)

    assert share(healthy, FAILED) == 0.0 and share(healthy, KEPT) > 0.9
    assert share(once, FAILED) == 0.0 and share(once, CANNOT_TELL) > 0.9
    assert share(twice, FAILED) > 0.9
    assert sum(figures for _, figures in healthy) / PAIRS < 0.005
    assert sum(figures for _, figures in twice) / PAIRS < 0.1, "each of them hides it"
