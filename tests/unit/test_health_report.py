"""New errors and throttling in tables, pages, exports, rules and watched machines."""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from support.fake_run import FakeRun
from support.golden import Golden
from support.records import as_read, console, entry, make_run, text_of

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan
from wirespeed.report.drift.detection import Drift
from wirespeed.report.drift.terminal import Watching, line, print_summary
from wirespeed.results.runs import Run

Record = dict[str, Any]


REPLAYS = "NVLink replay errors"


def error(count: int, place: str = "GPU 0 link 3", what: str = REPLAYS, host: str = "n1") -> Record:
    return {"host": host, "place": place, "what": what, "count": count}


def held(place: str = "GPU 0", reason: str = "its power cap", host: str = "n1", **how: Any) -> Record:
    return {"host": host, "place": place, "reason": reason, **how}


def health(path: str, *errors: Record, throttled: tuple[Record, ...] = (), **more: Any) -> Record:
    counted = [REPLAYS, "PCIe replays"]
    record = {"kind": "health", "run": "r", "step": 0, "path": path, "seconds": 1.0, "reading_s": 0.002}
    record |= {"errors": [*errors], "throttled": [*throttled], "counted": counted, "watched": ["n1 GPU 0"]}
    return {**record, **more}


def measured(*records: Record) -> Run:
    """Two paths at two sizes, and these records."""
    entries = (entry(path, size, 1e-6, 0.002) for path in ("aware", "staged") for size in (8, 1 << 20))
    return make_run(*entries, *records)


RULES = """[[require]]
path = "aware"
new_errors = 0
throttled = false
[require.sizes]
8 = "at most 9 us"
"""


def test_measure_needs_no_size_of_a_rule_that_is_no_size_s(
    fake: FakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("site.toml").write_text(RULES)
    main(["check", "--require", "site.toml", "--measure", "--device", "cpu"])
    assert [plan.sizes for plan in fake.plans] == [(8,)]


def watched(*sick: bool, first: int = 2) -> Drift:
    """A repetition each, with new errors and throttling or not."""
    drift = Drift(first, lasted=125.0)
    for one in sick:
        bad = health("aware", error(3), throttled=(held(seconds=0.25),))
        drift.add(measured(bad if one else health("aware"), health("staged")))
    return drift


def of(*runs: Run) -> Drift:
    drift = Drift(5)
    for run in runs:
        drift.add(run)
    return drift


def slower(by: float) -> Run:
    return make_run(entry("host", 8, 1e-6 * by, 0.002))


def summed(drift: Drift) -> str:
    screen = console(100)
    print_summary(screen, drift)
    return text_of(screen)


class TestWatch:
    def test_new_errors_are_red(self) -> None:
        """Protects the count from being read over, as that of throttled repetitions."""
        shown = io.StringIO()
        screen = Console(file=shown, force_terminal=True, color_system="standard", width=100)
        print_summary(screen, watched(False, True, False, True))
        assert re.search(r"\[31m *6\x1b", shown.getvalue())

    def test_summaries(self, golden: Golden) -> None:
        """Protects what was counted, and what was slow for a while, from being forgotten at the end."""
        lacks = health("aware", counted=[], watched=[], lacks=["PCIe replays: Not Supported"])
        slow = [slower(1.0)] * 5 + [slower(1.5)] * 3
        cases = {
            "new errors and throttling": watched(False, True, False, True),
            "nothing counts them": of(measured(lacks)),
            "nothing was read": of(measured()),
            "slow at the end": of(*slow),
            "slow for a while": of(*slow, *[slower(1.0)] * 3),
            "errors that links corrected": of(measured(health("aware", corrected=[error(2000)]))),
            "nothing measured": of(),
        }
        golden("drift/health", {case: summed(drift) for case, drift in cases.items()})

    def test_a_line_and_a_table_name_the_sick(self) -> None:
        drift = watched(False, False, True)
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
        measure = fake.measure

        def ten_seconds(plan: Plan, observe: Any, bound: object) -> ExitCode:
            now[0] += 10
            return measure(plan, observe)

        def sleep(seconds: float) -> None:
            now[0] += seconds
            slept.append(seconds)

        clock = SimpleNamespace(monotonic=lambda: now[0])
        monkeypatch.setattr("wirespeed.cli.guard.watch.time", clock)
        monkeypatch.setattr("wirespeed.interrupts.sleep", sleep)
        monkeypatch.setattr("wirespeed.frontend.session.measure", ten_seconds)

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

    def test_bad_time(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["watch", "--for", "soon"]) == ExitCode.USAGE
        assert "--for 'soon': write a time below a day" in capsys.readouterr().err and not fake.plans

    @pytest.mark.parametrize(("words", "code"), [([], ExitCode.OK), (["--fail"], ExitCode.WORSE)])
    def test_new_errors_and_the_exit_code(
        self, words: list[str], code: int, fake: FakeRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        measure = fake.measure

        def sick(plan: Plan, observe: Any, bound: object) -> ExitCode:
            done = measure(plan, observe)
            for record in as_read([health("host", error(1))]):
                observe(record)
            return done

        monkeypatch.setattr("wirespeed.frontend.session.measure", sick)
        assert main(["watch", "--every", "0", "--count", "2", "--out", "w.jsonl", *words]) == code

    def test_ctrl_c_leaves_a_summary(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        """Protects what was measured until then."""
        measure = fake.measure

        def later(plan: Plan, observe: Any, bound: object) -> ExitCode:
            if len(fake.plans) == 3:
                raise KeyboardInterrupt
            return measure(plan, observe)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("wirespeed.frontend.session.measure", later)
            assert (
                main(["watch", "--for", "1h", "--device", "cpu", "--out", "w.jsonl"]) == ExitCode.INTERRUPTED
            )
        assert "3 repetitions in 0:00" in capsys.readouterr().out
