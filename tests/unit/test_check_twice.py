"""wirespeed check: where two launches must be beyond a bound, one alone may be late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.checks import Check, Record, site, write_runs
from support.fake_run import FakeRun, Observer
from support.records import end, entry, failure, head

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.results.reading import record_of


def machine(slower: float, paths: tuple[str, ...]) -> list[Record]:
    return [entry(path, size, 1e-6 * slower, 0.002) for path in paths for size in (1, 2, 4)]


class Measured(FakeRun):
    """Each call appends its launch to the file, as a run does."""

    def __init__(self, *launches: list[Record] | BaseException | ExitCode) -> None:
        super().__init__()
        self.launches = launches

    def measure(self, plan: Plan, observe: Observer, bound: object = None) -> ExitCode:
        number = len(self.plans)
        self.plans.append(plan)
        launch = self.launches[number]
        if isinstance(launch, BaseException):
            raise launch
        stopped = launch if isinstance(launch, ExitCode) else None
        begin = {**head(), "plan": json.loads(json.dumps(plan.to_dict()))}
        ends = [] if stopped else [end()]
        moment = f"2026-01-01T12:0{number}:00+00:00"
        with Path(plan.out or "").open("a") as file:
            for line in (begin, *(launch if isinstance(launch, list) else ()), *ends):
                line = {"launch": number + 1, **line, "run": f"r{number}", "at": moment, "started": moment}
                file.write(json.dumps(line) + "\n")
                found = record_of(line)
                assert found is not None
                observe(found)
        return stopped or ExitCode.OK


def launch(small: float, large: float = 2.8, **more: Any) -> list[Record]:
    """Microseconds at 8 B and at 64 B."""
    return [entry("host", size, time * 1e-6, 0.002, **more) for size, time in ((8, small), (64, large))]


def health(errors: int) -> Record:
    told = [{"host": "n1", "place": "GPU 0", "what": "ecc", "count": errors}] if errors else []
    return {
        "kind": "health",
        "path": "host",
        "counted": ["ecc"],
        "watched": ["gpu"],
        "seconds": 1.0,
        "errors": told,
    }


TWO_SIZES = site('8 = "at most 2 us, usually 1.8 us"\n64 = "at most 3 us, usually 2.8 us"')
FULL = WirespeedError("cannot write m.jsonl: No space left on device", ExitCode.CANNOT_WRITE)
WAITED = {"waited": 0.8, "rank": 0, "preempted": 9, "shared": None}


@pytest.mark.parametrize(
    ("launches", "measured", "judged"),
    [
        ([launch(1.8)], ExitCode.OK, ExitCode.OK),
        ([launch(2.1), launch(1.8)], ExitCode.OK, ExitCode.OK),
        ([launch(2.1), launch(2.1)], ExitCode.WORSE, ExitCode.WORSE),
        ([launch(2.1), launch(1.8, 3.1), launch(1.8)], ExitCode.OK, ExitCode.OK),
        ([launch(2.1), launch(1.8, 3.1), launch(1.8, 3.1)], ExitCode.WORSE, ExitCode.WORSE),
        ([launch(2.1), launch(1.8, 3.1), launch(2.1)], ExitCode.CANNOT_TELL, ExitCode.CANNOT_TELL),
        ([launch(2.1), launch(2.1, cores=WAITED), launch(2.1)], ExitCode.CANNOT_TELL, ExitCode.CANNOT_TELL),
        ([launch(2.1), launch(2.1, cores=WAITED), launch(1.8)], ExitCode.OK, ExitCode.OK),
        ([launch(2.1), [failure("host", 8, "crash", "signal 11")]], ExitCode.WORSE, ExitCode.WORSE),
        ([launch(2.1), [failure("host", None, "crash", "signal 11")]], ExitCode.WORSE, ExitCode.WORSE),
        # A size that crashed once has its figure from the launch after.
        (
            [[failure("host", 8, "crash", "signal 11"), launch(1.8, 3.1)[1]], launch(1.8)],
            ExitCode.OK,
            ExitCode.OK,
        ),
        ([launch(2.1), ExitCode.INTERRUPTED], ExitCode.INTERRUPTED, ExitCode.CANNOT_TELL),
        ([launch(2.1), FULL], ExitCode.CANNOT_WRITE, ExitCode.CANNOT_TELL),
    ],
)
def test_what_one_launch_breaks_is_measured_again(
    launches: list[Any], measured: int, judged: int, check_: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from waiting for a person; check says the same of the file afterwards."""
    text = "launches = 2\n" + TWO_SIZES
    fake = Measured(*launches)
    monkeypatch.setattr("wirespeed.frontend.session.measure", fake.measure)
    code, out, err = check_(text, "--measure", "--device", "cpu", "--out", "m.jsonl")
    assert code == measured and out
    assert [(plan.launches, plan.resume) for plan in fake.plans] == [
        (number + 1, number > 0) for number in range(len(launches))
    ]
    again = "one launch was beyond a bound, so these are measured again: pingpong host"
    assert err.count(again) == len(launches) - 1
    assert check_(text, Path("m.jsonl"))[0] == judged


def test_errors_of_the_first_launch_are_not_forgotten(check_: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a sound second launch that hides what slowed the first."""
    fake = Measured([*launch(2.1), health(5)], [*launch(1.8), health(0)])
    monkeypatch.setattr("wirespeed.frontend.session.measure", fake.measure)
    text = "launches = 2\n" + TWO_SIZES.replace("[require.sizes]", "new_errors = 0\n[require.sizes]")
    assert check_(text, "--measure", "--device", "cpu", "--out", "m.jsonl")[0] == ExitCode.WORSE
    assert check_(text, Path("m.jsonl"))[0] == ExitCode.WORSE


def test_what_is_not_in_doubt_is_not_measured_again(check_: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a prolog's seconds: the rule in doubt is measured again at all its sizes, no other."""
    fake = Measured([*launch(2.1), *(entry("rma", 8, 1e-6, 0.002) for _ in range(1))], launch(1.8))
    monkeypatch.setattr("wirespeed.frontend.session.measure", fake.measure)
    text = "launches = 2\n" + TWO_SIZES + site('8 = "at most 2 us"\n64 = "at most 3 us"', "rma")
    check_(text, "--measure", "--device", "cpu", "--out", "m.jsonl")
    assert [(plan.paths, plan.sizes) for plan in fake.plans] == [
        (("host", "rma"), (8, 64)),
        (("host",), (8, 64)),
    ]


@pytest.mark.parametrize(
    ("slower", "code"),
    [
        ((2.1, 2.1), ExitCode.CANNOT_TELL),
        ((2.1, 1.0), ExitCode.OK),
        ((1.0, 2.1), ExitCode.OK),
        ((1.4, 1.4), ExitCode.OK),
        ((3.2, 3.2), ExitCode.WORSE),
    ],
)
def test_twice_the_time_is_never_passed_over(slower: tuple[float, float], code: int, check_: Check) -> None:
    """Protects from half the bandwidth that passes because launches differ by three times."""
    sizes = "\n".join(f'{size} = "at most 3 us, usually 1 us"' for size in (1, 2, 4))
    text = "launches = 2\n" + site(sizes, more='median = {short = "at most 300 % of the usual"}')
    found, out, _ = check_(text, write_runs(*(machine(one, ("host",)) for one in slower)))
    assert found == code
    said = "twice more than x 1.5 of the usual: launches differ too much to tell"
    assert (said in "\n".join(out)) == (code == ExitCode.CANNOT_TELL)
