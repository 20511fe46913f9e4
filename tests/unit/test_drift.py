"""wirespeed watch: repetitions, drift, new errors and throttling, and what it says of them."""

from __future__ import annotations

import io
import json
import math
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs
from rich.console import Console
from support.fake_run import FakeRun
from support.golden import Golden
from support.records import console, entry, failure, make_run, text_of

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan
from wirespeed.report.compare.verdicts import Verdicts
from wirespeed.report.drift import detection
from wirespeed.report.drift.detection import Drift
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


def figures(slower: float = 1.0, *sizes: int, **more: Any) -> list[dict[str, Any]]:
    return [entry("host", size, slower * (1e-6 + size * 1e-10), 0.002, **more) for size in sizes or SIZES]


BUSY: dict[str, Any] = {"cores": {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}}
"""Ranks that waited for CPUs."""


def goes_on(drift: Drift, *runs: Run) -> Drift:
    for run in runs:
        drift.add(run)
    return drift


def with_nccl(*records: dict[str, Any]) -> list[Run]:
    return [repetition(seed=seed, more=records) for seed in range(5)]


def without_a_figure() -> Run:
    run = make_run(failure("host", 8, "crash", "signal 11"), *figures(1.0, *SIZES[1:]))
    run.head = structs.replace(run.head, plan=replace(run.head.plan, sizes=SIZES))
    return run


def chance(seed: int, share: float, slower: float) -> list[float]:
    dice = random.Random(seed)
    return [slower if dice.random() < share else 1.0 for _ in range(45)]


NOISY = (1.0, 1.5, 0.7, 1.2, 0.8, 1.8, 1.2, 2.0)
NCCL = [entry("nccl", size, 1e-6, 0.002) for size in SIZES]
CASES: dict[str, Callable[[], Drift]] = {
    "too early to say anything": lambda: watched(*[1.0] * 5),
    "one more": lambda: watched(*[1.0] * 6),
    "a quiet machine, for a night": lambda: watched(*[1.0] * 105),
    "5 % slower, three times": lambda: watched(*[1.0] * 8, *[1.05] * 3),
    "slow for a while": lambda: watched(*[1.0] * 5, *[1.2] * 3, *[1.0] * 4),
    "one in four takes twice the time: medians of five never show it": lambda: watched(*chance(5, 0.25, 2.0)),
    "a late repetition alone is an accident": lambda: watched(*(1.0 + (at == 20) for at in range(45))),
    "and so are two": lambda: watched(*(1.0 + (at in (20, 30)) for at in range(45))),
    "three of ten are late, by chance none of the first": lambda: watched(*[1.0] * 5, *chance(3, 0.3, 1.05)),
    "the same, and then all of three": lambda: goes_on(
        watched(*[1.0] * 5, *chance(3, 0.3, 1.05)), *(repetition(1.15, seed) for seed in range(3))
    ),
    "a path is not measured any more": lambda: goes_on(
        watched(*[1.0] * 8), *[make_run(entry("nccl", 8, 1e-6, 0.002))] * 3
    ),
    "a path came late": lambda: goes_on(watched(*[1.0] * 5), *with_nccl(*NCCL)),
    "it came late and went again": lambda: goes_on(watched(*[1.0] * 5), *with_nccl(*NCCL), *with_nccl()),
    "it came late and fails": lambda: goes_on(
        watched(*[1.0] * 5), *with_nccl(NCCL[0])[:3], *with_nccl(failure("nccl", 8, "crash", "signal 11"))[:3]
    ),
    "other processes hid two: too few to miss a change": lambda: goes_on(
        watched(*[1.0] * 8), *[make_run(*figures(**BUSY))] * 2, *with_nccl()
    ),
    "they hid nine, before the latest, calm ones": lambda: goes_on(
        watched(*[1.0] * 8), *[make_run(*figures(**BUSY))] * 9, *with_nccl()
    ),
    "they doubled all figures, after the first": lambda: goes_on(
        watched(*[1.0] * 5), *[make_run(*figures(2.0, **BUSY))] * 5
    ),
    "they doubled all figures, from the first": lambda: goes_on(
        Drift(5), *[make_run(*figures(2.0, **BUSY))] * 10
    ),
    "a noisy size of a steady path": lambda: goes_on(
        Drift(5),
        *(
            repetition(seed=seed, more=[entry("host", 8, factor * 1e-6, 0.002)])
            for seed, factor in enumerate(NOISY)
        ),
    ),
    "as fast as before": lambda: goes_on(watched(*[1.0] * 5), repetition(1.0, 7)),
    "it may be faster: half the time is not as before": lambda: goes_on(
        watched(1.0, 1.08, 0.95, 1.05, 0.97), repetition(0.6, 7)
    ),
    "a figure is gone": lambda: goes_on(watched(*[1.0] * 5), *[without_a_figure()] * 3),
}


def summed(drift: Drift) -> str:
    screen = console(100)
    print_summary(screen, drift)
    return text_of(screen)


class TestDrift:
    def test_what_is_said(self, golden: Golden) -> None:
        """Protects from alarms by noise and from "as before" where nobody knows: line, summary, exit code."""
        said = {}
        for case, make in CASES.items():
            drift = make()
            at_the_end = line(drift, drift.verdicts).partition(" ")[2]
            ends = f"{at_the_end}\nharmed: {drift.harmed}, unjudged: {bool(drift.unjudged)}"
            said[case] = f"{summed(drift)}{ends}"
        golden("drift/watches", said)

    @pytest.mark.slow(after=1)
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

    def test_drift_and_its_exit_code(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        def slower(event: Event) -> Event:
            if isinstance(event, Entry) and len(fake.plans) > 5:
                return event.with_time(2 * event.seconds, 2 * event.low, 2 * event.high, event.precision)
            return event

        fake.changed = slower
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


REPLAYS = "NVLink replay errors"


def error(count: int) -> dict[str, Any]:
    return {"host": "n1", "place": "GPU 0 link 3", "what": REPLAYS, "count": count}


def health(path: str, *errors: dict[str, Any], **more: Any) -> dict[str, Any]:
    known = {"counted": [REPLAYS, "PCIe replays"], "watched": ["n1 GPU 0"], "seconds": 1.0}
    return {"kind": "health", "run": "r", "step": 0, "path": path, "errors": [*errors], **known, **more}


def measured(*records: dict[str, Any]) -> Run:
    """Two paths at two sizes, and these records."""
    entries = (entry(path, size, 1e-6, 0.002) for path in ("aware", "staged") for size in (8, 1 << 20))
    return make_run(*entries, *records)


def sick(*bad: bool) -> Drift:
    """A repetition each, with new errors and throttling or not."""
    held = {"host": "n1", "place": "GPU 0", "reason": "its power cap", "seconds": 0.25}
    ill, well = health("aware", error(3), throttled=[held]), health("aware")
    return goes_on(Drift(2, lasted=125.0), *(measured(ill if one else well, health("staged")) for one in bad))


def slow_by(by: float) -> Run:
    return make_run(entry("host", 8, 1e-6 * by, 0.002))


class TestHealth:
    def test_new_errors_are_red(self) -> None:
        """Protects the count from being read over, as that of throttled repetitions."""
        shown = io.StringIO()
        screen = Console(file=shown, force_terminal=True, color_system="standard", width=100)
        print_summary(screen, sick(False, True, False, True))
        assert re.search(r"\[31m *6\x1b", shown.getvalue())

    def test_summaries(self, golden: Golden) -> None:
        """Protects what was counted, and what was slow for a while, from being forgotten at the end."""
        lacks = health("aware", counted=[], watched=[], lacks=["PCIe replays: Not Supported"])
        slow = [slow_by(1.0)] * 5 + [slow_by(1.5)] * 3
        cases = {
            "new errors and throttling": sick(False, True, False, True),
            "nothing counts them": goes_on(Drift(5), measured(lacks)),
            "nothing was read": goes_on(Drift(5), measured()),
            "slow at the end": goes_on(Drift(5), *slow),
            "slow for a while": goes_on(Drift(5), *slow, *[slow_by(1.0)] * 3),
            "errors that links corrected": goes_on(
                Drift(5), measured(health("aware", corrected=[error(2000)]))
            ),
            "nothing measured": Drift(5),
        }
        golden("drift/health", {case: summed(drift) for case, drift in cases.items()})

    def test_a_line_and_a_table_name_the_sick(self) -> None:
        drift = sick(False, False, True)
        assert ", throttled or with new errors: aware, as in the first 2" in line(drift, drift.verdicts)
        screen = Console(file=io.StringIO(), width=120, force_terminal=True, legacy_windows=False)
        with Watching(screen, drift, lambda: 100.0, over=190.0) as watching:
            watching.measured(drift.verdicts)
        assert "3 repetitions; 1 throttled or with new errors; 1:30 left" in text_of(screen)

    def test_for_a_time(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Protects the soak: without pauses until the time is over, at least once, then a summary."""
        now = [100.0]
        slept: list[float] = []

        def ten_seconds(plan: Plan) -> None:
            now[0] += 10

        def sleep(seconds: float) -> None:
            now[0] += seconds
            slept.append(seconds)

        clock = SimpleNamespace(monotonic=lambda: now[0])
        monkeypatch.setattr("wirespeed.cli.guard.watch.time", clock)
        monkeypatch.setattr("wirespeed.interrupts.sleep", sleep)
        fake.begins = ten_seconds

        def repetitions(words: str) -> tuple[int, float]:
            fake.plans.clear()
            slept.clear()
            assert main(f"watch {words} --device cpu --out {len(words)}.jsonl".split()) == ExitCode.OK
            return len(fake.plans), sum(slept)

        assert repetitions("--for 25s") == (3, 0)
        assert "3 repetitions in 0:30" in capsys.readouterr().out
        assert repetitions("--for 0") == (1, 0)
        assert repetitions("--for 2m --every 1m") == (2, 50), "no pause at the end"
        assert repetitions("--for 1h --every 30s --count 4") == (4, 60)

    @pytest.mark.parametrize(("words", "code"), [([], ExitCode.OK), (["--fail"], ExitCode.WORSE)])
    def test_new_errors_and_the_exit_code(self, words: list[str], code: int, fake: FakeRun) -> None:
        fake.more = [health("host", error(1))]
        assert main(["watch", "--every", "0", "--count", "2", "--out", "w.jsonl", *words]) == code

    def test_ctrl_c_leaves_a_summary(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        """Protects what was measured until then."""

        def begins(plan: Plan) -> None:
            if len(fake.plans) == 3:
                raise KeyboardInterrupt

        fake.begins = begins
        assert main(["watch", "--for", "1h", "--device", "cpu", "--out", "w.jsonl"]) == ExitCode.INTERRUPTED
        assert "3 repetitions in 0:00" in capsys.readouterr().out
