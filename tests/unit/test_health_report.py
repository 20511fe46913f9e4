"""New errors and throttling in tables, pages, exports, rules and watched machines."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from support.fake_run import FakeRun
from support.records import as_read, console, entry, full_run, head, make_run, shown, text_of

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan
from wirespeed.report.check.learn import learn
from wirespeed.report.drift.detection import Drift
from wirespeed.report.drift.summary import print_summary, summaries
from wirespeed.report.drift.terminal import Watching, line
from wirespeed.report.export.prometheus import to_prometheus
from wirespeed.report.facts import health as facts
from wirespeed.report.facts.markers import MEANINGS, sign
from wirespeed.results.reading import read
from wirespeed.results.runs import Run, collect

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


class TestNotes:
    def test_errors_in_words(self) -> None:
        run = measured(health("aware", error(12), error(1, "GPU 1", "PCIe replays")), health("staged"))
        assert facts.notes(run) == [
            "aware: new NVLink replay errors: 12 on GPU 0 link 3",
            "aware: new PCIe replays: 1 on GPU 1",
        ]

    def test_many_places_and_hosts(self) -> None:
        """Protects the note's length: 18 links of a bad board are one line, the worst first."""
        links = [error(number, f"GPU 0 link {number}") for number in range(1, 19)]
        run = measured(health("aware", *links, error(40, host="n2")))
        (note,) = facts.notes(run)
        assert note == (
            "aware: new NVLink replay errors: 40 on n2 GPU 0 link 3, 18 on n1 GPU 0 link 18, 153 on 17 more"
        )

    @pytest.mark.parametrize(
        ("how", "says"),
        [
            ({"seconds": 0.31, "after": True}, "for 0.31 s"),
            ({"times": 1}, "1 time"),
            ({"times": 4}, "4 times"),
            ({"before": True}, "when the path began"),
            ({"after": True}, "when the path ended"),
            ({"before": True, "after": True}, "when the path began and when it ended"),
        ],
    )
    def test_throttling_in_words(self, how: Record, says: str) -> None:
        run = measured(health("aware", throttled=(held(**how),)))
        assert facts.notes(run) == [f"aware: the clocks of GPU 0 were held back by its power cap, {says}"]

    def test_what_paths_share_is_one_line(self) -> None:
        both = (held(after=True), held("GPU 1", after=True))
        twice = [health(path, throttled=both) for path in ("aware", "staged")]
        assert facts.notes(measured(*twice)) == [
            "aware, staged: the clocks of GPU 0, GPU 1 were held back by its power cap, when the path ended"
        ]

    def test_a_resumed_file(self) -> None:
        """Protects each run's figures from another run's errors, though the path is the same."""
        later = [{**record, "run": "s"} for record in (head(), entry("aware", 64, 1e-6), health("aware"))]
        records = [head(), entry("aware", 8, 1e-6), health("aware", error(1)), *later]
        first, second = collect(as_read(records))
        entries = [(run, entry) for run in (first, second) for entry in run.of_path("aware")]
        assert [sign(*place) for place in entries] == ["#", ""]


class TestShown:
    def test_a_marked_table(self) -> None:
        text = shown(measured(health("aware", error(12)), health("staged")))
        table = text.split("best:")[0]
        assert table.count("#1.00 us") == 2, "both figures of the path, and none of the other"
        assert MEANINGS[-1] in text and "aware: new NVLink replay errors: 12 on GPU 0 link 3" in text

    def test_the_mark_takes_the_place_of_another(self) -> None:
        """Protects narrow cells: one mark in each."""
        text = shown(make_run(entry("aware", 8, 1e-6, 0.2, stopped="max-time"), health("aware", error(1))))
        assert "#1.00 us" in text and "~#" not in text and "#~" not in text

    def test_a_healthy_run_looks_as_ever(self) -> None:
        assert shown(measured(health("aware"), health("staged"))) == shown(measured())

    def test_many_paths(self) -> None:
        run = full_run(["host", "staged", "aware", "nccl", "gpu", "rma"])
        plain = shown(run, 160)
        (record,) = as_read([health("nccl", error(1))])
        run.add(record)
        assert shown(run, 160).count("#") == plain.count("#") + len(run.of_path("nccl")) + 4

    def test_what_was_wrong_before(self) -> None:
        text = shown(measured(health("aware", notes=["n1 GPU 0: memory rows wait to be remapped"])))
        assert "n1 GPU 0: memory rows wait" in text and "#" not in text

    def test_page_and_markdown(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "r.jsonl"
        records = [head(), entry("aware", 8, 1e-6), entry("aware", 1 << 20, 1e-5), health("aware", error(12))]
        file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        note = "aware: new NVLink replay errors: 12 on GPU 0 link 3"
        for name in ("r.html", "r.md"):
            assert main(["report", str(file), "-o", str(tmp_path / name)]) == ExitCode.OK
            assert note in (tmp_path / name).read_text()
        assert "\\# 1.00 us" in (tmp_path / "r.md").read_text()
        capsys.readouterr()
        assert main(["show", str(file), "--format", "json"]) == ExitCode.OK
        (found,) = (one for one in json.loads(capsys.readouterr().out) if one["kind"] == "health")
        assert found["errors"] == [error(12)]
        assert read(str(file)).health[0].errors[0].count == 12

    def test_prometheus(self) -> None:
        records = health("aware", error(12)), health("staged", throttled=(held(after=True),))
        text = to_prometheus([measured(*records)])
        where = 'pattern="pingpong",path="{}",memory="",bytes="",host="n1",options=""'
        for path, count in (("aware", 12), ("staged", 0)):
            labels = f'{where.format(path)},what="NVLink replay errors"'
            assert f"wirespeed_new_errors{{{labels}}} {count}\n" in text
        assert f"wirespeed_throttled{{{where.format('aware')}}} 0\n" in text
        assert f"wirespeed_throttled{{{where.format('staged')}}} 1\n" in text


NONE_NEW = "no new errors (NVLink replay errors, PCIe replays)"
RULES = """[[require]]
path = "aware"
new_errors = 0
throttled = false
[require.sizes]
8 = "at most 9 us"
"""


class TestRules:
    @pytest.fixture(autouse=True)
    def _here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def check(self, text: str, *records: Record) -> int:
        Path("site.toml").write_text(text)
        lines = [head(), entry("aware", 8, 1e-6, 0.002), *records]
        Path("r.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
        return main(["check", "--require", "site.toml", "r.jsonl", "--all"])

    def test_a_healthy_path_passes(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.check(RULES, health("aware")) == ExitCode.OK
        out = capsys.readouterr().out.splitlines()
        assert out[0] == f"ok       site.toml:3: pingpong aware: new_errors = 0: {NONE_NEW}"
        assert out[1] == "ok       site.toml:4: pingpong aware: throttled = false: no clock was held back"
        assert out[-1] == "all 3 bounds hold"

    def test_errors_and_throttling_fail(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.check(RULES, health("aware", error(2), throttled=(held(seconds=0.5),))) == ExitCode.WORSE
        out = capsys.readouterr().out.splitlines()
        assert out[0].startswith("FAILED   site.toml:3:") and "2 on GPU 0 link 3" in out[0]
        assert out[1].startswith("FAILED   site.toml:4:") and "by its power cap, for 0.50 s" in out[1]
        assert out[-1] == "2 of 3 bounds do not hold"

    def test_each_path_has_its_own_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Protects a healthy path's rule from being told together with a sick one's."""
        more = [entry("staged", 8, 1e-6, 0.002), health("aware"), health("staged", error(2))]
        assert self.check(RULES + RULES.replace("aware", "staged"), *more) == ExitCode.WORSE
        out = capsys.readouterr().out
        assert f"site.toml:3: pingpong aware: new_errors = 0: {NONE_NEW}\n" in out
        assert "site.toml:9: pingpong staged: new_errors = 0: new NVLink replay errors: 2 on GPU 0" in out

    def test_some_errors_may_be_allowed(self) -> None:
        text = RULES.replace("new_errors = 0", "new_errors = 2").replace("throttled = false\n", "")
        assert self.check(text, health("aware", error(2))) == ExitCode.OK
        assert self.check(text, health("aware", error(2), error(1, "GPU 1"))) == ExitCode.WORSE

    def test_what_nobody_counted_is_no_pass(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Protects an acceptance test from a file, or a machine, that says nothing of errors."""
        assert self.check(RULES) == ExitCode.CANNOT_TELL
        assert capsys.readouterr().out.count("cannot tell site.toml") == 2
        assert self.check(RULES, health("aware", counted=[], watched=[])) == ExitCode.CANNOT_TELL
        out = capsys.readouterr().out
        assert "nothing here counts errors" in out
        assert "nothing here tells whether clocks are held back" in out

    def test_no_figure(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.check(RULES.replace("aware", "host"), health("aware")) == ExitCode.WORSE
        assert capsys.readouterr().out.count("MISSING") == 3

    @pytest.mark.parametrize(
        ("rule", "says"),
        [
            ("new_errors = false", "site.toml, line 3: new_errors = false: write the most that may come"),
            ("new_errors = -1", "new_errors = -1: write the most"),
            ('new_errors = "none"', "new_errors = none: write the most"),
            ("throttled = true", "throttled = true: write false"),
            ("throttled = 0", "throttled = 0: write false"),
        ],
    )
    def test_mistakes(self, rule: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
        text = RULES.replace("new_errors = 0\nthrottled = false", rule)
        assert self.check(text, health("aware")) == ExitCode.USAGE
        assert says in capsys.readouterr().err

    def test_learnt_where_it_held(self) -> None:
        """Protects a learnt file from rules that the machine it was learnt from would break."""
        run = measured(health("aware"), health("staged", error(1), throttled=(held(after=True),)))
        staged, aware = learn([run], ["r.jsonl"], 0.01).split("[[require]]")[1:]
        assert "\nnew_errors = 0\nthrottled = false\n[require.sizes]" in aware
        assert "new_errors" not in staged and "throttled" not in staged
        assert "new_errors" not in learn([measured()], ["r.jsonl"], 0.01)
        once = [measured(health("aware")), measured(health("aware", error(1), throttled=(held(times=1),)))]
        assert "new_errors" not in learn(once, ["r"], 0.01) and "throttled" not in learn(once, ["r"], 0.01)
        unknown = learn([measured(health("aware", counted=[], watched=[]))], ["r.jsonl"], 0.01)
        assert "new_errors" not in unknown and "throttled" not in unknown

    def test_measure_needs_no_size_of_it(self, fake: FakeRun) -> None:
        """Protects --measure from a rule that is no size's."""
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


def summed(drift: Drift) -> str:
    screen = console(100)
    print_summary(screen, drift)
    return text_of(screen)


def test_launches_are_added_up() -> None:
    """Protects notes from naming a place once for each launch."""
    one, more = (error(count, place="GPU 0 link 3") for count in (12, 3))
    first = health("aware", one, throttled=(held(seconds=0.25), held("CPU", "heat", times=1)), notes=["old"])
    second = health("aware", more, error(1, "GPU 1"), throttled=(held(seconds=0.5, after=True),))
    run = measured(first, second)
    assert facts.notes(run) == [
        "aware: new NVLink replay errors: 15 on GPU 0 link 3, 1 on GPU 1",
        "aware: the clocks of GPU 0 were held back by its power cap, for 0.75 s",
        "aware: the clocks of CPU were held back by heat, 1 time",
    ]
    assert facts.standing(run) == ["old"]


class TestWatch:
    def test_new_errors_are_red(self) -> None:
        """Protects the count from being read over, as that of throttled repetitions."""
        shown = io.StringIO()
        screen = Console(file=shown, force_terminal=True, color_system="standard", width=100)
        print_summary(screen, watched(False, True, False, True))
        assert re.search(r"\[31m *6\x1b", shown.getvalue())

    def test_summary(self) -> None:
        text = summed(watched(False, True, False, True))
        assert "4 repetitions in 2:05" in text
        assert "new NVLink replay errors: 6 in 2 of 4 repetitions: 6 on GPU 0 link 3" in text
        assert "held back by its power cap in 2 of 4 repetitions, for 0.50 s in all" in text
        rows = [row.split() for row in text.splitlines()]
        assert any(row[:2] + row[-4:] == ["aware", "as", "6", "2", "of", "4"] for row in rows)
        assert any(row[:2] + row[-4:] == ["staged", "as", "0", "0", "of", "4"] for row in rows)

    def test_nothing_counted_is_a_dash(self) -> None:
        drift = Drift(5)
        drift.add(measured(health("aware", counted=[], watched=[], lacks=["PCIe replays: Not Supported"])))
        (aware, staged) = summaries(drift)
        assert (aware.errors, aware.throttled, staged.errors) == (None, None, None)
        text = summed(drift)
        assert "not known before repetition 6" in text and "not counted here: PCIe replays" in text
        assert "nothing on these hosts tells of new errors and throttling" in text
        assert "repetitions\n" not in text and "errors\n" not in text, "no columns of dashes"

    def test_nothing_read(self) -> None:
        drift = Drift(5)
        drift.add(measured())
        assert "not read (--no-evidence)" in summed(drift)

    def test_drift_in_the_summary(self) -> None:
        """Protects what was slow for a while from being forgotten at the end."""
        drift = Drift(5)
        for seed, slower in enumerate([1.0] * 5 + [1.5] * 3):
            drift.add(make_run(entry("host", 8, 1e-6 * slower * (1 + seed / 1e3), 0.002)))
        assert "x 1.5" in summed(drift) and "at 8 B" in summed(drift)
        for seed in range(3):
            drift.add(make_run(entry("host", 8, 1e-6 * (1 + seed / 1e3), 0.002)))
        assert "worse for a while at 8 B" in summed(drift)

    def test_nothing_measured(self) -> None:
        assert summed(Drift(5)) == ""

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

        def ten_seconds(plan: Plan, observe: Any) -> ExitCode:
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
        assert "--for 'soon': write a time up to a day" in capsys.readouterr().err and not fake.plans

    @pytest.mark.parametrize(("words", "code"), [([], ExitCode.OK), (["--fail"], ExitCode.WORSE)])
    def test_new_errors_and_the_exit_code(
        self, words: list[str], code: int, fake: FakeRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        measure = fake.measure

        def sick(plan: Plan, observe: Any) -> ExitCode:
            done = measure(plan, observe)
            for record in as_read([health("host", error(1))]):
                observe(record)
            return done

        monkeypatch.setattr("wirespeed.frontend.session.measure", sick)
        assert main(["watch", "--every", "0", "--count", "2", "--out", "w.jsonl", *words]) == code

    def test_ctrl_c_leaves_a_summary(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        """Protects what was measured until then."""
        measure = fake.measure

        def later(plan: Plan, observe: Any) -> ExitCode:
            if len(fake.plans) == 3:
                raise KeyboardInterrupt
            return measure(plan, observe)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("wirespeed.frontend.session.measure", later)
            assert (
                main(["watch", "--for", "1h", "--device", "cpu", "--out", "w.jsonl"]) == ExitCode.INTERRUPTED
            )
        assert "3 repetitions in 0:00" in capsys.readouterr().out
