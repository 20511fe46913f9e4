"""Tables, progress, the tutorial's lines, published curves: what a person reads, checked by its figures."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from wirespeed.errors import WirespeedError
from wirespeed.paths import all_paths
from wirespeed.report import progress, reference, table, terminal, tutorial, words
from wirespeed.report.formats import FORMATS
from wirespeed.report.next_steps import next_steps
from wirespeed.report.paths import Row, print_paths
from wirespeed.report.records import Entry, Failure, Run, collect, joined

SIZES = tuple(1 << power for power in range(31))
MEMORY = {path.name: path.memory for path in all_paths()}
SUMMIT = Path(reference.__file__).parents[1] / "systems" / "summit_pingpong.csv"


def entry(path: str, size: int, seconds: float, share: float = 0.004, **more: Any) -> dict[str, Any]:
    return {
        "kind": "entry",
        "run": "r",
        "path": path,
        "memory": MEMORY.get(path, "device"),
        "bytes": size,
        "definition": "one way: half of a round trip",
        "seconds": {
            "median": seconds,
            "low": seconds * (1 - share),
            "high": seconds * (1 + share),
            "min": seconds * 0.9,
            "p99": seconds * 2,
        },
        "precision": share,
        "samples": 120,
        "stopped": "precision",
        **more,
    }


def failure(path: str, size: int | None, what: str, text: str, remedy: str | None = None) -> dict[str, Any]:
    return {
        "kind": "failure",
        "run": "r",
        "path": path,
        "bytes": size,
        "what": what,
        "text": text,
        "remedy": remedy,
    }


def head() -> dict[str, Any]:
    stopping = {"precision": 0.01, "max_time": 0.4, "loops": None, "warmup": None}
    return {
        "kind": "run",
        "run": "r",
        "started": "2026-01-01T12:00:00+00:00",
        "plan": {"pattern": "pingpong", "stopping": stopping},
        "environment": {"host": "n1"},
    }


def end(status: str = "complete") -> dict[str, Any]:
    return {"kind": "end", "run": "r", "status": status}


def make_run(*records: dict[str, Any]) -> Run:
    return joined(collect([head(), *records, end()]))


def full_run(paths: Sequence[str], **more: Any) -> Run:
    """Every path at every size; the times span six orders of magnitude."""
    return make_run(
        *(
            entry(path, size, 3e-7 * (number + 1) + size / (3e9 * (number + 1)), **more)
            for number, path in enumerate(paths)
            for size in SIZES
        )
    )


def console(width: int, **more: Any) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, **more)


def shown(run: Run, width: int = 100) -> str:
    screen = console(width)
    terminal.print_run(screen, run)
    return text_of(screen)


def text_of(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


class TestWords:
    @pytest.mark.parametrize(
        ("size", "seconds", "gigabytes"),
        [
            (8, 1e-6, "0.0080"),
            (1, 1e-6, "0.0010"),
            (1, 1e-5, "<0.001"),
            (10**9, 1, "1.00"),
            (1 << 30, 1, "1.07"),
            (1 << 30, 1 / 366, "393"),
            (9_996, 1e-6, "10.0"),
            (99_960, 1e-6, "100"),
            (0, 1, "0.0000"),
        ],
    )
    def test_gigabytes_are_1e9_bytes(self, size: int, seconds: float, gigabytes: str) -> None:
        assert words.rate(size / seconds) == gigabytes

    @given(st.floats(1e6, 1e13))
    def test_a_rate_keeps_its_value(self, rate: float) -> None:
        written = float(words.rate(rate)) * 1e9
        assert abs(written - rate) <= max(rate * 0.0051, 0.5e5)

    @pytest.mark.parametrize(
        ("share", "text"),
        [(0.004, "±0.4 %"), (0.0, "±0.0 %"), (0.0001, "±<0.1 %"), (0.0995, "±10 %"), (0.5, "±50 %")],
    )
    def test_interval(self, share: float, text: str) -> None:
        assert words.spread(share) == text

    @pytest.mark.parametrize(
        ("seconds", "text"), [(0, "0:00"), (67.4, "1:07"), (3723, "1:02:03"), (-1, "0:00")]
    )
    def test_duration(self, seconds: float, text: str) -> None:
        assert words.duration(seconds) == text

    def test_a_failure_is_one_line_and_says_each_thing_once(self) -> None:
        made = Failure("aware", None, "unavailable", "aware: not available: it\ncrashed", "use ucx")
        assert words.failure_text(made) == "not available: it crashed; use ucx"
        assert words.failure_head(Failure("aware", 65536, "hang", "", None)) == "aware at 64 KiB"
        assert words.failure_text(Failure("aware", 65536, "hang", "", None)) == "hung"


class TestTable:
    @pytest.mark.parametrize(
        "paths",
        [
            ("host",),
            ("host", "staged"),
            ("host", "staged", "aware"),
            ("host", "host-pinned", "staged", "staged-pinned", "aware", "aware-managed"),
        ],
        ids=len,
    )
    def test_no_row_is_ever_broken(self, paths: tuple[str, ...]) -> None:
        run = full_run(paths, stopped="max-time")
        for width in (40, 41, 50, 60, 65, 72, 80, 90, 100, 110, 120, 140, 160, 200):
            lines = shown(run, width).splitlines()
            assert max(map(len, lines)) <= width
            rows = [line for line in lines if re.match(r" *\d+ ([KMG]i)?B  +~?\d", line)]
            heads = [line for line in lines if re.match(r" *size ", line)]
            assert len(rows) == len(SIZES) * len(heads)
            assert sum(line.count("one way") for line in heads) == len(paths)
            for row in rows:
                times = len(re.findall(r"~\d[\d.]* [um]?s", row))
                assert times == heads[rows.index(row) // len(SIZES)].count("one way")

    def test_figures_stand_where_they_belong(self) -> None:
        text = shown(
            make_run(entry("host", 8, 1e-6), entry("aware", 8, 8.52e-6), entry("aware", 65536, 8.52e-6))
        )
        rows = [line.split() for line in text.splitlines() if re.match(r" *\d+ (Ki)?B ", line)]
        assert " ".join(rows[0]) == "8 B 1.00 us ±0.4 % 0.0080 8.52 us ±0.4 % <0.001"
        assert " ".join(rows[1]) == "64 KiB - - - 8.52 us ±0.4 % 7.69"

    def test_a_narrow_terminal_loses_columns_not_paths(self) -> None:
        run = full_run(("host", "staged", "aware"))
        assert shown(run, 110).count("one way   95 %") == 3
        assert "±" not in shown(run, 80).split("one way: ")[0]
        assert shown(run, 50).count("   size    one way") == 3

    def test_unreached_precision_is_marked_and_explained(self) -> None:
        run = make_run(entry("host", 8, 1e-6), entry("host", 16, 1e-6, 0.042, stopped="max-time"))
        text = shown(run)
        assert re.search(r"16 B +~1\.00 us ±4\.2 %", text)
        assert "~ not within ±1 % when --max-time (0.4 s) was over; there at most ±4.2 %" in text
        assert "~" not in shown(make_run(entry("host", 8, 1e-6)))

    def test_definitions_stand_below(self) -> None:
        text = shown(make_run(entry("host", 8, 1e-6, samples=100), entry("host", 16, 1e-6)))
        assert "one way: half of a round trip, median of 100 to 120 samples a size; GB = 1e9 bytes" in text
        assert "95 % = half width of the 95 % interval of the median, within ±1 % everywhere" in text

    def test_fixed_counts_claim_no_precision(self) -> None:
        text = shown(make_run(entry("host", 8, 1e-6, 0.3, stopped="fixed")))
        assert "at most ±30 %; fixed counts of rounds" in text
        assert "within" not in text

    def test_the_fastest_is_named_among_paths_of_alike_memory_only(self) -> None:
        run = make_run(entry("host", 8, 1e-7), entry("staged", 8, 3e-5), entry("aware", 8, 8e-6))
        assert [e.path for e in run.fastest(8, "GPU")] == ["aware"]
        assert run.contested == ["GPU"]
        assert re.search(r"fastest\s+.*GPU data", shown(run, 120))
        assert "fastest" not in shown(make_run(entry("host", 8, 1e-7), entry("aware", 8, 8e-6)), 120)

    def test_overlapping_intervals_have_no_single_winner(self) -> None:
        run = make_run(entry("staged", 8, 1.00e-5, 0.02), entry("aware", 8, 1.01e-5, 0.02))
        assert [e.path for e in run.fastest(8, "GPU")] == ["staged", "aware"]
        text = shown(run)
        assert "staged ≈" in text
        assert "≈ another path is as fast within the intervals" in text

    def test_a_failed_size_is_in_its_cell_and_below(self) -> None:
        run = make_run(
            entry("host", 8, 1e-6),
            failure("host", 16, "hang", "rank 1 on n1 sits in MPI_Recv"),
            failure("aware", None, "unavailable", "Open MPI crashed on a device pointer", "use ucx"),
        )
        text = shown(run)
        assert re.search(r"16 B +hung", text)
        assert "host at 16 B: hung: rank 1 on n1 sits in MPI_Recv" in text
        assert "aware: not available: Open MPI crashed on a device pointer; use ucx" in text

    def test_a_later_figure_replaces_a_failure(self) -> None:
        text = shown(make_run(failure("host", 8, "hang", "stuck"), entry("host", 8, 1e-6)))
        assert "hung" not in text

    def test_zero_bytes_have_a_time_and_no_bandwidth(self) -> None:
        row = next(line for line in shown(make_run(entry("host", 0, 1e-6))).splitlines() if " 0 B" in line)
        assert row.split()[-1] == "-"

    def test_a_run_without_an_end_says_so(self) -> None:
        assert "before all was measured" in shown(collect([head(), entry("host", 8, 1e-6)])[0])
        assert "before all was measured" not in shown(make_run(entry("host", 8, 1e-6)))

    def test_records_that_cannot_be_shown_are_counted(self) -> None:
        run = make_run(entry("host", 8, 0.0), {"kind": "entry", "run": "r"}, {"kind": "new", "run": "r"})
        assert run.odd == 2
        assert not run.entries

    def test_colours_only_on_terminals(self) -> None:
        run = full_run(("staged", "aware"))
        assert "\x1b" not in shown(run)
        screen = console(100, force_terminal=True, color_system="standard", no_color=True)
        terminal.print_run(screen, run)
        assert "\x1b[32m" not in text_of(screen)

    def test_a_pipe_gets_a_wide_plain_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COLUMNS", raising=False)
        assert terminal.make_console(io.StringIO()).width == terminal.PIPE_WIDTH
        monkeypatch.setenv("COLUMNS", "61")
        assert terminal.make_console(io.StringIO()).width == 61


class TestCurves:
    def test_ends_of_the_scale(self) -> None:
        assert terminal.sparkline([1.0, None, 1e9], 1.0, 1e9) == "▁ █"
        assert terminal.sparkline([5.0], 5.0, 5.0) == "█"

    @given(st.lists(st.floats(1e3, 1e12), min_size=1))
    def test_higher_is_never_lower(self, rates: list[float]) -> None:
        line = terminal.sparkline(sorted(rates), min(rates), max(rates))
        assert list(line) == sorted(line)
        assert len(line) == len(rates)

    def test_peak_and_half(self) -> None:
        entries = [Entry.from_record(entry("host", size, 1e-6 + size / 1e9)) for size in (8, 1000, 10**6)]
        assert terminal.curve_note(entries) == "peak 0.999 GB/s at 1000000 B, half of it from 1000 B"


class TestTutorial:
    def test_line(self) -> None:
        assert tutorial.line(8, 0.000000866) == (
            "Transfer size (B):          8, "
            "Transfer Time (s):     0.000000866, "
            "Bandwidth (GB/s):     0.008603442"
        )

    def test_summits_seconds_give_summits_bandwidths(self) -> None:
        with SUMMIT.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 84
        for row in rows:
            seconds, published = float(row["seconds_one_way"]), float(row["GiB_per_s"])
            printed = float(tutorial.line(int(row["bytes"]), seconds).split()[-1])
            # The published seconds are rounded to a nanosecond.
            assert printed == pytest.approx(published, rel=0.6e-9 / seconds, abs=1e-9)

    def test_one_block_a_path(self) -> None:
        run = make_run(entry("aware", 8, 1e-6), entry("host", 16, 1e-6), entry("host", 8, 1e-6))
        lines = tutorial.tutorial([run]).splitlines()
        assert [line.split(",")[0] for line in lines] == [
            "# host",
            "Transfer size (B):          8",
            "Transfer size (B):         16",
            "",
            "# aware",
            "Transfer size (B):          8",
        ]


class TestReference:
    def test_summit(self) -> None:
        summit = reference.load_system("summit")
        assert list(summit.curves) == ["host", "staged", "aware"]
        assert all(list(curve) == [1 << power for power in range(3, 31)] for curve in summit.curves.values())
        assert summit.curves["aware"][1 << 30].rate == pytest.approx(47.01e9, rel=1e-3)
        for curve in summit.curves.values():
            for size, point in curve.items():
                assert point.rate == pytest.approx(size / point.seconds, rel=0.6e-9 / point.seconds)

    def test_every_system_can_be_read(self) -> None:
        for name in reference.known_systems():
            assert reference.load_system(name).curves

    def test_unknown_systems_are_answered_with_the_known_ones(self) -> None:
        with pytest.raises(WirespeedError, match=r"there are: .*summit"):
            reference.load_system("frontier")

    @pytest.mark.parametrize("width", range(60, 130, 7))
    def test_ours_theirs_and_the_ratio(self, width: int) -> None:
        run = make_run(
            *(entry(path, 1 << 30, seconds) for path, seconds in (("host", 0.1), ("aware", 0.0025))),
            entry("host", 7, 1e-6),
        )
        screen = console(width)
        reference.print_against(screen, run, reference.load_system("summit"))
        text = text_of(screen)
        assert max(map(len, text.splitlines())) <= width
        rows = " ".join(" ".join(line.split()) for line in text.splitlines() if "1 GiB" in line)
        assert "10.7 13.6 12.7 0.79" in rows or "10.7 13.6 0.79" in rows
        assert "429 47.0 43.8 9.14" in rows or "429 47.0 9.14" in rows
        assert "7 B" not in text
        assert "as published" in text

    def test_nothing_in_common(self) -> None:
        screen = console(100)
        reference.print_against(screen, make_run(entry("host", 7, 1e-6)), reference.load_system("Summit"))
        assert "No path and size in common; Summit has host, staged, aware, 8 B to 1 GiB." in text_of(screen)


class TestProgress:
    def test_plain_lines(self) -> None:
        stream = io.StringIO()
        with progress.make_progress((), 2, stream) as view:
            assert stream.getvalue() == ""
            view({"kind": "step-start", "path": "host", "steps_done": 0, "steps_total": 1})
            view({"kind": "progress", "path": "host", "bytes": 65536, "index": 0, "of": 2})
            view(entry("host", 65536, 8.52e-6))
            view(failure("aware", None, "unavailable", "no GPU", "buy one"))
            view({"kind": "note", "text": "a word"})
        assert stream.getvalue().splitlines() == [
            "host      64 KiB   8.52 us    7.69 GB/s   ±0.4 %  120 samples",
            "aware: not available: no GPU; buy one",
            "a word",
        ]

    def live(self, width: int, events: Sequence[dict[str, Any]]) -> tuple[str, float | None, str]:
        now = [0.0]
        screen = console(width, force_terminal=True)
        view = progress.LiveProgress(screen, ("host", "aware"), 10, clock=lambda: now[0])
        for event in events:
            view(event)
            now[0] += 1
        picture = console(width)
        picture.print(view.render())
        left = view.remaining()
        view.close()
        return text_of(picture), left, text_of(screen)

    @pytest.mark.parametrize("width", [40, 60, 80, 120])
    def test_live_view(self, width: int) -> None:
        picture, left, _ = self.live(
            width,
            [
                {"kind": "step-start", "path": "host", "steps_done": 0, "steps_total": 2},
                entry("host", 65536, 8.52e-6),
                {
                    "kind": "progress",
                    "path": "host",
                    "bytes": 131072,
                    "index": 1,
                    "of": 10,
                    "samples": 300,
                    "precision": 0.025,
                },
            ],
        )
        assert max(map(len, picture.splitlines())) <= width
        assert "1/10" in picture and "8.52 us" in picture
        assert "waiting" in picture
        if width >= 80:
            assert "7.69 GB/s  128 KiB: 300 samples ±2.5 %" in picture
        # A twentieth of the work took three seconds.
        assert left == pytest.approx(57)
        assert "0:03 so far, about 0:57 left" in picture

    def test_a_failed_path_is_done(self) -> None:
        picture, left, _ = self.live(
            80,
            [
                {"kind": "step-start", "path": "aware", "steps_done": 0, "steps_total": 2},
                failure("aware", None, "unavailable", "crashed"),
                {"kind": "progress", "path": "host", "bytes": 8, "index": 10, "of": 10},
            ],
        )
        assert "not available" in picture
        assert left == 0

    def test_strange_events_do_no_harm(self) -> None:
        self.live(80, [{"kind": "progress"}, {"kind": "entry"}, {"kind": "what"}, {}])

    def test_nothing_is_drawn_before_the_first_event(self) -> None:
        assert self.live(80, [])[2] == ""


class TestNextSteps:
    def commands(self, run: Run, gpus: int = 0, mpis: Sequence[Any] = (), **environment: str) -> list[str]:
        return [step.command for step in next_steps(run, "a b.jsonl", gpus, mpis, environment)]

    def test_they_fit_the_machine(self) -> None:
        run = make_run(entry("host", 8, 1e-6))
        assert "wirespeed pingpong --device emulated" in self.commands(run)
        assert "wirespeed show 'a b.jsonl'" in self.commands(run)
        assert "wirespeed pingpong --between 0,3" in self.commands(run, gpus=4)
        assert "wirespeed pingpong --device emulated" not in self.commands(run, gpus=1)
        mpis = [SimpleNamespace(prefix="/a"), SimpleNamespace(prefix="/b", title="MPICH 5")]
        assert "wirespeed pingpong --mpi /b" in self.commands(run, mpis=mpis)
        assert "srun -N 2 -n 2 wirespeed pingpong" in self.commands(run, SLURM_NNODES="4")
        assert "srun -N 2 -n 2 wirespeed pingpong" not in self.commands(run, SLURM_NNODES="x")

    def test_unsettled_figures_come_first(self) -> None:
        run = make_run(entry("host", 8, 1e-6, stopped="max-time"), entry("host", 9, 1e-6))
        assert self.commands(run)[0] == "wirespeed pingpong --paths host --sizes 8 --max-time 2"


class TestPaths:
    @pytest.mark.parametrize("width", [40, 60, 80, 140])
    def test_every_path_and_what_it_lacks(self, width: int) -> None:
        screen = console(width)
        lacks = "no GPU (cuda: libcuda.so.1 not found; hip: libamdhip64.so.6 not found)"
        print_paths(screen, [Row(path, lacks if path.needs_device else None) for path in all_paths()])
        text = text_of(screen)
        assert max(map(len, text.splitlines())) <= width
        for path in all_paths():
            assert re.search(
                rf"^{path.name} +{'not ' if path.needs_device else ''}available", text, re.MULTILINE
            )


def test_the_table_knows_its_marks() -> None:
    assert table.marked(Entry.from_record(entry("host", 8, 1e-6, stopped="max-time")))
    assert not table.marked(Entry.from_record(entry("host", 8, 1e-6)))


def test_json_is_every_record(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    stream = io.StringIO()
    FORMATS["json"](collect([head(), entry("host", 8, 1e-6), end(), {"kind": "progress"}]), stream, None)
    assert [record["kind"] for record in json.loads(stream.getvalue())] == ["run", "entry", "end"]
    stream = io.StringIO()
    FORMATS["json"]([], stream, None)
    assert json.loads(stream.getvalue()) == []
