"""Ranges by themselves: their limits, the ranks' clocks, the timeline file and the table of --timing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden
from support.records import as_read, console, end, entry, head, text_of

from wirespeed.errors import WirespeedError
from wirespeed.frontend.background_load import background_plan, parse
from wirespeed.job.messages import ClockPlace, Progress, RankRanges, Row
from wirespeed.job.plan import Plan
from wirespeed.rank.observe.clock_offsets import Offset, ahead_at, offset
from wirespeed.rank.ranges import Ranges
from wirespeed.report.check.learn import learn
from wirespeed.report.compare.matching import match
from wirespeed.report.export.timeline import RangeLog, StepRanges, refuse_archive, trace, write_archive
from wirespeed.report.facts.machine import title
from wirespeed.report.terminal.timing_table import print_timing, seconds_of
from wirespeed.results.model import StepEnd, StepStart
from wirespeed.results.runs import collect

MS = 1_000_000


class Ticking(Ranges):
    """Ranges whose clock goes on by a millisecond at each reading."""

    def __init__(self) -> None:
        super().__init__(keep=True)
        self._ticks = itertools.count(step=MS)

    def clock(self) -> int:
        return next(self._ticks)


def told(
    rank: int, rows: Sequence[Row] = (), dropped: int = 0, totals: dict[str, int] | None = None, **more: Any
) -> RankRanges:
    """As rank 0 tells a rank's ranges, and the front end passes them on."""
    clock = ClockPlace(same=True, ahead=0, uncertainty=0)
    found = RankRanges("host", rank, "n1", tuple(rows), dropped, totals or {}, clock, "", 0)
    return found._replace(**more)


def test_a_run_of_many_batches_keeps_a_bounded_number_of_ranges() -> None:
    """Protects memory and the front end from a million ranges; their time is still in the table."""
    ranges = Ticking()
    ranges.room = 10
    with ranges("path", "host"):
        for _ in range(50):
            with ranges("size", "8 B"):
                for _ in range(100):
                    with ranges("batch"):
                        pass
    rows, dropped, totals = ranges.take()
    kinds = [row[0] for row in rows]
    assert (kinds.count("batch"), kinds.count("size"), kinds.count("path")) == (10, 50, 1)
    assert dropped == 5000 - 10 and totals["batch"] == 5000 * MS
    assert ranges.take() == ([], 0, {})


def test_times_without_those_of_ranges_inside_add_up() -> None:
    """Protects the table from counting a moment twice, and from time that a kind has inside another one."""
    ranges = Ticking()
    with ranges("path"), ranges("size"):
        with ranges("protocol"):
            pass
        with ranges("trial"), ranges("protocol"):
            pass
    rows, _, totals = ranges.take()
    (whole,) = (end - begin for kind, _, begin, end, _ in rows if kind == "path")
    assert sum(totals.values()) == whole
    assert totals["protocol"] == MS and totals["trial"] == 3 * MS


def test_ranges_that_nobody_asked_for_are_nothing() -> None:
    """Protects runs without --timeline and profiler from their cost."""
    ranges = Ranges()
    assert ranges("batch", samples=3) is ranges("check")
    assert ranges.take()[0] == []


@given(
    ahead=st.integers(-(10**15), 10**15),
    ways=st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=1, max_size=20),
)
def test_a_clock_s_offset_is_within_its_uncertainty(ahead: int, ways: list[tuple[int, int]]) -> None:
    """Protects what the file says of clocks: however unequal the two ways of each exchange are."""
    now, exchanges = 10**18, []
    for there, back in ways:
        exchanges.append((now, now + there + ahead, now + there + back))
        now += there + back + 1
    found = offset(exchanges)
    assert abs(found.ahead - ahead) <= found.uncertainty
    assert found.uncertainty <= min(there + back for there, back in ways) // 2 + 1


def test_a_clock_that_drifts_is_followed() -> None:
    """Protects ranges between two comparisons from the first one's offset alone."""
    first, last = Offset(0, 5000, 1), Offset(1_000_000, 7000, 1)
    assert [ahead_at(at, first, last) for at in (5000, 506_000, 1_007_000)] == [5000, 6000, 7000]
    assert ahead_at(-99, first, last) == 5000 and ahead_at(2_000_000, first, last) == 7000
    assert ahead_at(123, first, first) == 5000


def test_the_timeline_has_every_rank_on_the_front_end_s_clock(golden: Golden) -> None:
    """Protects times, lanes and what is said of clocks and of ranges that are missing."""
    rows: list[Row] = [
        ("path", "host", 2 * MS, 5 * MS, {}),
        ("batch", "batch", 3 * MS, 4 * MS, {"samples": 7}),
    ]
    far = ClockPlace(same=False, ahead=9 * MS, uncertainty=1500)
    step = StepRanges("host", 1, MS, 9 * MS)
    step.ranks = [told(0, rows, 3), told(1, rows, 4, host="n2", clock=far, shift=MS)]
    found = trace([step, StepRanges("aware", 1, 10 * MS, 11 * MS)])
    events = "\n".join(json.dumps(one) for one in found.pop("traceEvents"))
    golden("report/timeline", {"events": events, "the rest": json.dumps(found, indent=1)})


def test_the_log_gives_ranges_to_their_job_step() -> None:
    """Protects the second launch's ranges from the first."""
    log = RangeLog()
    for launch in (1, 2):
        assert not log.take(StepStart("host", launch * 100, 0, 2, launch))
        assert log.take(told(0))
        assert log.take(StepEnd(launch * 100 + 50))
    assert not log.take(Progress("host", 8, 0, 1))
    assert [(one.launch, one.begin, one.end, len(one.ranks)) for one in log.steps] == [
        (1, 100, 150, 1),
        (2, 200, 250, 1),
    ]


def test_where_the_time_went_adds_up(golden: Golden) -> None:
    """Protects --timing: the columns' sum is the job step's time, and a path that died has its total."""
    second = 1000 * MS
    totals = {"start": second, "batch": 2 * second, "warm-up": second, "check": second, "size": second}
    rows: list[Row] = [("start", "start", 3 * second, 4 * second, {})]
    step = StepRanges("host", 1, second, 11 * second, [told(0, rows, totals=totals)])
    found = seconds_of(step)
    assert found["total"] == sum(value for name, value in found.items() if name != "total")
    screen = console(100)
    print_timing(screen, [step, StepRanges("aware", 1, 11 * second, 13 * second)])
    # Inside a launcher, ranks have started before their first job step.
    step.begin = 5 * second
    golden("report/timing", {"table": text_of(screen), "inside a launcher": seconds_of(step)})


def test_a_profiled_run_is_called_so_and_judges_nothing() -> None:
    """Protects machines from figures that a profiler has slowed down."""
    for profile, learnt in ((None, True), ("nsys", False)):
        begin = head(["host"])
        begin["plan"] |= {"profile": profile}
        (run,) = collect(as_read([begin, entry("host", 8, 1e-6), end()]))
        assert ("under nsys" in title(run)) != learnt and (
            "[[require]]" in learn([run], ["r"], 0.01).text
        ) == learnt
        (plain,) = collect(as_read([head(["host"]), entry("host", 8, 1e-6), end()]))
        assert bool(match([plain], [run]).pairs) == learnt


def test_what_runs_at_the_same_time_is_not_profiled() -> None:
    """Protects the profiles of --with's measurement from those of its background."""
    plan = Plan(profile="nsys", timeline="t.json", timing=True, background="stream:host:1M")
    found = background_plan(parse("stream:host:1M"), plan, Path("b.jsonl"))
    assert (found.profile, found.timeline, found.timing) == (None, None, False)


def test_an_archive_for_vampir(tmp_path: Path) -> None:
    """Protects OTF2 archives: each rank's ranges, inside each other, on one clock, by OTF2's own reader."""
    otf2 = pytest.importorskip("otf2")
    log, folder = RangeLog(), tmp_path / "run.otf2"
    rows: tuple[Row, ...] = (
        ("size", "8 B", 2 * MS, 9 * MS, {}),
        ("check", "", 3 * MS, 4 * MS, {}),
        # It was read late, and outlasts the one around it.
        ("batch", "", 5 * MS, 10 * MS, {}),
        ("size", "64 KiB", 11 * MS, 12 * MS, {}),
    )
    late = told(1, rows, host="n2", shift=MS)
    log.steps.append(StepRanges("host", 1, 0, 20 * MS, [told(0, rows), late]))
    write_archive(str(folder), log)
    with otf2.reader.open(str(folder / "traces.otf2")) as trace:
        found: dict[str, list[tuple[str, int, str]]] = {}
        for location, event in trace.events:
            kind = type(event).__name__
            found.setdefault(location.name, []).append((kind, event.time // MS, event.region.name))
        assert {node.name for node in trace.definitions.system_tree_nodes} == {"wirespeed", "n1", "n2"}
        assert trace.timer_resolution == 10**9
    expected = [
        ("Enter", 2, "size: 8 B"), ("Enter", 3, "check"), ("Leave", 4, "check"), ("Enter", 5, "batch"),
        ("Leave", 9, "batch"), ("Leave", 9, "size: 8 B"), ("Enter", 11, "size: 64 KiB"),
        ("Leave", 12, "size: 64 KiB"),
    ]  # fmt: skip
    assert found["rank 0"] == expected
    assert found["rank 1"] == [(kind, time + 1, name) for kind, time, name in expected]
    with pytest.raises(WirespeedError, match="this folder exists"):
        refuse_archive(str(folder))
