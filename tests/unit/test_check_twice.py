"""wirespeed check: where two launches must be beyond a bound, one alone may be late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.checks import Check, Record, site, write_runs
from support.fake_run import FakeRun, one_line
from support.records import entry, failure

from wirespeed.errors import ExitCode

TWICE = "launches = 2\n" + site('8 = "at most 2 us, usually 1.8 us"')
PATHS = ("host", "aware", "rma")
MEDIANS = 'launches = 2\nmedian = "at most 102 % of the usual"\n' + "".join(
    site("\n".join(f'{size} = "at most 3 us, usually 1 us"' for size in (1, 2, 4)), path) for path in PATHS
)


def times(*microseconds: float, **more: Any) -> Path:
    return write_runs(*(entry("host", 8, time * 1e-6, 0.002, **more) for time in microseconds))


@pytest.mark.parametrize(
    ("microseconds", "code", "says"),
    [
        ((2.1,), ExitCode.CANNOT_TELL, "2.10 us (2.10 to 2.10 within this launch), at most 2 us wanted, "),
        ((2.1,), ExitCode.CANNOT_TELL, "but in one launch alone: measure again"),
        ((2.1, 2.1), ExitCode.WORSE, "in two launches"),
        ((2.1, 1.9), ExitCode.OK, "the bound holds"),
        ((2.1, 1.9, 2.1), ExitCode.CANNOT_TELL, "but in one launch alone"),
        ((1.9, 2.1, 2.2), ExitCode.WORSE, "2.20 us (2.20 to 2.20 within this launch)"),
        ((2.39,), ExitCode.CANNOT_TELL, "but in one launch alone"),
        ((2.42,), ExitCode.WORSE, "at most 2 us"),  # 3 times as far from 1.8 us as the bound
    ],
)
def test_two_launches_break_a_bound(
    microseconds: tuple[float, ...], code: int, says: str, check_: Check
) -> None:
    """Protects sound nodes from one late launch, and slow ones from a bound that is loose for its sake."""
    found, out, _ = check_(TWICE, times(*microseconds))
    assert found == code and says in "\n".join(out)
    assert check_(TWICE, times(*microseconds), "--strict")[0] == (code and ExitCode.WORSE)


def test_launches_of_one_file_are_launches(check_: Check) -> None:
    """Protects --launches: its last two count, not the median of all."""
    launches = [
        entry("host", 8, time * 1e-6, 0.002, launch=at + 1) for at, time in enumerate((1.7, 2.1, 2.1))
    ]
    assert check_(TWICE, write_runs(launches))[0] == ExitCode.WORSE
    assert check_(TWICE, write_runs(launches[:2]))[0] == ExitCode.CANNOT_TELL
    assert check_(TWICE, write_runs(launches[:1]))[0] == ExitCode.OK


def test_a_launch_that_waited_for_cpus_proves_nothing(check_: Check) -> None:
    cores = {"waited": 0.8, "rank": 0, "preempted": 9, "shared": None}
    loaded = entry("host", 8, 2.1e-6, 0.002) | {"cores": cores}
    assert check_(TWICE, write_runs(loaded, entry("host", 8, 2.1e-6, 0.002)))[0] == ExitCode.CANNOT_TELL


def test_a_run_that_crashed_is_missing_all_the_same(check_: Check) -> None:
    sound = entry("host", 8, 1.9e-6, 0.002)
    code, out, _ = check_(TWICE, write_runs(sound, failure("host", 8, "crashed", "signal 11")))
    assert code == ExitCode.WORSE and out[0].startswith("MISSING")


def machine(slower: float, paths: tuple[str, ...] = PATHS) -> list[Record]:
    return [entry(path, size, 1e-6 * slower, 0.002) for path in paths for size in (1, 2, 4)]


@pytest.mark.parametrize(
    ("launches", "code"),
    [
        ([machine(1.05)], ExitCode.CANNOT_TELL),
        ([machine(1.05), machine(1.05)], ExitCode.WORSE),
        ([machine(1.05), machine(1.0)], ExitCode.OK),
        ([machine(1.08)], ExitCode.WORSE),
        # One path measured again: the others are as they were.
        ([machine(1.05), machine(1.05, ("host",))], ExitCode.WORSE),
        ([machine(1.0), machine(1.05, ("host",))], ExitCode.OK),
    ],
)
def test_medians_of_two_launches(launches: list[list[Record]], code: int, check_: Check) -> None:
    assert check_(MEDIANS, write_runs(*launches))[0] == code


def test_what_one_launch_breaks_is_measured_again(fake: FakeRun, check_: Check) -> None:
    """Protects from waiting for a person: the rule in doubt is measured again at all its sizes, no other."""
    text = "launches = 2\n" + site('8 = "at most 0.9 us, usually 0.8 us"\n64 = "at most 2 us"')
    text += site('16 = "at most 2 us"')
    code, _, err = check_(text, "--measure", "--device", "cpu", "--out", "m.jsonl")
    assert [(plan.sizes, plan.launches, plan.resume) for plan in fake.plans][:2] == [
        ((8, 16, 64), 1, False),
        ((8, 64), 2, True),
    ]
    assert "one launch was beyond a bound, so these are measured again: pingpong host" in err
    assert code in (ExitCode.WORSE, ExitCode.CANNOT_TELL) and len(fake.plans) <= 3


@pytest.mark.parametrize("value", ["3", "0", '"2"', "true", "2.0"])
def test_one_line_for_another_number(value: str, check_: Check) -> None:
    code, _, err = check_(f"launches = {value}\n" + site('8 = "at most 2 us"'), times(1.0))
    assert code == ExitCode.USAGE and "line 1: launches = " in one_line(err) and "write 2 or 1" in err
