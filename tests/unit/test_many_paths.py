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
from support.records import (
    as_read,
    console,
    end,
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

from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.export.formats import FORMATS
from wirespeed.report.facts import contrasts, figures
from wirespeed.report.facts.failures import failure_lines
from wirespeed.report.facts.statement import BAD, NOTE, WARNING
from wirespeed.report.facts.transport_choices import choices
from wirespeed.report.terminal import run_summary
from wirespeed.report.views import path_columns
from wirespeed.results.runs import Run, collect, joined
from wirespeed.statistics import samples
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
                rate = size > path_columns.SPLIT
                assert (format_rate(made.rate) if rate else figures.microseconds(made.seconds)) in cells

    @pytest.mark.parametrize(("width", "tables"), [(80, 1), (120, 1), (160, 1), (200, 1)])
    def test_seven_paths_are_one_table(self, width: int, tables: int) -> None:
        """Protects the reason for this table: seven paths side by side on a plain terminal."""
        assert len(re.findall(r"^one way, us", shown(run_of(SEVEN), width), re.MULTILINE)) == tables

    @pytest.mark.parametrize(("width", "tables"), [(80, 2), (120, 1), (160, 1)])
    def test_fourteen_paths_take_two_tables_at_most(self, width: int, tables: int) -> None:
        """Protects a cluster's whole run from becoming a scroll of tables."""
        assert len(re.findall(r"^one way, us", shown(run_of(MANY), width), re.MULTILINE)) == tables

    def test_small_sizes_have_times_and_large_ones_bandwidths(self) -> None:
        """Protects the units: a row stands under the line that names its figures' unit."""
        text = shown(run_of(SEVEN), explain=True)
        times, rates = text.index("one way, us"), text.index("\nGB/s ─")
        assert times < text.index("\n 64 KiB ") < rates < text.index("\n128 KiB ") < text.index("\n  8 GiB ")
        assert "GB/s = bytes / one way" in " ".join(text.split())

    def test_few_sizes_are_shown_both_ways(self) -> None:
        """Protects a run of one large size: its time is asked for as often as its bandwidth."""
        run = run_of(SEVEN, sizes=(8, 1 << 20))
        table = rows(shown(run, 160).split("one way: ")[0])
        aware = run.entries["aware", 1 << 20]
        assert figures.microseconds(aware.seconds) in table["1 MiB"]
        assert format_rate(aware.rate) in table["1 MiB"]
        assert format_rate(run.entries["aware", 8].rate) not in table["8 B"]

    def test_the_fastest_of_each_kind_of_data_is_marked(self) -> None:
        """Protects host paths from being compared with GPU paths."""
        run = run_of(MANY, sizes=(8, 16, 32, 64, 128, 256, 512))
        text = shown(run, 200)
        for line in text.splitlines():
            if re.match(r" *\d+ B ", line):
                assert "*" not in line
                assert re.search(r"host +staged$", line)
        assert re.search(r"CPU data +GPU data", text)

    def test_paths_of_one_kind_stand_together(self) -> None:
        """Protects the heads over the columns: a host path between GPU paths would stand under 'GPU data'."""
        names = ("staged", "aware", "nccl", "gpu", "rma-host")
        lines = shown(run_of(names), 160).splitlines()
        over = next(line for line in lines if "CPU data" in line)
        assert over.split() == ["CPU", "data", "GPU", "data", *["fastest"] * ("fastest" in over)]
        first = next(line for line in lines if re.match(r" *1 B ", line))
        assert first.split()[2] == "5.00"

    def test_what_unmarked_figures_claim_is_true(self) -> None:
        """Protects the line that stands for all intervals: it is true of each unmarked figure."""
        run = make_run(
            *(entry(path, 8, 1e-6, 0.008) for path in SEVEN[1:]),
            entry("host", 8, 1e-6, 0.02, stopped="max-time"),
            entry("host", 12, 1e-6, 0.13, stopped="max-time"),
            entry("host", 16, 1e-6, 0.5, stopped="max-time", precision=None),
        )
        text = " ".join(shown(run, explain=True).split())
        assert "95 % interval of the median, within ±1 % unless marked" in text
        assert "~ not within ±1 % when --max-time (0.4 s) was over; the widest is ±13 %" in text
        assert "a range or !: not within ±10 %" in text and re.search(r"12 B  *0\.87-1\.1 ", text)
        assert "? too few samples for an interval" in text
        assert re.search(r"8 B ~1\.00 ", text) and re.search(r"16 B \?1\.00 ", text)
        odd = make_run(*(entry(path, 8, 1e-6, 0.03) for path in SEVEN))
        assert "within ±3.0 % everywhere" in shown(odd, explain=True)

    def test_failed_sizes_are_short_words_in_their_cells(self) -> None:
        """Protects narrow columns from long words, and the reader from a cell that says nothing."""
        run = make_run(
            *(entry(path, 8, 1e-6) for path in SEVEN),
            failure("aware", 16, "mismatch", "byte 3"),
            failure("gpu", 16, "hang", "no progress"),
        )
        row = next(line for line in shown(run, 120).splitlines() if re.match(r" *16 B ", line))
        assert sorted(row.split()[2:]) == ["-"] * 5 + ["hung", "wrong"]

    def test_without_colours_or_letters(self) -> None:
        """Protects logs: no escape codes; and terminals of ASCII: no box letters."""
        screen = console(120, force_terminal=True, color_system="standard", no_color=True)
        run_summary.print_run(screen, run_of(SEVEN))
        assert "\x1b[32m" not in text_of(screen) and "\x1b[33m" not in text_of(screen)
        file = io.TextIOWrapper(io.BytesIO(), "ascii", "replace")
        Console(file=file, width=120).print(*path_columns.lay_out(120, run_of(SEVEN), run_of(SEVEN).sizes))
        file.seek(0)
        assert "one way, us ---" in file.read()

    @pytest.mark.parametrize("format_", ["json", "csv"])
    def test_other_formats_know_nothing_of_it(self, format_: str) -> None:
        """Protects scripts: records go out as they came in."""
        records = [head(), entry("host", 8, 1e-6), entry("aware-nogdr", 8, 1e-6), end()]
        stream = io.StringIO()
        FORMATS[format_](collect(as_read(records)), stream, None)
        assert "GPUDirect" not in stream.getvalue() and "aware-nogdr" in stream.getvalue()


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


class TestPrice:
    def pair(self, *more: dict[str, Any], other: str = "openmpi", **environment: str) -> Run:
        variables = {"OMPI_MCA_pml": "ucx"}
        return joined(
            collect(
                as_read(
                    [
                        head(variables=environment),
                        step("aware", variables),
                        step(
                            "aware-nogdr",
                            {**variables, "UCX_TLS": "^cuda_ipc"},
                            without="aware",
                            mpi={"vendor": other, "version": "5.0.11"},
                        ),
                        *(more or (entry("aware", 8, 1e-6, 0.003), entry("aware-nogdr", 8, 4e-6, 0.004))),
                        end(),
                    ]
                )
            )
        )

    def test_the_ratio_and_its_interval(self) -> None:
        """Protects the price of GPUDirect: without / with, and the interval as squares add up."""
        text = " ".join(shown(self.pair(), 120, explain=True).split())
        assert "8 B 1.00 us ±0.3 % 0.0080 4.00 us ±0.4 % 0.0020 4.00x ±0.5 % aware" in text
        assert "GPUDirect: how many times longer it takes without: aware-nogdr / aware; the widest" in text
        assert "aware-nogdr: aware with UCX_TLS=^cuda_ipc" in text

    def test_many_paths_have_it_too(self) -> None:
        """Protects each pair's column, and where there is no room its table."""
        for width in (40, 80, 120, 160, 200):
            text = shown(run_of(MANY, sizes=SIZES[:8]), width)
            assert text.count("GPUDirect\n") + text.count("GPUDirect   ") == 1
            # aware-nogdr is the sixth, aware the fifth; nccl-nop2p the ninth, nccl the seventh.
            assert re.search(r"1 B .*1\.20x.* 1\.29x", text)

    def test_no_difference_is_called_so(self) -> None:
        """Protects from reading noise as a gain."""
        run = self.pair(entry("aware", 8, 1e-6, 0.02), entry("aware-nogdr", 8, 1.01e-6, 0.02))
        assert "1.01x≈" in shown(run, 120)
        assert "≈ where it includes 1: no difference" in " ".join(shown(run, 120, explain=True).split())
        assert "aware-nogdr / aware; ≈ no difference" in shown(run, 120)

    def test_the_line_has_both_ends(self) -> None:
        """Protects from a gain alone, where a switch that is off is faster at other sizes."""
        slower = entry("aware", 8, 1e-6, 0.003), entry("aware-nogdr", 8, 4e-6, 0.004)
        faster = entry("aware", 64, 6e-6, 0.003), entry("aware-nogdr", 64, 1e-6, 0.004)
        alike = entry("aware", 512, 1e-6, 0.3), entry("aware-nogdr", 512, 9e-7, 0.3)
        long, fast = "takes up to 4.00 times as long (at 8 B)", "is up to 6.00 times as fast (at 64 B)"
        for more, said in (
            ((*slower, *faster, *alike), [f"{long}, but {fast}"]),
            ((*slower, *alike), [long]),
            (faster, [fast]),
            (alike, []),
        ):
            assert [words for _, words in contrasts.most(self.pair(*more))] == said

    def test_a_size_that_one_of_them_lacks(self) -> None:
        """Protects from a ratio with nothing."""
        run = self.pair(entry("aware", 8, 1e-6), entry("aware-nogdr", 16, 1e-6))
        (pair,) = contrasts.pairs(run)
        assert pair.worth(run, 8) is None and pair.worth(run, 16) is None
        shown(run, 120)

    def test_figures_without_intervals_have_ratios_without(self) -> None:
        """Protects --loops: no interval is made up."""
        more: dict[str, Any] = {"stopped": "fixed", "precision": None}
        run = self.pair(entry("aware", 8, 1e-6, **more), entry("aware-nogdr", 8, 4e-6, **more))
        assert "4.00x" in shown(run, 120)
        assert "interval of these ratios" not in shown(run, 120)
        unsure = self.pair(entry("aware", 8, 1e-6, precision=None), entry("aware-nogdr", 8, 4e-6))
        assert "4.00x?" in shown(unsure, 120)

    def test_other_mpis_are_not_compared(self) -> None:
        """Protects from calling the difference of two MPIs the price of GPUDirect."""
        run = self.pair(other="mpich")
        assert not contrasts.pairs(run)
        assert "measured with another MPI than aware: their ratio would say nothing" in shown(run, 120)

    def test_a_switch_that_was_off_for_both_is_not_compared(self) -> None:
        """Protects users who have UCX_TLS in their environment from a price of 1.00x."""
        run = self.pair(UCX_TLS="^cuda_ipc")
        assert not contrasts.pairs(run)
        assert "aware ran with the same variables" in shown(run, 120)

    def test_what_the_user_had_set_is_told(self) -> None:
        """Protects the reader: aware ran with the user's own transports."""
        run = self.pair(UCX_TLS="rc,cuda_copy")
        assert "aware with UCX_TLS=^cuda_ipc (aware itself: UCX_TLS=rc,cuda_copy)" in shown(
            run, 120, explain=True
        )
        assert contrasts.pairs(run)

    def test_a_switched_off_path_alone_names_its_switch(self) -> None:
        """Protects a run of aware-nogdr alone: what was off is still said, without a ratio."""
        run = make_run(
            step("aware-nogdr", {"OMPI_MCA_pml": "ucx", "UCX_TLS": "^cuda_ipc"}, without="aware"),
            entry("aware-nogdr", 8, 1e-6),
        )
        assert choices(run) == [("aware-nogdr", "aware with UCX_TLS=^cuda_ipc")]

    @given(st.floats(0, 0.3), st.floats(0, 0.3), st.floats(0.01, 100))
    def test_ratio_interval(self, one: float, other: float, ratio: float) -> None:
        """Protects MOVER: no wider than both intervals together, no narrower than either; symmetric."""
        top = (ratio, ratio / (1 + one), ratio * (1 + one))
        bottom = (1.0, 1 / (1 + other), 1 + other)
        value, low, high = samples.ratio_interval(top, bottom)
        assert value == pytest.approx(ratio)
        widest, least = (1 + one) * (1 + other), 1 + max(one, other)
        assert ratio / widest * (1 - 1e-9) <= low <= ratio / least * (1 + 1e-9)
        assert ratio * least * (1 - 1e-9) <= high <= ratio * widest * (1 + 1e-9)
        back = samples.ratio_interval(bottom, top)
        assert back[1:] == pytest.approx((1 / high, 1 / low))


class TestChoices:
    def test_versions_and_ways_share_a_line_where_alike(self) -> None:
        """Protects NCCL's own words, said once for several paths."""
        details = {"version": "2.27.7", "via": ["P2P/CUMEM", "P2P/CUMEM"], "abi": "openmpi"}
        run = make_run(
            *(step(path, details=details) for path in ("nccl", "nccl-stream")),
            *(entry(path, 8, 1e-6) for path in ("nccl", "nccl-stream")),
        )
        assert choices(run) == [("nccl, nccl-stream", "version 2.27.7, via P2P/CUMEM")]
        assert "nccl, nccl-stream: version 2.27.7, via P2P/CUMEM" in shown(run, explain=True)

    def test_methods_by_size(self) -> None:
        """Protects the crossovers: which method carried which sizes."""
        protocol = {0: "LL", 8: "LL", 1 << 16: "LL", 1 << 21: "stores", 1 << 22: "TMA"}
        run = make_run(
            *(
                entry("gpu", size, 1e-6, details={"protocol": name, "blocks": size})
                for size, name in protocol.items()
            )
        )
        assert choices(run) == [
            ("gpu", "protocol LL for messages up to 64 KiB, stores up to 2 MiB, TMA from 4 MiB")
        ]

    def test_sizes_in_bytes_and_what_never_changes(self) -> None:
        """Protects other transports' words: pieces of a pipeline, one method at every size."""
        run = make_run(
            step("staged", details={"through": "ring", "slots": 4, "nothing": None, "shared": True}),
            *(
                entry("staged", size, 1e-6, details={"by": "engine", "chunk": min(size, 4096)})
                for size in (1024, 4096, 8192)
            ),
        )
        assert choices(run) == [
            (
                "staged",
                "through ring; copies started by the engine; chunk size 1 KiB for messages up to 1 KiB, "
                "4 KiB from 4 KiB",
            )
        ]

    @pytest.mark.parametrize(
        "details", [None, [], "text", {"x": {"y": 1}}, {"": ""}, {"a_bytes": 1.5, "b": "\x1b[31m"}]
    )
    def test_strange_details_do_no_harm(self, details: Any) -> None:
        """Protects readers of files that another version wrote."""
        text = shown(make_run(step("gpu", details=details), entry("gpu", 8, 1e-6, details=details)))
        assert "\x1b" not in text


class TestFailures:
    def test_one_line_for_a_path_that_breaks_at_many_sizes(self) -> None:
        """Protects the table's end from thirty lines of the same kind."""
        run = make_run(
            entry("host", 4, 1e-6),
            *(failure("host", size, "mismatch", f"byte 0 of {size}") for size in (8, 16, 32, 1 << 20)),
            failure("host", 64, "error", "no"),
        )
        assert failure_lines(run) == [
            ("host at 4 sizes, 8 B to 1 MiB", "wrong data: byte 0 of 8 (at 8 B)", BAD),
            ("host at 64 B", "error: no", BAD),
        ]

    def test_what_several_paths_lack_is_said_once(self) -> None:
        """Protects from three lines for one missing library."""
        lack = "libnccl.so.2 not found (pip install nvidia-nccl-cu13)"
        run = make_run(*(failure(path, 1, "unavailable", lack) for path in ("nccl", "nccl-stream")))
        assert failure_lines(run) == [("nccl, nccl-stream", f"not available: {lack}", NOTE)]

    def test_who_asked_by_name_is_told_loudly(self) -> None:
        """Protects `--paths nccl`: what was asked for and is not there must be seen."""
        lacking = failure("nccl", None, "unavailable", "libnccl.so.2 not found")
        for paths, level in ((["nccl"], WARNING), (["all"], NOTE), (["nc*"], NOTE), ([], NOTE)):
            (run,) = collect(as_read([head(paths), lacking, end()]))
            assert failure_lines(run)[0][2] == level
        remedy = failure("aware", None, "unavailable", "crashed", "use another MPI")
        assert failure_lines(make_run(remedy))[0][2] == WARNING

    def test_a_size_that_a_working_path_lacks_is_named(self) -> None:
        """Protects the rest of the path: one size too large does not make it unavailable."""
        run = make_run(entry("gpu", 8, 1e-6), failure("gpu", 1 << 30, "unavailable", "no room"))
        assert failure_lines(run) == [("gpu at 1 GiB", "not available: no room", WARNING)]


def test_the_table_of_a_run_that_says_no_memory() -> None:
    """Protects readers of entries without a memory: they count as GPU data, as before."""
    assert figure("x", 8, 1e-6, memory="").memory_domain == "GPU"
    shown(full_run(("a", "b", "c", "d", "e")), 60)
