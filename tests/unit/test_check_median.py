"""wirespeed check: what slows a path shows in medians, before any figure is beyond its bound."""

from __future__ import annotations

import numpy as np
from support.checks import Check, Record, write_runs
from support.records import entry, make_run, step

from wirespeed.errors import ExitCode
from wirespeed.report.check.learn import learn


def test_learnt_medians_hold_and_find_what_figures_hide(check_: Check) -> None:
    """Ten launches whose figures differ by 5 %: 8 % of all is within what one does by itself."""
    dice = np.random.default_rng(3)
    sizes = [1 << size for size in range(15)]

    def records(slower: float) -> list[Record]:
        return [
            entry(path, size, 1e-6 * slower * float(np.exp(dice.normal(0, 0.05))), 0.002)
            for path in ("gpu", "aware", "nccl")
            for size in sizes
        ]

    runs = [make_run(*(step(path) for path in ("gpu", "aware", "nccl")), *records(1.0)) for _ in range(10)]
    text = learn(runs, ["good"])
    assert text.count("median = ") == 3
    assert check_(text, write_runs(records(1.0), records(1.0)))[0] != ExitCode.WORSE
    slower = [records(1.08), records(1.08)]
    assert check_(text, write_runs(slower[0]))[0] == ExitCode.CANNOT_TELL
    code, out, _ = check_(text, write_runs(*slower))
    assert code == ExitCode.WORSE
    failed = [line for line in out if line.startswith("FAILED")]
    assert sum("the median of short messages is" in line for line in failed) == 3
