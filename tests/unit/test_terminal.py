"""The table of a run: what a person reads, checked by its figures and at every width."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden
from support.records import SIZES, entry, failure, full_run, make_run, shown

from wirespeed.report.console.console import PIPE_WIDTH, ascii_locale, make_console, sparkline
from wirespeed.report.export.formats import TEXTS, print_tables
from wirespeed.report.facts import figures, markers
from wirespeed.report.terminal import run_summary
from wirespeed.results.runs import Failure
from wirespeed.units import counted, duration, format_rate, parse_size

RATES = (8e6, 1e6, 1e5, 1e9, 1e9 * 1.0737, 1e9 * 393.0, 9.996e9, 99.96e9, 0.0)
SHARES = (0.004, 0.0, 0.0001, 0.0995, 0.5, 1.0, 1.001, 1300.0)
LOCALES: tuple[dict[str, str], ...] = (
    *({}, {"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "POSIX"}, {"LC_ALL": "C.UTF-8", "LANG": "C"}),
    {"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"},
)
"""Python writes UTF-8 all the same, which a terminal of LC_ALL=C does not show."""
CRASHED: dict[str, Any] = {"what": "unavailable", "text": "aware: not available: it\ncrashed"}


def test_words(golden: Golden) -> None:
    """Protects units, rounding, plurals, and that a failure is one line that says each thing once."""
    failures = [Failure(run="r", path="aware", remedy="use ucx", **CRASHED)]
    failures.append(Failure(run="r", path="aware", bytes=65536, what="hang"))
    words: dict[str, list[Any]] = {
        "GB/s": [(rate, format_rate(rate)) for rate in RATES],
        "half widths": [(share, figures.spread(share)) for share in SHARES],
        "durations": [(seconds, duration(seconds)) for seconds in (0, 67.4, 3723, -1)],
        "counts": [(number, counted(number, "sample")) for number in (0, 1, 2, 5000)],
        "sizes": [(word, parse_size(word)) for word in ("8", "8B", "8 b", "1K", "1KiB", "1k", "2gib")],
        "failures": [(figures.failure_head(one), figures.failure_text(one)) for one in failures],
        "only ASCII": [(one, ascii_locale(io.StringIO(), one)) for one in LOCALES],
        "curves": [(sparkline([1.0, None, 1e9], 1.0, 1e9), sparkline([5.0], 5.0, 5.0))],
    }
    golden("report/words", {title: "\n".join(map(str, rows)) for title, rows in words.items()})
    assert all(ascii_locale(io.TextIOWrapper(io.BytesIO(), "latin-1"), one) for one in LOCALES)


@given(st.floats(1e6, 1e13))
def test_a_rate_keeps_its_value(rate: float) -> None:
    written = float(format_rate(rate)) * 1e9
    assert abs(written - rate) <= max(rate * 0.0051, 0.5e5)


@given(st.lists(st.floats(1e3, 1e12), min_size=1))
def test_a_higher_curve_is_never_lower(rates: list[float]) -> None:
    line = sparkline(sorted(rates), min(rates), max(rates))
    assert list(line) == sorted(line)
    assert len(line) == len(rates)


class TestTable:
    @pytest.mark.parametrize("count", [1, 2, 3, 4])
    def test_no_row_is_ever_broken(self, count: int) -> None:
        paths = ("host", "staged", "aware", "host-pinned")[:count]
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

    @pytest.mark.parametrize("kind", ["soak", "failure", "whole path", "no bytes"])
    @pytest.mark.parametrize("style", ["table", *TEXTS])
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
        pattern = "allreduce" if style == "nccl-tests" else "pingpong"
        run = make_run(*records, pattern=pattern)
        if style != "table":
            TEXTS[style]([run], ())
            return
        stream = io.StringIO()
        print_tables([run], (), stream, explain=explain)
        if kind != "no bytes":
            assert all(re.search(rf"\bpath{number}\b", stream.getvalue()) for number in range(len(sizes)))

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


def test_every_mark_is_documented() -> None:
    """Protects readers from a sign in a table that no page explains."""
    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    assert [meaning for meaning in markers.MEANINGS if f"\n| `{meaning[0]}` |" not in text] == []
