"""wirespeed check: bounds read, learnt, measured for and held against figures, and how surely."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.checks import Check, Record, site
from support.examples import examples
from support.fake_run import FakeRun, Observer, one_line
from support.measured import measured, name_of, result
from support.records import end, entry, failure, head, make_run, step

from wirespeed import toml
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.path_selection import by_algorithms, select
from wirespeed.job.plan import Plan
from wirespeed.judge.spreads import group_of
from wirespeed.limits import Ceiling
from wirespeed.paths import all_paths
from wirespeed.patterns import Shape, find_pattern
from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.check.evaluate import FAILED, KEPT, check
from wirespeed.report.check.learn import learn
from wirespeed.report.check.requirements import parse_bound, read_requirements
from wirespeed.results.decoding import printable
from wirespeed.results.reading import record_of
from wirespeed.results.runs import Run
from wirespeed.results.whole_file import write_whole

SURVEY = result("h200-x2-survey")


class TestBounds:
    @pytest.mark.parametrize(
        ("text", "least", "value", "kind"),
        [
            ("at least 380 GB/s", True, 380e9, "rate"),
            ("at most 12.5us", False, 12.5e-6, "time"),
            ("at least 80 % of limit", True, 0.8, "share"),
            ("at least 80% of the limit", True, 0.8, "share"),
            ("at most 1e3 MiB/s", False, 1e3 * 2**20, "rate"),
            ("at least 3 µs", True, 3e-6, "time"),
        ],
    )
    def test_words(self, text: str, least: bool, value: float, kind: str) -> None:
        bound = parse_bound(text)
        assert (bound.least, bound.kind) == (least, kind)
        assert bound.value == pytest.approx(value)

    @examples(50)
    @given(st.text(max_size=30))
    def test_no_text_is_a_stack_trace(self, text: str) -> None:
        with suppress(WirespeedError):
            assert parse_bound(text).value > 0

    def test_more_than_the_limit_is_no_pass(self, check_: Check, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects an acceptance test from a figure, or a limit, that cannot be."""
        monkeypatch.setattr(Run, "ceiling", lambda run, path: Ceiling(100e9, "a wire", "made up"))
        code, out, _ = check_(site('1G = "at least 90 % of limit"', "aware"), SURVEY)
        assert code == ExitCode.IMPOSSIBLE and "IMPOSSIBLE site.toml" in out[0]
        assert "395 GB/s (395 GB/s to 395 GB/s) is 395 % of the limit, a wire" in out[0]
        monkeypatch.setattr(Run, "ceiling", lambda run, path: Ceiling(390e9, "a wire", "made up"))
        code, out, _ = check_(site('1G = "at least 90 % of limit"', "aware"), SURVEY)
        assert code == ExitCode.CANNOT_TELL and "a share above 100 % is impossible" in out[0]


class TestBadFiles:
    @examples(50)
    @given(st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["path", "sizes", "8", "ranks", "options", "pattern", "x"]), inner, max_size=3
        ),
        max_leaves=8,
    ))  # fmt: skip
    def test_no_content_gives_a_stack_trace(self, data: Any) -> None:
        """Protects from files by hand: whatever is where, it is either understood or refused in one line."""
        from wirespeed.report.check.requirements import _Reader

        sizes = [{"path": "host", "sizes": data}]
        for whole in (data, {"require": data}, {"require": [data]}, {"require": sizes}):
            if isinstance(whole, dict):
                try:
                    list(_Reader("site.toml", "").requirements(whole))
                except WirespeedError as error:
                    assert str(error).startswith("site.toml")


LAUNCHES = 16
LAUNCH_FACTORS = st.one_of(st.floats(0.98, 1.02), st.sampled_from([0.5, 1.0, 1.3, 3.0]), st.floats(1e-3, 1e3))
FIGURES = st.dictionaries(
    st.tuples(st.sampled_from(["host", "aware"]), st.sampled_from([0, 8, 1000, 1 << 14, 1 << 20, 1 << 30])),
    st.tuples(
        st.floats(1e-6, 1.0),
        st.lists(st.tuples(LAUNCH_FACTORS, st.floats(0, 0.6)), min_size=1, max_size=LAUNCHES),
    ),
    min_size=1,
)
"""Of each path and size: a time, and each launch's share of it with its interval's half width."""
MANY_QUIET = {("host", 8): (1e-6, [(1.3 if number < 2 else 1.0, 0.01) for number in range(16)])}
"""Two slow launches of sixteen are no odd one, and further away than any spread."""
ONE_ODD = {("host", 8): (1e-6, [(3.0 if number == 2 else 1.0, 0.01) for number in range(6)])}

TWO_FAR_APART = {
    ("aware", 8): (1e-6, [(1.0, 0.0)] * 7),
    ("aware", 0): (1e-6, [(1.0, 0.0)] * 8 + [(0.125, 0.0)]),
    ("aware", 1000): (1e-6, [(1.0, 0.0)] * 7 + [(34.0, 0.0), (1.0, 0.0)]),
}
"""A launch without 8 B, whose other two figures are its median."""


ANY_LETTER = st.characters(exclude_categories=())
HOSTILE = st.one_of(
    st.text(ANY_LETTER, max_size=20),
    st.sampled_from(
        [
            'n1\n[[require]]\npath = "staged"\nsizes = {8 = "at most 1 ns"}',
            '"a"',
            "a.b.c",
            "\x7f",
            "\\",
            "a\rb",
        ]
    ),
)


class TestLearn:
    @example(MANY_QUIET, None)
    @example(ONE_ODD, None)
    @example(TWO_FAR_APART, None)
    @examples(40)
    @given(FIGURES, st.sampled_from([None, 0.01]))
    def test_what_it_learnt_from_passes(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        figures: dict[tuple[str, int], tuple[float, list[tuple[float, float]]]],
        spread: float | None,
    ) -> None:
        """Protects from bounds that the very machine they describe breaks, whatever it measured."""
        runs: list[Run] = []
        for number in range(LAUNCHES):
            there = {key: found for key, found in figures.items() if number < len(found[1])}
            records = [head(), *map(step, dict.fromkeys(path for path, _ in there))]
            for (path, size), (usual, launches) in there.items():
                factor, share = launches[number]
                records.append(entry(path, size, usual * factor, share))
            runs += [make_run(*({**one, "run": f"r{number:02}"} for one in records))] * bool(there)
        file = tmp_path_factory.mktemp("learn") / "site.toml"
        learnt = learn(runs, ["r.jsonl"], spread)
        file.write_text(learnt.text)
        if "[[require]]" not in learnt.text:
            return
        requirements = read_requirements(str(file))
        assert sum(asked.bytes is not None for asked in requirements) + len(
            re.findall("to derive a bound|makes no bound", learnt.text)
        ) == len(figures)
        odd = {
            (place.launch, place.path, group_of(place.sizes[0]) if place.of_group else place.sizes[0])
            for place in learnt.odd
        }
        for number, run in enumerate(runs, 1):
            for finding in check(requirements, [run]):
                asked = finding.requirement
                sizes = {size for path, size in figures if path == asked.path}
                # Of a launch that lacks sizes, the path as a whole may not be judged.
                some = asked.bytes is None and len(run.of_path(asked.path)) < len(sizes)
                lacks = some or ((asked.path, asked.bytes) not in run.figures and asked.bytes is not None)
                where = number, asked.path, asked.group or asked.bytes
                kept = finding.what in ("kept", *["missing", "cannot tell"] * lacks)
                assert kept or where in odd, finding
        assert len(learnt.odd_lines) == len({place.launch for place in learnt.odd})
        lines = file.read_text().splitlines()
        for one in requirements:
            assert one.bound.text in lines[one.line - 1], "the line that a failure names is that of its bound"

    @examples(60)
    @given(host=HOSTILE, path=HOSTILE, file=HOSTILE, option=HOSTILE)
    def test_names_stay_names(
        self, tmp_path_factory: pytest.TempPathFactory, host: str, path: str, file: str, option: str
    ) -> None:
        """Whatever hosts, paths and files are called: the bounds are those measured, and no others."""
        assume(path.partition(":")[0] not in {known.name for known in all_paths()})
        first = head()
        first["plan"] |= {"pattern": "custom", "options": [["file", option]]}
        first["environment"]["host"] = host
        figures = [{**entry(one, 8, 1e-6), "pattern": "custom"} for one in ("host", path)]
        site = tmp_path_factory.mktemp("learn") / "site.toml"
        text = learn([make_run(first, step("host"), step(path), *figures)], [file], 0.01).text
        write_whole(site, text)
        (one,) = read_requirements(str(site))
        shown = printable(option)
        assert (one.pattern, one.path, one.bytes, one.options) == ("custom", "host", 8, {"file": shown})

    @given(st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(ANY_LETTER)))
    def test_values_as_toml(self, value: bool | int | float | str) -> None:
        text = toml.written(value)
        assert "\n" not in text
        wanted = re.sub("[\ud800-\udfff]", "?", value) if isinstance(value, str) else value
        assert toml.parse(f"a = {text}")["a"] == wanted

    @pytest.mark.parametrize("file", measured("*.jsonl*"))
    def test_measured_files(self, file: Path, check_: Check, capsys: pytest.CaptureFixture[str]) -> None:
        code = main(["check", "--learn", str(file), "--spread", "2%", "-o", "learnt.toml"])
        if name_of(file) == "h200-x2-large":
            # Fixed counts: each figure is one sample.
            assert code == ExitCode.USAGE and "no entry has enough samples" in one_line(
                capsys.readouterr().err
            )
            return
        assert code == ExitCode.OK
        code, out, _ = check_(Path("learnt.toml").read_text(), file)
        assert code == ExitCode.OK and re.fullmatch(r"all \d+ bounds hold", out[-1])


class TestMeasuring:
    def test_no_size_of_a_rule_that_is_no_size_s(self, fake: FakeRun, check_: Check) -> None:
        health = "new_errors = 0\nthrottled = false"
        check_(site('8 = "at most 9 us"', "aware", health), "--measure", "--device", "cpu")
        assert [plan.sizes for plan in fake.plans] == [(8,)]

    @pytest.mark.parametrize(("path", "found"), [("host", "host"), ("host:best", "host:best")])
    def test_no_other_algorithm(self, path: str, found: str, fake: FakeRun, check_: Check) -> None:
        """Protects a health check's time: allreduce by itself measures two algorithms."""
        text = site('8 = "at most 9 us"', path, 'pattern = "allreduce"\nranks = 2')
        check_(text, "--measure", "--device", "cpu")
        (plan,) = fake.plans
        pattern = find_pattern("allreduce").at(Shape(2, dict(plan.options)))
        paths = by_algorithms(select(plan.paths), pattern)
        assert [one.name for one in paths] == [found]

    def test_just_what_is_asked_for(self, fake: FakeRun, check_: Check) -> None:
        text = site('8 = "at most 2 us"\n64 = "at most 2 us"') + site('8 = "at most 2 us"', "staged")
        text += site('8 = "at most 2 us"', more='pattern = "groups"\nranks = 4\noptions = {group = 2}')
        code, out, err = check_(text, "--measure", "--device", "cpu", "--out", "m.jsonl")
        assert [(plan.pattern, plan.paths, plan.sizes, plan.ranks) for plan in fake.plans] == [
            ("pingpong", ("host",), (8, 64), 2),
            ("pingpong", ("staged",), (8,), 2),
            ("groups", ("host",), (8,), 4),
        ]
        assert dict(fake.plans[2].options)["group"] == 2
        assert {plan.device for plan in fake.plans} == {"cpu"}
        assert [(plan.out, plan.resume) for plan in fake.plans] == [("m.jsonl", n > 0) for n in range(3)]
        assert isinstance(fake.plan, Plan) and "results: m.jsonl" in err
        assert code == ExitCode.WORSE and "bounds do not hold" in out[-1]


def test_the_documented_file_is_understood(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "checking.md").read_text()
    file = tmp_path / "site.toml"
    file.write_text(text.split("```toml\n")[1].split("```")[0])
    found = read_requirements(str(file))
    assert len(found) == 4 + 7 + 1
    assert {one.bound.kind for one in found} == {"time", "rate", "share"}


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


FEW_SIZES = (8, 64, 512, 4096)
GOOD, SLOW_PAIRS = 5, 4
SPREAD = 0.02


def of_gpu(slower: float) -> list[Record]:
    return [entry("gpu", size, (1e-6 + size * 1e-10) * slower, 0.002) for size in FEW_SIZES]


@pytest.mark.parametrize("spread", [None, SPREAD])
def test_what_is_said_to_be_found_is_found(spread: float | None, tmp_path: Path) -> None:
    """Protects from a power that only noise within the of_gpu under test tells: launches differ by 2 %."""
    dice, hits = np.random.default_rng(1), []
    for _ in range(25):
        factors = iter(np.exp(dice.normal(0, SPREAD, GOOD + 2 + 2 * SLOW_PAIRS)).tolist())
        good = [make_run(*of_gpu(next(factors))) for _ in range(GOOD)]
        (tmp_path / "site.toml").write_text(learn(good, ["good"], spread).text)
        asked = read_requirements(str(tmp_path / "site.toml"))
        told = check(asked, [make_run(*of_gpu(next(factors))) for _ in range(2)])
        smallest, rule = min((one.smallest, at) for at, one in enumerate(told) if one.smallest is not None)
        for _ in range(SLOW_PAIRS):
            slow = [make_run(*of_gpu(next(factors) * (1 + smallest))) for _ in range(2)]
            hits.append(check(asked, slow)[rule].what == FAILED)
    assert 0.82 <= np.mean(hits) <= 0.98


# ---- where two launches must be beyond a bound, one alone may be late -----------------------------------


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
    return {"kind": "health", "path": "host", "counted": ["ecc"], "watched": ["gpu"], "errors": told}


TWO_SIZES = site('8 = "at most 2 us, usually 1.8 us"\n64 = "at most 3 us, usually 2.8 us"')
FULL = WirespeedError("cannot write m.jsonl: No space left on device", ExitCode.CANNOT_WRITE)
CRASHED = failure("host", 8, "crash", "signal 11")
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
        ([launch(2.1), [CRASHED]], ExitCode.WORSE, ExitCode.WORSE),
        ([launch(2.1), [failure("host", None, "crash", "signal 11")]], ExitCode.WORSE, ExitCode.WORSE),
        # A size that crashed once has its figure from the launch after.
        ([[CRASHED, launch(1.8, 3.1)[1]], launch(1.8)], ExitCode.OK, ExitCode.OK),
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
    fake = Measured([*launch(2.1), entry("rma", 8, 1e-6, 0.002)], launch(1.8))
    monkeypatch.setattr("wirespeed.frontend.session.measure", fake.measure)
    text = "launches = 2\n" + TWO_SIZES + site('8 = "at most 2 us"\n64 = "at most 3 us"', "rma")
    check_(text, "--measure", "--device", "cpu", "--out", "m.jsonl")
    assert [(plan.paths, plan.sizes) for plan in fake.plans] == [
        (("host", "rma"), (8, 64)),
        (("host",), (8, 64)),
    ]
