"""wirespeed watch: repetitions, what it calls drift, and what it says on a terminal and elsewhere."""

from __future__ import annotations

import io
import json
import math
import random
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from rich.console import Console
from support.fake_run import FakeRun, one_line
from support.records import console, entry, failure, make_run, text_of

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan
from wirespeed.report.cannot_tell import NO_REFERENCE, NOT_MEASURED, TOO_EARLY, WAITED
from wirespeed.report.compare.verdicts import Verdicts
from wirespeed.report.drift import detection
from wirespeed.report.drift.detection import Drift, drifted, word
from wirespeed.report.drift.terminal import Watching, line, print_summary
from wirespeed.results.model import Entry, Event
from wirespeed.results.reading import read
from wirespeed.results.runs import Run

Records = Iterable[dict[str, Any]]
SIZES = (8, 64, 1024, 1 << 16, 1 << 24)


def repetition(slower: float = 1.0, seed: int = 0, spread: float = 0.005, more: Records = ()) -> Run:
    dice = random.Random(seed)
    times = {size: (1e-6 + size * 1e-10) * slower * (1 + dice.gauss(0, spread)) for size in SIZES}
    return make_run(*(entry("host", size, seconds, 0.002) for size, seconds in times.items()), *more)


def watched(*slower: float, first: int = 5) -> Drift:
    drift = Drift(first)
    for number, factor in enumerate(slower):
        drift.add(repetition(factor, number))
    return drift


class TestDrift:
    def test_nothing_is_said_before_it_is_known_what_is_usual(self) -> None:
        assert watched(*[1.0] * 5).verdicts.figures == []
        assert len(watched(*[1.0] * 6).verdicts.figures) == len(SIZES)

    def test_a_quiet_machine_stays_quiet(self) -> None:
        """Protects from alarms at night: 100 looks at five figures, launches that differ by 0.5 %."""
        drift = watched(*[1.0] * 105)
        assert drift.ever == set()

    def test_five_percent_are_seen_within_three_repetitions(self) -> None:
        drift = watched(*[1.0] * 8, *[1.05] * 3)
        assert {(one.what, one.key.bytes) for one in drifted(drift.verdicts)} == {
            ("worse", size) for size in SIZES
        }
        assert {key.bytes for key in drift.ever} == {0, *SIZES}, "0: the path as a whole"

    def test_late_now_and_then(self) -> None:
        """One repetition in four takes twice the time: medians of five never show it."""
        dice = random.Random(5)
        drift = watched(*(2.0 if dice.random() < 0.25 else 1.0 for _ in range(45)))
        ((path, (count, most)),) = drift.late.items()
        assert path.path == "host" and 3 <= count <= 18 and most == pytest.approx(2, rel=0.05)
        assert drift.harmed and "late now and then: host" in line(drift, drift.verdicts)
        screen = console(100)
        print_summary(screen, drift)
        assert f"pingpong host is late now and then: in {count} of 40" in text_of(screen)

    @pytest.mark.parametrize("late", [[], [20], [20, 30]])
    def test_a_late_repetition_alone_is_an_accident(self, late: list[int]) -> None:
        drift = watched(*(2.0 if at in late else 1.0 for at in range(45)))
        assert not drift.late and not drift.harmed

    @pytest.mark.parametrize("phi", [0.5, 0.95])
    def test_noise_that_lasts_is_no_drift(self, phi: float) -> None:
        """Steady noise of 1 % whose neighbours are alike: 60 looks at each of eight watches."""
        alarms = 0
        for seed in range(8):
            dice, level, levels = random.Random(seed), 0.0, list[float]()
            level = dice.gauss(0, 0.01)
            for _ in range(65):
                level = phi * level + dice.gauss(0, 0.01 * math.sqrt(1 - phi**2))
                levels.append(math.exp(level))
            alarms += watched(*levels).harmed
        assert alarms <= 1

    def test_later_looks_are_wrong_less_often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects long watches: looks without end would name any machine at some time."""
        levels = list[float]()

        def asked(*_: object, false_alarms: float, **__: object) -> Verdicts:
            levels.append(false_alarms)
            return Verdicts([], [])

        monkeypatch.setattr(detection, "verdicts", asked)
        run = repetition()
        for many in (6, 55, 505):
            assert Drift(runs=[run] * many).verdicts.figures == []
        assert levels == [0.0, *[0.01 / 2] * 2, *[pytest.approx(0.01 / 100 / 2)] * 2]

    def test_first_repetitions_that_agree_by_chance(self) -> None:
        """Protects from alarms where three of ten repetitions are late, and none of the first five was."""
        dice = random.Random(3)
        drift = watched(*[1.0] * 5, *(1.05 if dice.random() < 0.3 else 1.0 for _ in range(45)))
        assert drift.ever == set()
        for seed in range(3):
            found = drift.add(repetition(1.15, seed))
        assert "worse" in {path.what for path in found.groups}

    def test_a_path_that_is_not_measured_any_more(self) -> None:
        """Protects from exit code 0 when a path is gone without a word."""
        drift = watched(*[1.0] * 8)
        assert not drift.unjudged
        for _ in range(3):
            drift.add(make_run(entry("nccl", 8, 1e-6, 0.002)))
        assert [(one.what, one.reason) for one in drift.unjudged] == [
            ("pingpong host at 8 B to 16 MiB", NOT_MEASURED),
            ("pingpong nccl at 8 B", NO_REFERENCE),
        ]

    def test_a_path_that_came_late(self) -> None:
        """Protects from "as before" of a path that has no first repetitions, and of one that went again."""
        drift = watched(*[1.0] * 5)
        for seed in range(5):
            late = (entry("nccl", size, 1e-6, 0.002) for size in SIZES)
            drift.add(repetition(seed=seed, more=late))
        here = [("pingpong nccl at 8 B to 16 MiB", NO_REFERENCE)]
        assert [(one.what, one.reason) for one in drift.unjudged] == here
        for seed in range(6):
            drift.add(repetition(seed=seed))
        gone = [("pingpong nccl at 8 B to 16 MiB", NOT_MEASURED)]
        assert [(one.what, one.reason) for one in drift.unjudged] == gone
        screen = console(100)
        print_summary(screen, drift)
        assert "cannot tell at 8 B to 16 MiB" in " ".join(text_of(screen).split())

    def test_a_late_path_that_fails(self) -> None:
        """Protects the reason: it is a failure, and not that nothing is known."""
        drift = watched(*[1.0] * 5)
        for late in entry("nccl", 8, 1e-6, 0.002), failure("nccl", 8, "crash", "signal 11"):
            for seed in range(3):
                drift.add(repetition(seed=seed, more=[late]))
        assert [one.reason.why for one in drift.unjudged] == ["it gives no figure any more (signal 11)"]

    def test_what_could_not_be_told_for_long_is_remembered(self) -> None:
        """Protects the hours in which other processes hid everything, before the latest, calm repetitions."""
        cores = {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}
        busy = make_run(*(entry("host", size, 1e-6 + size * 1e-10, 0.002, cores=cores) for size in SIZES))
        drift = watched(*[1.0] * 8)
        for _ in range(2):
            drift.add(busy)
        for seed in range(5):
            drift.add(repetition(seed=seed))
        assert not drift.unjudged, "two are too few to miss a _change_of"
        for _ in range(9):
            drift.add(busy)
        for seed in range(5):
            drift.add(repetition(seed=seed))
        assert [(one.what, one.reason) for one in drift.unjudged] == [
            ("pingpong host at 8 B to 16 MiB for a while", WAITED)
        ]

    def test_what_was_slow_for_a_while_is_remembered(self) -> None:
        drift = watched(*[1.0] * 5, *[1.2] * 3, *[1.0] * 4)
        assert drifted(drift.verdicts) == [] and drift.ever

    @pytest.mark.parametrize("from_the_start", [False, True])
    def test_what_ranks_without_cpus_measured_is_not_as_before(self, from_the_start: bool) -> None:
        """Protects from "as before" where other processes doubled every figure."""
        cores = {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}
        drift = watched(*[1.0] * (0 if from_the_start else 5))
        while len(drift.runs) < 10:
            slow = (entry("host", size, 2 * (1e-6 + size * 1e-10), 0.002, cores=cores) for size in SIZES)
            found = drift.add(make_run(*slow))
        assert not drift.harmed and {one.what for one in found.figures} == {"unsure"}
        assert [one.reason for one in drift.unjudged] == [WAITED]
        assert "as in the first" not in line(drift, found) and "cannot tell" in line(drift, found)
        screen = console(100)
        print_summary(screen, drift)
        text = " ".join(text_of(screen).split())
        assert "as before" not in text and "host at 8 B to 16 MiB: ranks waited for CPUs" in text

    def test_nothing_is_told_before_there_is_anything_to_compare(self) -> None:
        assert [one.reason for one in watched(*[1.0] * 5).unjudged] == [TOO_EARLY]
        assert watched(*[1.0] * 10).unjudged == []

    def test_a_noisy_size_is_no_alarm(self) -> None:
        """Protects from exit code 8 for one size of a steady path, and from "as before" of 1.5 times."""
        drift = Drift(5)
        for seed, factor in enumerate((1.0, 1.5, 0.7, 1.2, 0.8, 1.8, 1.2, 2.0)):
            found = drift.add(repetition(seed=seed, more=[entry("host", 8, factor * 1e-6, 0.002)]))
        assert not drift.unjudged and line(drift, found).endswith("5 figures, as in the first 5")
        noisy = next(figure for figure in found.figures if figure.key.bytes == 8)
        assert word(noisy) == "cannot tell" and noisy.style == "dim"
        screen = console(100)
        print_summary(screen, drift)
        assert "host as before; would show " in " ".join(text_of(screen).split())

    @pytest.mark.parametrize(
        ("latest", "what", "in_line", "in_summary"),
        [
            (1.0, "not_worse", "as in the first 5", "as before"),
            (0.6, "not_worse", "not slower than in", "not slower"),
        ],
    )
    def test_what_may_be_faster_is_not_as_before(
        self, latest: float, what: str, in_line: str, in_summary: str
    ) -> None:
        """Protects from "as before" of half the time, where one repetition only excludes a slowdown."""
        drift = watched(*([1.0] * 5 if latest == 1 else [1.0, 1.08, 0.95, 1.05, 0.97]))
        found = drift.add(repetition(latest, 7))
        assert {path.what for path in found.groups} == {what} and f"5 figures, {in_line}" in line(
            drift, found
        )
        screen = console(100)
        print_summary(screen, drift)
        assert f"host {in_summary}; would miss even 10 times as slow" in " ".join(text_of(screen).split())

    def test_a_figure_that_is_gone(self) -> None:
        drift = watched(*[1.0] * 5)
        for _ in range(3):
            run = make_run(failure("host", 8, "crash", "signal 11"), *(
                entry("host", size, 1e-6 + size * 1e-10, 0.002) for size in SIZES[1:]
            ))  # fmt: skip
            run.head = structs.replace(run.head, plan=replace(run.head.plan, sizes=SIZES))
            drift.add(run)
        assert [(one.what, one.key.bytes) for one in drifted(drift.verdicts)] == [("lost", 8)]
        assert "host 8 B no figure" in line(drift, drift.verdicts)


class TestPrinting:
    def test_a_line_a_repetition_without_a_terminal(self) -> None:
        stream = io.StringIO()
        drift = watched(*[1.0] * 5)
        with Watching(Console(file=stream, width=100), drift) as watching:
            watching.measured(drift.verdicts)
            for seed in (11, 12, 13):
                watching.measured(drift.add(repetition(1.5, seed)))
        lines = [row.split(maxsplit=1)[1] for row in stream.getvalue().splitlines() if row[0] != " "]
        assert lines[0] == "repetition 5: 5 figures; the first 5 repetitions show what is usual"
        assert lines[-1].startswith("repetition 8: 5 figures; time against the first 5: host ")
        assert "x 1.5" in lines[-1] and "1 more" in stream.getvalue() and "\x1b" not in stream.getvalue()

    def test_a_table_on_a_terminal(self) -> None:
        screen = Console(file=io.StringIO(), width=120, force_terminal=True, legacy_windows=False)
        drift = watched(*[1.0] * 6, 1.5, 1.5)
        with Watching(screen, drift, clock=lambda: 100.0) as watching:
            watching.waits(142.0)
            watching.measured(drift.verdicts)
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text_of(screen))
        assert "8 repetitions; next in 0:42; Ctrl-C ends it" in text
        assert "▁" in text and "16 MiB" in text and "first 5" in text


class TestCommand:
    def test_repetitions_are_launches_in_one_file(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = "watch --every 0 --count 7 --sizes 8,64 --paths host --device cpu --out w.jsonl --fail"
        assert main(words.split()) == ExitCode.OK
        printed = capsys.readouterr()
        assert printed.out.count(" repetition ") == 7 and printed.err == "results: w.jsonl\n"
        assert len(fake.plans) == 7 and all(plan.sizes == (8, 64) for plan in fake.plans)
        assert len({plan.out for plan in fake.plans} | {"w.jsonl"}) == 8
        assert not any(Path(str(plan.out)).parent.exists() for plan in fake.plans)
        results = read("w.jsonl")
        assert [len(results.runs), len(results.entries), len(results.ends)] == [7, 14, 7]
        assert results.warnings == []

    def test_drift_and_its_exit_code(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        measure = fake.measure

        def slower(plan: Plan, observe: Any, bound: object) -> ExitCode:
            def later(event: Event) -> None:
                if isinstance(event, Entry) and len(fake.plans) > 5:
                    event = event.with_time(2 * event.seconds, 2 * event.low, 2 * event.high, event.precision)
                observe(event)

            return measure(plan, later)

        monkeypatch.setattr("wirespeed.frontend.session.measure", slower)
        words = ["watch", "--every", "0", "--count", "8", "--out"]
        assert main([*words, "a.jsonl"]) == ExitCode.OK
        assert "time against the first 5: host" in capsys.readouterr().out
        fake.plans.clear()
        assert main([*words, "b.jsonl", "--fail"]) == ExitCode.WORSE

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            ("--count 5", ExitCode.OK),
            ("--count 5 --fail", ExitCode.CANNOT_TELL),
            ("--count 5 --fail --strict", ExitCode.WORSE),
        ],
    )
    def test_a_watch_that_ended_too_early(self, words: str, code: ExitCode, fake: FakeRun) -> None:
        assert (
            main([*["watch", "--every", "0", "--paths", "host", "--out", "w.jsonl"], *words.split()]) == code
        )

    def test_ctrl_c_ends_it_in_order(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        fake.code = ExitCode.INTERRUPTED
        assert main(["watch", "--out", "w.jsonl"]) == ExitCode.INTERRUPTED
        assert len(fake.plans) == 1 and "results: w.jsonl" in capsys.readouterr().err
        kinds = [json.loads(row)["kind"] for row in Path("w.jsonl").read_text().splitlines()]
        assert (kinds[0], kinds[-1]) == ("run", "end")

    def test_the_defaults(self, fake: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[float] = []
        monkeypatch.setattr("wirespeed.interrupts.sleep", slept.append)
        assert main(["watch", "--count", "3", "--out", "w.jsonl"]) == ExitCode.OK
        assert fake.plan.sizes == (8, 1 << 16, 1 << 24) and fake.plan.pattern == "pingpong"
        assert len(slept) == 2 and all(55 < seconds <= 60 for seconds in slept)

    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            ("--count 0", ExitCode.USAGE, "--count '0': write a whole number from 1"),
            ("--first 0", ExitCode.USAGE, "--first '0'"),
            ("--resume --out f", ExitCode.USAGE, "watch begins anew"),
            ("--out exists", ExitCode.CANNOT_WRITE, "exists exists"),
        ],
    )
    def test_one_line(
        self, words: str, code: int, says: str, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("exists").write_text("mine")
        assert main(["watch", *words.split()]) == code
        assert says in one_line(capsys.readouterr().err) and not fake.plans
        assert Path("exists").read_text() == "mine"
