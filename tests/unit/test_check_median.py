"""wirespeed check: what slows a path or a machine shows in medians, before any figure is beyond its bound."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support.checks import Check, Record, write, write_runs
from support.fake_run import one_line
from support.records import entry, make_run, step

from wirespeed.errors import ExitCode
from wirespeed.report.check.learn import learn

SIZES = (1, 2, 4, 1 << 20)
RULES = """\
median = "at most 102 % of the usual"
"""
RULE = """\
[[require]]
path = "{path}"
median = "at most 104 % of the usual"
[require.sizes]
1 = "at most 1.5 us, usually 1 us"
2 = "at most 1.5 us, usually 1 us"
4 = "usually 1 us, at most 1.5 us"
1M = "at least 5 GB/s, usually 10 GB/s"
"""
USUAL = {1: 1e-6, 2: 1e-6, 4: 1e-6, 1 << 20: 1.048576e-4}
ALL = RULES + RULE.format(path="host") + RULE.format(path="aware") + RULE.format(path="rma")


def results(slower: Mapping[str, float], precision: float = 0.002) -> list[Record]:
    return [
        entry(path, size, seconds * slower.get(path, 1.0), precision)
        for path in ("host", "aware", "rma")
        for size, seconds in USUAL.items()
    ]


def test_a_path_that_is_slower_at_all_sizes(check_: Check) -> None:
    """Protects from a slowdown that no single figure shows."""
    code, out, _ = check_(ALL, write(Path("r.jsonl"), *results({"aware": 1.05})))
    assert code == ExitCode.WORSE
    (line,) = (line for line in out if line.startswith("FAILED"))
    says = "the median is 105 % of the usual, at most 104 % of the usual wanted"
    assert line == f"FAILED   site.toml:12: pingpong aware: {says}"


def test_a_machine_that_is_slower_on_all_paths(check_: Check) -> None:
    file = write(Path("r.jsonl"), *results(dict.fromkeys(("host", "aware", "rma"), 1.03)))
    code, out, _ = check_(ALL, file)
    assert code == ExitCode.WORSE
    (line,) = (line for line in out if line.startswith("FAILED"))
    assert line.startswith("FAILED   site.toml:1: all paths: the median is 103 % of the usual")


def test_sound_ones_and_those_in_doubt(check_: Check) -> None:
    code, out, _ = check_(ALL, write(Path("r.jsonl"), *results({})))
    assert code == ExitCode.OK and "as a whole" in out[0]
    code, out, _ = check_(ALL, write(Path("r.jsonl"), *results({"host": 1.05}, 0.03)))
    assert code == ExitCode.CANNOT_TELL
    assert "105 % of the usual" in out[0] and "but its interval contains the bound" in out[0]


def test_figures_that_are_missing_leave_the_median_open(check_: Check) -> None:
    """Protects from a median of one size that passes for that of four."""
    file = write(Path("r.jsonl"), entry("host", 8, 1e-6, 0.002), entry("host", 1, 1e-6, 0.002))
    code, out, _ = check_(RULE.format(path="host"), file)
    assert code == ExitCode.WORSE
    assert any("cannot be told" in line or "too few figures could be judged" in line for line in out)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'median = "at most 104 %"\n',
            "line 1: median = 'at most 104 %': write 'at most 105 % of the usual'",
        ),
        (
            RULES + '[[require]]\npath = "host"\nsizes = {1 = "at most 2 us"}',
            "line 1: no size says what it usually is",
        ),
        (
            RULE.format(path="host").replace("usually 10 GB/s", "usually 10 us"),
            "or a rate where the bound is one",
        ),
        (RULE.format(path="host").replace("at most 1.5 us, ", ""), "line 5: 'usually 1 us': write"),
        (
            RULE.format(path="host").replace("1 us", "1 us (spread 1)"),
            "line 5: 'usually 1 us (spread 1)': write",
        ),
        (RULE.format(path="host").replace("1 us", "1e-320 us"), "line 5: 'usually 1e-320 us': write"),
        (
            'median = "at most 1e-320 % of the usual"\n',
            "line 1: median = 'at most 1e-320 % of the usual': write",
        ),
    ],
)
def test_one_line_with_its_number(text: str, says: str, check_: Check) -> None:
    code, _, err = check_(text, write(Path("r.jsonl"), *results({})))
    assert code == ExitCode.USAGE and says in one_line(err)


def test_learnt_medians_hold_and_find_what_figures_hide(check_: Check) -> None:
    """Ten launches whose figures differ by 5 %: 6 % of all is within what one does by itself."""
    dice = np.random.default_rng(3)
    sizes = [1 << size for size in range(15)]

    def records(slower: float) -> list[Record]:
        return [
            entry(path, size, 1e-6 * slower * float(np.exp(dice.normal(0, 0.05))), 0.002)
            for path in ("host", "aware", "rma")
            for size in sizes
        ]

    runs = [make_run(*(step(path) for path in ("host", "aware", "rma")), *records(1.0)) for _ in range(10)]
    text = learn(runs, ["good"])
    assert text.count("median = ") == 4
    assert check_(text, write(Path("r.jsonl"), *records(1.0)))[0] == ExitCode.OK
    slower = [records(1.06), records(1.06)]
    assert check_(text, write_runs(slower[0]))[0] == ExitCode.CANNOT_TELL
    code, out, _ = check_(text, write_runs(*slower))
    assert code == ExitCode.WORSE
    assert all("the median is" in line for line in out if line.startswith("FAILED"))
