"""The table of a run: what a person reads, checked by its figures and at every width."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.measured import measured
from support.records import (
    SIZES,
    as_read,
    console,
    entry,
    failure,
    figure,
    full_run,
    head,
    make_run,
    shown,
    step,
    text_of,
)

from wirespeed.cli.common.reading import read_runs
from wirespeed.report.console.console import PIPE_WIDTH, ascii_locale, make_console
from wirespeed.report.console.sparkline import sparkline
from wirespeed.report.export.formats import FORMATS
from wirespeed.report.facts import figures, markers
from wirespeed.report.terminal import run_summary
from wirespeed.results.reading import Results
from wirespeed.results.runs import Failure, Run, collect
from wirespeed.units import duration, format_rate

ROOT = Path(__file__).parents[2]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


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
        assert format_rate(size / seconds) == gigabytes

    @given(st.floats(1e6, 1e13))
    def test_a_rate_keeps_its_value(self, rate: float) -> None:
        written = float(format_rate(rate)) * 1e9
        assert abs(written - rate) <= max(rate * 0.0051, 0.5e5)

    @pytest.mark.parametrize(
        ("share", "text"),
        [
            (0.004, "±0.4 %"),
            (0.0, "±0.0 %"),
            (0.0001, "±<0.1 %"),
            (0.0995, "±10 %"),
            (0.5, "±50 %"),
            (1.0, "±100 %"),
            (1.001, "uncertain"),
            (1300.0, "uncertain"),
        ],
    )
    def test_interval(self, share: float, text: str) -> None:
        assert figures.spread(share) == text

    @pytest.mark.parametrize(
        ("seconds", "text"), [(0, "0:00"), (67.4, "1:07"), (3723, "1:02:03"), (-1, "0:00")]
    )
    def test_duration(self, seconds: float, text: str) -> None:
        assert duration(seconds) == text

    def test_a_failure_is_one_line_and_says_each_thing_once(self) -> None:
        made = Failure(
            run="r",
            path="aware",
            what="unavailable",
            text="aware: not available: it\ncrashed",
            remedy="use ucx",
        )
        assert figures.failure_text(made) == "not available: it crashed; use ucx"
        hung = Failure(run="r", path="aware", bytes=65536, what="hang")
        assert figures.failure_head(hung) == "aware at 64 KiB"
        assert figures.failure_text(hung) == "hung"

    def test_another_mpi_that_took_its_place_is_named(self) -> None:
        """Protects from 'aware: not available' beside figures of aware: each MPI with what it did."""
        made = Failure(
            run="r",
            path="aware",
            what="unavailable",
            text="Open MPI 4.1.6 crashed on a device pointer",
            remedy="measured with Open MPI 5.0.11 instead (--mpi /opt/openmpi)",
        )
        words = "Open MPI 4.1.6 crashed on a device pointer, so Open MPI 5.0.11 was used"
        assert figures.failure_text(made) == words


class TestTable:
    @pytest.mark.parametrize(
        "paths",
        [
            ("host",),
            ("host", "staged"),
            pytest.param(("host", "staged", "aware"), marks=pytest.mark.slow),
            pytest.param(("host", "host-pinned", "staged", "aware"), marks=pytest.mark.slow),
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
        assert " ".join(rows[0]) == "8 B 1.00 us ±0.4 % 0.0080 0.91-1.1 us 8.52 us ±0.4 % <0.001"
        assert " ".join(rows[1]) == "64 KiB - - - - 8.52 us ±0.4 % 7.69"

    def test_a_narrow_terminal_loses_columns_not_paths(self) -> None:
        run = full_run(("host", "staged", "aware"))
        assert shown(run, 110).count("one way   95 %") == 3
        assert "±" not in shown(run, 80).split("one way: ")[0]
        assert shown(run, 50).count("   size    one way") == 3

    def test_unreached_precision_is_marked_and_explained(self) -> None:
        run = make_run(entry("host", 8, 1e-6), entry("host", 16, 1e-6, 0.042, stopped="max-time"))
        text = shown(run)
        assert re.search(r"16 B +~1\.00 us ±4\.2 %", text)
        assert "~ not within ±1 % in --max-time (0.4 s); widest ±4.2 %" in text
        assert "~ not within ±1 % when --max-time (0.4 s) was over" in shown(run, explain=True)
        assert "~" not in shown(make_run(entry("host", 8, 1e-6)))

    def test_a_wide_figure_is_a_range_or_two_speeds(self) -> None:
        """Protects from one number where none was measured: in the table of many paths, and in a line."""
        wide = entry("aware", 16, 15e-6, 0.2, stopped="max-time")
        both = entry("host", 8, 12e-6, 0.3, stopped="max-time")
        both["seconds"]["speeds"] = [11e-6, 16e-6]
        paths = [entry(f"path-{number}", size, 1e-6) for number in range(8) for size in (8, 16)]
        text = shown(make_run(both, entry("host", 16, 1e-6), wide, *paths), 150)
        assert " 11|16 " in text and " 12-18 " in text
        assert "two speeds by turns: host at 8 B, 11.0 us or 16.0 us" in text
        assert "two speeds" not in shown(make_run(wide))

    def test_definitions_stand_below(self) -> None:
        text = shown(make_run(entry("host", 8, 1e-6, samples=100), entry("host", 16, 1e-6)), explain=True)
        assert "one way: half of a round trip, median of 100 to 120 samples per size; GB = 1e9 bytes" in text
        assert "95 % = half width of the 95 % interval of the median, within ±1 % everywhere" in text

    def test_fixed_counts_claim_no_precision(self) -> None:
        text = shown(make_run(entry("host", 8, 1e-6, 0.3, stopped="fixed")), explain=True)
        assert "mean over a fixed count of iterations" in text and "no interval" in text
        assert "within" not in text

    def test_the_fastest_is_named_among_paths_of_alike_memory_only(self) -> None:
        run = make_run(entry("host", 8, 1e-7), entry("staged", 8, 3e-5), entry("aware", 8, 8e-6))
        assert [e.path for e in run.fastest(8, "GPU")] == ["aware"]
        assert run.competing == ["GPU"]
        mixed = entry("aware-d2h", 8, 1e-9, memory="device to pageable")
        both = make_run(entry("staged", 8, 3e-5), entry("aware", 8, 8e-6), mixed)
        assert [e.path for e in both.fastest(8, "GPU")] == ["aware"]
        assert re.search(r"fastest\s+.*GPU data", shown(run, 120))
        assert "fastest" not in shown(make_run(entry("host", 8, 1e-7), entry("aware", 8, 8e-6)), 120)

    def test_an_empty_message_has_no_fastest_path_for_gpu_data(self) -> None:
        """It moves nothing that lies on a GPU: paths that ask no GPU would win what they do not do."""
        run = make_run(entry("host", 0, 1e-7), entry("staged", 0, 3e-7), entry("gpu", 0, 7e-7))
        assert run.fastest(0, "GPU") == []
        assert "staged ≈" not in shown(run, 120)

    def test_overlapping_intervals_have_no_single_winner(self) -> None:
        run = make_run(entry("staged", 8, 1.00e-5, 0.02), entry("aware", 8, 1.01e-5, 0.02))
        assert [e.path for e in run.fastest(8, "GPU")] == ["staged", "aware"]
        text = shown(run)
        assert "staged ≈" in text
        assert "≈ another path is as fast within the intervals" in text

    def test_a_failed_size_is_in_its_cell_and_below(self) -> None:
        run = make_run(
            entry("host", 8, 1e-6),
            failure("host", 16, "hang", "rank 1 on n1 waits in MPI_Recv"),
            failure("aware", None, "unavailable", "Open MPI crashed on a device pointer", "use ucx"),
        )
        text = shown(run)
        assert re.search(r"16 B +hung", text)
        assert "host at 16 B: hung: rank 1 on n1 waits in MPI_Recv" in text
        assert "aware: not available: Open MPI crashed on a device pointer; use ucx" in text

    def test_a_path_that_is_not_available_is_so_at_every_size(self) -> None:
        text = shown(make_run(entry("host", 8, 1e-6), failure("aware", 1, "unavailable", "it crashed")))
        assert "aware: not available: it crashed" in text

    def test_a_later_figure_replaces_a_failure(self) -> None:
        text = shown(make_run(failure("host", 8, "hang", "stuck"), entry("host", 8, 1e-6)))
        assert "hung" not in text

    def test_zero_bytes_have_a_time_and_no_bandwidth(self) -> None:
        row = next(line for line in shown(make_run(entry("host", 0, 1e-6))).splitlines() if " 0 B" in line)
        assert row.split()[-3] == "-", "before the range of many launches"

    def test_a_run_without_an_end_says_so(self) -> None:
        assert "before all was measured" in shown(collect(as_read([head(), entry("host", 8, 1e-6)]))[0])
        assert "before all was measured" not in shown(make_run(entry("host", 8, 1e-6)))

    def test_a_time_of_nothing_is_no_figure(self) -> None:
        """Protects rates from a division by a clock's zero."""
        run = make_run(entry("host", 8, 0.0), {"kind": "new", "run": "r"})
        assert not run.entries and "host" not in run.paths

    @pytest.mark.parametrize("kind", ["soak", "failure", "whole path", "no bytes"])
    @pytest.mark.parametrize("style", FORMATS)
    @pytest.mark.parametrize("explain", [False, True])
    def test_without_a_figure_a_run_may_be_longer_than_a_screen(
        self, kind: str, style: str, explain: bool
    ) -> None:
        """Protects a soak of many sizes, and a run in which everything failed, from an IndexError."""
        sizes = [8 << (number % 20) for number in range(run_summary.SCREEN + 5)]
        soaked = {"kind": "soak", "run": "r", "pattern": "pingpong", "complete": True, "messages": 9}
        records: list[dict[str, Any]] = [
            soaked | {"path": f"path{number}", "bytes": size}
            if kind == "soak"
            else failure(f"path{number}", None if kind == "whole path" else size, "hang", f"stuck {number}")
            for number, size in enumerate(sizes)
        ]
        if kind == "no bytes":
            records = [entry("host", 0, 1e-6), *(failure("host", size, "hang", "stuck") for size in sizes)]
        stream = io.StringIO()
        pattern = "allreduce" if style == "nccl-tests" else "pingpong"
        FORMATS[style]([make_run(*records, pattern=pattern)], stream, None, explain, False)
        if style == "table" and kind != "no bytes":
            assert all(re.search(rf"\bpath{number}\b", stream.getvalue()) for number in range(len(sizes)))

    def test_colours_only_on_terminals(self) -> None:
        run = full_run(("staged", "aware"))
        assert "\x1b" not in shown(run)
        screen = console(100, force_terminal=True, color_system="standard", no_color=True)
        run_summary.print_run(screen, run)
        assert "\x1b[32m" not in text_of(screen)

    def test_a_pipe_gets_a_wide_plain_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COLUMNS", raising=False)
        assert make_console(io.StringIO()).width == PIPE_WIDTH
        monkeypatch.setenv("COLUMNS", "61")
        assert make_console(io.StringIO()).width == 61

    @pytest.mark.parametrize("columns", ["0", "1", "-5", "99999999999", "\u00b2", "wide", ""])
    @pytest.mark.parametrize("terminal", [True, False])
    def test_what_is_no_width_is_passed_over(
        self, columns: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("LINES", columns)
        stream = io.StringIO()
        stream.isatty = lambda: terminal  # type: ignore[method-assign]
        screen = make_console(stream)
        assert 20 <= screen.width < 10_000 and 0 < screen.size.height < 10_000
        run_summary.print_run(screen, full_run(("staged", "aware")))
        assert "staged" in stream.getvalue()


def host_run(sizes: Sequence[int] = SIZES, **more: Any) -> Run:
    """What a laptop measures first: one path, through memory with caches before it, no figure sure."""
    memory = {"kind": "memory", "name": "memory", "host": "n1", "rate": 10e9, "low": 9e9, "high": 11e9}
    told: dict[str, Any] = {"checked": {"iterations": 3, "bytes": 24}, "stopped": "max-time", **more}
    return make_run(
        step("host", transport="mpi", memory="pageable", ranks=[{"rank": n, "host": "n1"} for n in (0, 1)]),
        *(entry("host", size, 3e-7 + size / 8e9, 0.04, **told) for size in sizes),
        {"kind": "wires", "run": "r", "path": "host", "wires": [{**memory, "caches": 32 << 20}]},
        *(
            {"kind": "evidence", "run": "r", "path": "host", "bytes": size, "iterations": 9}
            | {
                "verdict": "shared memory",
                "text": "through shared memory: no traffic on any network interface",
            }
            for size in sizes
        ),
    )


class TestFirstScreen:
    @pytest.mark.parametrize("width", [80, 120])
    @pytest.mark.parametrize("waited", [0.0, 0.94])
    def test_one_path_ends_with_seven_lines_at_most(self, width: int, waited: float) -> None:
        """Protects the first screen, on a loaded host too: the table, what came of it, where to read more."""
        cores = {"waited": waited, "rank": 0, "preempted": 9, "by": "others"}
        lines = shown(host_run(cores=cores), width).splitlines()
        last = max(number for number, line in enumerate(lines) if re.match(r" *\d+ ([KMG]i)?B  ", line))
        told = [line for line in lines[last + 1 :] if line]
        assert len(told) <= 7, told
        assert any("& slowed by other processes: host at" in line for line in told) == bool(waited)
        mark = "&" if waited else "~"
        assert f"host: {mark}8.00 GB/s at 1 GiB; 80 % of limit; through shared memory" in told
        assert "--explain" in told[-1]

    def test_explain_brings_the_rest(self) -> None:
        """Protects both: no equation without it, and with it every one."""
        for words in (
            "95 % = half width",
            "one core copying from memory",
            "min: fastest sample",
            "by their counters",
        ):
            assert words not in shown(host_run()), words
            assert words in " ".join(shown(host_run(), 200, explain=True).split()), words

    def test_no_share_of_a_limit_where_caches_serve(self) -> None:
        """Protects a laptop's first table from 193 % in red: a dash up to the caches' size."""
        lines = shown(host_run()).splitlines()
        # Behind it stands the range of many launches.
        cells = {line[:8].strip(): line.split()[-3:][0] for line in lines if line.strip()}
        assert (cells["32 MiB"], cells["64 MiB"]) == ("-", "%")

    @pytest.mark.parametrize("width", [80, 200])
    @pytest.mark.parametrize("file", measured("*.jsonl*"))
    def test_no_cell_carries_two_marks(self, file: Path, width: int) -> None:
        """Protects figures from '~7.49*', which says two things with one figure."""
        for run in read_runs(str(file)):
            assert re.findall(r"[~!?]<?[\d.]+ ?\w*[*≈?!]", shown(run, width)) == []

    def test_what_was_compared_is_said_only_if_it_was(self) -> None:
        """Protects 'passed': of every figure, and no longer once bytes were wrong."""
        said = "data check: passed (93 untimed iterations, every byte)"
        assert said in shown(host_run())
        batches = {"iterations": 1, "batches": 2, "of_batches": 40, "bytes": 24}
        said = "data check: passed (31 untimed iterations, 62 of 1,240 timed batches"
        assert f"{said}, every byte)" in " ".join(shown(host_run(checked=batches)).split())
        run = host_run(checked={**batches, "rerun_steps": 4})
        assert f"{said}, 124 steps rerun, every byte)" in " ".join(shown(run).split())
        assert "data check" not in shown(host_run(checked={}))
        run = make_run(entry("host", 8, 1e-6), failure("host", 16, "mismatch", "byte 3"))
        assert "data check: failed, 1 figure of host missing, because wrong bytes arrived" in shown(run)


class TestAscii:
    """LC_ALL=C: Python writes UTF-8 all the same, which such a terminal does not show."""

    @pytest.mark.parametrize("width", [60, 80, 100, 120])
    def test_every_letter_is_ascii(self, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LC_ALL", "C")
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.delenv("PYTHONIOENCODING", raising=False)
        stream = io.StringIO()
        run_summary.print_run(make_console(stream), full_run(("staged", "aware")), explain=True)
        assert stream.getvalue().isascii() and "+-" in stream.getvalue()
        assert max(map(len, stream.getvalue().splitlines())) <= width

    @pytest.mark.parametrize(
        ("environment", "only"),
        [
            ({}, False),
            ({"LC_ALL": "C"}, True),
            ({"LC_ALL": "", "LANG": "POSIX"}, True),
            ({"LC_ALL": "C.UTF-8", "LANG": "C"}, False),
            ({"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}, False),
        ],
    )
    def test_the_locale_decides(self, environment: dict[str, str], only: bool) -> None:
        assert ascii_locale(io.StringIO(), environment) is only
        assert ascii_locale(io.TextIOWrapper(io.BytesIO(), "latin-1"), environment)


class TestCurves:
    def test_ends_of_the_scale(self) -> None:
        assert sparkline([1.0, None, 1e9], 1.0, 1e9) == "▁ █"
        assert sparkline([5.0], 5.0, 5.0) == "█"

    @given(st.lists(st.floats(1e3, 1e12), min_size=1))
    def test_higher_is_never_lower(self, rates: list[float]) -> None:
        line = sparkline(sorted(rates), min(rates), max(rates))
        assert list(line) == sorted(line)
        assert len(line) == len(rates)


def test_the_table_knows_its_marks() -> None:
    """Protects the claim that unmarked figures are as precise as asked for."""
    assert markers.mark(figure("host", 8, 1e-6, stopped="max-time")) == "~"
    assert markers.mark(figure("host", 8, 1e-6)) == ""
    assert markers.mark(figure("host", 8, 1e-6, stopped="max-time", precision=None)) == "?"
    assert markers.mark(figure("host", 8, 1e-6, stopped="fixed", precision=None)) == ""


def test_every_mark_is_documented() -> None:
    """Protects readers from a sign in a table that no page explains."""
    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    assert [meaning for meaning in markers.MEANINGS if f"\n| `{meaning[0]}` |" not in text] == []


@examples(60)
@given(number=st.integers(0, 40), depth=st.integers(0, 4), value=JSON_VALUES, choices=st.randoms())
def test_any_value_in_any_place_is_shown_or_left_out(
    number: int, depth: int, value: Any, choices: Any
) -> None:
    """Protects `wirespeed show` from files that others wrote or changed: shown or left out, never raised."""
    lines = (ROOT / "results" / "h200-x2-exchange.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    inside: Any = found[number % len(found)]
    for _ in range(depth):
        deeper = [one for one in inside.values() if isinstance(one, dict) and one]
        if not deeper:
            break
        inside = choices.choice(deeper)
    # A file of another schema is refused as a whole.
    inside[choices.choice(sorted(inside.keys() - {"schema"}))] = value
    results = Results("made up")
    for place, one in enumerate(found):
        results.add_line(json.dumps(one).encode() + b"\n", place)
    screen = console(100)
    for run in collect(results.records):
        run_summary.print_run(screen, run)
