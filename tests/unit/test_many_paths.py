"""The table of many paths, what a switch is worth, what paths chose, and what became of the others."""

from __future__ import annotations

import io
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from support.records import as_read, console, end, entry, failure, head, make_run, shown, step, text_of

from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.facts import figures
from wirespeed.report.facts.failures import failure_lines
from wirespeed.report.facts.statement import NOTE, WARNING
from wirespeed.report.terminal import run_summary
from wirespeed.report.views import size_table
from wirespeed.results.runs import Run, collect
from wirespeed.units import format_rate

SEVEN = ("host", "staged", "staged-pipelined", "aware", "aware-nogdr", "nccl", "gpu")
MANY = (
    *("host", "rma-host", "staged", "staged-pipelined", "aware", "aware-nogdr", "nccl", "nccl-stream"),
    *("nccl-nop2p", "ipc-write", "ipc-read", "ipc-kernel", "gpu", "shmem"),
)
SWITCHED = {"aware-nogdr": ("aware", "UCX_TLS", "^cuda_ipc"), "nccl-nop2p": ("nccl", "NCCL_P2P_DISABLE", "1")}
SIZES = tuple(1 << power for power in range(34))
HOST = {"memory": "pageable"}


def run_of(paths: tuple[str, ...], sizes: tuple[int, ...] = SIZES, **more: Any) -> Run:
    """Steps and entries of these paths; each is slower than the one before."""
    records = []
    for number, path in enumerate(paths, 1):
        of, name, value = SWITCHED.get(path, (None, "", ""))
        records.append(step(path, {name: value} if of else {}, without=of))
        home = HOST if path.endswith("host") else {}
        records += [
            entry(path, size, 1e-6 * number + size * number / 4e11, **{**home, **more}) for size in sizes
        ]
    return make_run(*records)


def rows(text: str) -> dict[str, list[str]]:
    """Size -> figures of its rows, marks taken off, those of folded tables one after the other."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := re.match(r" *(\d+ (?:[KMGT]i)?B)  +(\S.*)", line):
            found.setdefault(match[1], []).extend(word.strip("~*?!") for word in match[2].split())
    return found


class TestCompact:
    @pytest.mark.parametrize("paths", [SEVEN, MANY], ids=len)
    @pytest.mark.parametrize("width", [40, 47, 60, 80, 100, 120, 160, 200, 250])
    def test_every_figure_is_there_at_every_width(self, paths: tuple[str, ...], width: int) -> None:
        """Protects paths and sizes from falling off the table's edge: each has its figure, in its unit."""
        run = run_of(paths, stopped="max-time")
        text = shown(run, width)
        assert max(map(len, text.splitlines())) <= width
        table = rows(text.split("one way: ")[0])
        assert len(table) == len(SIZES)
        for size, cells in zip(SIZES, table.values(), strict=True):
            for path in paths:
                made = run.entries[path, size]
                rate = size > size_table.SPLIT
                assert (format_rate(made.rate) if rate else figures.microseconds(made.seconds)) in cells

    def test_without_colours_or_letters(self) -> None:
        """Protects logs: no escape codes; and terminals of ASCII: no box letters."""
        screen = console(120, force_terminal=True, color_system="standard", no_color=True)
        run_summary.print_run(screen, run_of(SEVEN))
        assert "\x1b[32m" not in text_of(screen) and "\x1b[33m" not in text_of(screen)
        file = io.TextIOWrapper(io.BytesIO(), "ascii", "replace")
        Console(file=file, width=120).print(
            *size_table.lay_out(120, run_of(SEVEN), run_of(SEVEN).sizes).tables
        )
        file.seek(0)
        assert "one way, us ---" in file.read()


class TestColumns:
    @given(
        st.lists(
            st.tuples(st.text("ab", max_size=9), st.sampled_from(["", "x", "a long group"]), st.booleans()),
            min_size=1,
            max_size=6,
        )
    )
    def test_the_width_told_is_the_width_taken(self, made: list[tuple[str, str, bool]]) -> None:
        """Protects the decision whether a table fits; a line cut off by a terminal would lose figures."""
        columns: list[Column[bool]] = [
            Column("h\nhead", partial(lambda cell, last: cell if last else "1", cell), group=group, left=left)
            for cell, group, left in made
        ]
        found = table(columns, [False, True])
        assert max(len(line.plain) for line in found.lines()) == found.width

    @pytest.mark.parametrize(("width", "heads"), [(20, "abc"), (10, "ac"), (9, "ac"), (8, "c"), (1, "c")])
    def test_columns_go_in_their_order(self, width: int, heads: str) -> None:
        """Protects narrow terminals: what matters least goes first, and what matters most always stays."""
        columns: list[Column[str]] = [
            Column(head * 4, str, drop=drop) for head, drop in (("a", 1), ("b", 2), ("c", 0))
        ]
        assert "".join(column.head[0] for column in table(columns, ["1"]).fit(width).columns) == heads

    def test_a_row_without_a_value_has_a_dash(self) -> None:
        """Protects the reader: an empty place would look like a column that ends there."""
        found: Table[int] = table([Column("a", str), Column("b", lambda row: None)], [1])
        assert [line.plain for line in found.lines()] == ["a b", "───", "1 -"]


class TestFailures:
    def test_who_asked_by_name_is_told_loudly(self) -> None:
        """Protects `--paths nccl`: what was asked for and is not there must be seen."""
        lacking = failure("nccl", None, "unavailable", "libnccl.so.2 not found")
        for paths, level in ((["nccl"], WARNING), (["all"], NOTE), (["nc*"], NOTE), ([], NOTE)):
            (run,) = collect(as_read([head(paths), lacking, end()]))
            assert failure_lines(run)[0][2] == level
        remedy = failure("aware", None, "unavailable", "crashed", "use another MPI")
        assert failure_lines(make_run(remedy))[0][2] == WARNING
