"""wirespeed check: where two launches must be beyond a bound, one alone may be late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.checks import Check, Record, site, write_runs
from support.fake_run import FakeRun, Observer, one_line
from support.impossible import FALSE
from support.records import end, entry, failure, head

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.results.reading import record_of

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
        # One launch of two paths of three is not two.
        ([machine(1.05), machine(1.0, ("host",))], ExitCode.CANNOT_TELL),
        ([machine(1.05), machine(1.05, ("host", "rma"))], ExitCode.WORSE),
        ([machine(1.0), machine(1.05, ("host",))], ExitCode.OK),
    ],
)
def test_medians_of_two_launches(launches: list[list[Record]], code: int, check_: Check) -> None:
    assert check_(MEDIANS, write_runs(*launches))[0] == code


def test_launches_of_two_hosts_are_no_pair(check_: Check) -> None:
    file = times(2.1, 2.1)
    file.write_text(file.read_text().replace('"n1"', '"n2"', 1))
    assert check_(TWICE, file)[0] == ExitCode.CANNOT_TELL


def test_the_newest_launch_is_the_last_whatever_its_file_is_called(check_: Check) -> None:
    Path("files").mkdir()
    for name, day, time in (("a", 3, 1.7), ("b", 1, 2.1), ("c", 2, 2.1)):
        lines = [json.loads(line) for line in times(time).read_text().splitlines()]
        lines[0]["started"] = f"2026-01-0{day}T12:00:00+00:00"
        text = "".join(json.dumps({**line, "run": name}) + "\n" for line in lines)
        Path("files", f"{name}.jsonl").write_text(text.replace("2026-01-01T12", f"2026-01-0{day}T12"))
    assert check_(TWICE, Path("files"))[0] == ExitCode.OK


@pytest.mark.parametrize(
    ("bounds", "microseconds", "code"),
    [
        # Nothing is gross without the usual time, or where the bound is faster than it.
        ("at most 2 us", 200, ExitCode.CANNOT_TELL),
        ("at most 1.5 us, usually 1.8 us", 1.6, ExitCode.CANNOT_TELL),
        # A usual time is none of a rate.
        ("at most 2 us, at least 0.004 GB/s, usually 1.8 us", 2.1, ExitCode.CANNOT_TELL),
        ("at least 4 MB/s, usually 4.4 MB/s", 2.35, ExitCode.CANNOT_TELL),
        ("at least 4 MB/s, usually 4.4 MB/s", 2.4, ExitCode.WORSE),
    ],
)
def test_what_is_gross(bounds: str, microseconds: float, code: int, check_: Check) -> None:
    """Protects sound nodes from one late launch that a bound of another kind calls gross."""
    assert check_("launches = 2\n" + site(f'8 = "{bounds}"'), times(microseconds))[0] == code


def test_gross_is_the_whole_interval(check_: Check) -> None:
    wide = entry("host", 8, 2.42e-6, 0.02)
    assert check_(TWICE, write_runs(wide))[0] == ExitCode.CANNOT_TELL
    wide_machine = [entry(path, size, 1.062e-6, 0.01) for path in PATHS for size in (1, 2, 4)]
    assert check_(MEDIANS, write_runs(wide_machine))[0] == ExitCode.CANNOT_TELL


class Measured(FakeRun):
    """Each call appends its launch to the file, as a run does."""

    def __init__(self, *launches: list[Record] | BaseException | ExitCode) -> None:
        super().__init__()
        self.launches = launches

    def measure(self, plan: Plan, observe: Observer) -> ExitCode:
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


def test_a_machine_in_doubt_is_measured_again_whole(check_: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Measured(machine(1.05), machine(1.05))
    monkeypatch.setattr("wirespeed.frontend.session.measure", fake.measure)
    code, *_ = check_(MEDIANS, "--measure", "--device", "cpu", "--out", "m.jsonl")
    assert code == ExitCode.WORSE and [plan.paths for plan in fake.plans] == [PATHS, PATHS]


@pytest.mark.parametrize("which", [1, 2])
def test_an_impossible_launch_makes_its_figure_impossible(which: int, check_: Check) -> None:
    """Protects from a launch that cannot be and passes for the sound one of two."""
    launches = [entry("host", 8, 1.9e-6, 0.002, launch=at, **(FALSE if at == which else {})) for at in (1, 2)]
    assert check_(TWICE, write_runs(launches))[0] == ExitCode.IMPOSSIBLE


def test_what_would_have_been_found_needs_two_launches(check_: Check) -> None:
    """95 % of two lower ends are beyond it with 90 %: 1.645 standard errors, of 1.96 in 2 %."""
    _, out, _ = check_(TWICE, write_runs(entry("host", 8, 1.9e-6, 0.02)))
    expected = 2 / (1.9 * 0.98) * (1.02 / 0.98) ** (1.6449 / 1.95996 / 2) - 1
    assert f"a slowdown from these figures by {100 * expected:.3g} %" in out[0]


@pytest.mark.parametrize("value", ["3", "0", '"2"', "true", "2.0"])
def test_one_line_for_another_number(value: str, check_: Check) -> None:
    code, _, err = check_(f"launches = {value}\n" + site('8 = "at most 2 us"'), times(1.0))
    assert code == ExitCode.USAGE and "line 1: launches = " in one_line(err) and "write 2 or 1" in err
