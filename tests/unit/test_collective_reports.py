"""Collective operations in tables, limits and other programs' layouts."""

from __future__ import annotations

import io
from typing import Any

import pytest
from support.limited import used
from support.records import as_read, end, entry, head, shown

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.path_selection import by_algorithms, select, unsuited
from wirespeed.limits import ceiling
from wirespeed.paths import find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.patterns.collectives.operation import CollectivePattern
from wirespeed.report.export.formats import FORMATS
from wirespeed.results.runs import Run, collect


def reduced(
    in_place: str, *entries: tuple[str, int, float], run: str = "r", name: str = "allreduce", wrong: int = 0
) -> Run:
    """A run of four ranks: (path, bytes, seconds)."""
    pattern = find_pattern(name)
    options = {"algorithm": "library,best", "type": "fp32", "op": "sum", "in_place": in_place}
    begin = head()
    begin["plan"] = {**begin["plan"], "pattern": name, "ranks": 4, "options": list(options.items())}
    records: list[dict[str, Any]] = [begin]
    for path, size, seconds in entries:
        figure = pattern.figure(Shape(4, options), size)
        rates = {"median": figure.bytes / seconds, "low": None, "high": None}
        derived = [
            {"name": one.name, "unit": one.unit, "median": one.amount / seconds / 1e9}
            for one in figure.derived
        ]
        records.append(
            entry(path, size, seconds)
            | {"pattern": name, "definition": figure.definition, "bandwidth_bytes": figure.bytes}
            | {"bytes_per_second": rates, "derived": derived, "memory": "pageable"}
            | {
                "checked": {"iterations": 2, "bytes": 2 * size, "wrong": wrong},
                "details": {"algorithm": "ring"},
            }
        )
    (found,) = collect(as_read([{**record, "run": run} for record in [*records, end()]]))
    return found


def export(name: str, *runs: Run) -> str:
    stream = io.StringIO()
    FORMATS[name](runs, stream, None)
    return stream.getvalue()


def test_rows_of_nccl_tests() -> None:
    """Protects programs that split lines at blanks: out of place before in place, N/A for neither."""
    apart = reduced("no", ("host", 1 << 20, 1e-3), ("host", 8, 1e-6))
    inside = reduced("yes", ("host", 1 << 20, 2e-3), ("host:ring", 8, 1e-6), run="s")
    text = export("nccl-tests", apart, inside)
    rows = [" ".join(line.split()) for line in text.splitlines() if line and not line.startswith("#")]
    assert rows == [
        "8 2 float sum -1 1.00 0.01 0.01 0 N/A N/A N/A N/A",
        "1048576 262144 float sum -1 1000.0 1.05 1.57 0 2000.0 0.52 0.79 0",
        "8 2 float sum -1 N/A N/A N/A N/A 1.00 0.01 0.01 0",
    ]
    assert "# wirespeed allreduce, path host, 4 ranks; n1" in text
    assert "# Avg bus bandwidth    : 0.790432" in text and "# Out of bounds values : 0 OK" in text


def test_rows_of_nccl_tests_count_what_was_wrong() -> None:
    """Protects from an OK that nothing could change."""
    text = export("nccl-tests", reduced("no", ("host", 8, 1e-6), wrong=3))
    assert "# Out of bounds values : 3 FAILED" in text


@pytest.mark.parametrize("seconds", [0.22040151, 12.5, 1e-7, 123.4])
def test_columns_of_long_times_stay_apart(seconds: float) -> None:
    """Protects programs that split at blanks: from 100 ms on, '-1220401.51' was one word."""
    text = export(
        "nccl-tests",
        reduced("no", ("host", 1 << 30, seconds)),
        reduced("yes", ("host", 1 << 30, seconds), run="s"),
    )
    (row,) = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert len(row) == 13 and row[4] == "-1"
    assert all(float(time) == pytest.approx(seconds * 1e6, rel=1e-3, abs=0.01) for time in (row[5], row[9]))


def test_other_patterns_have_no_such_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects a user who names the format for a ping-pong: one line, before anything is measured."""
    other = reduced("no", ("host", 0, 1e-6), name="barrier")
    with pytest.raises(WirespeedError, match=r"^--format nccl-tests: .*, not of barrier$"):
        export("nccl-tests", other)
    assert main(["pingpong", "--format", "nccl-tests"]) == ExitCode.USAGE
    assert "not of pingpong" in capsys.readouterr().err


def test_rows_of_osu() -> None:
    """Protects OSU's readers: a collective has a latency in microseconds, and no bandwidth."""
    text = export("osu", reduced("no", ("host", 1024, 1.25e-5)))
    assert text.splitlines()[1:] == ["# Size          Latency (us)", "1024                 12.5000"]


def test_a_table_of_two_ways() -> None:
    """Protects the columns: both bandwidths, both entries of a path, and which algorithm it was."""
    run = reduced("no", ("host", 1 << 20, 1e-3), ("host:best", 1 << 20, 2e-3))
    text = shown(run, explain=True)
    assert run.paths == ["host", "host:best"]
    assert "algbw" in text and "1.57" in text and "1.05" in text
    assert "algorithm ring" in text and "data check: passed" in text
    assert "library,best" not in text, "the columns say it"


def test_entries_of_a_path() -> None:
    """Protects --algorithm: the library's own only where it has one, and each of ours."""
    allreduce = find_pattern("allreduce")
    assert isinstance(allreduce, CollectivePattern)

    def names(algorithm: str, *paths: str) -> list[str]:
        shape = Shape(4, {"algorithm": algorithm})
        return [path.name for path in by_algorithms(map(find_path, paths), allreduce, shape)]

    assert names("library,best", "host", "staged") == ["host", "host:best", "staged:best"]
    assert names("all", "host") == ["host", "host:ring", "host:doubling", "host:direct", "host:one-shot"]
    assert names("library", "staged") == ["staged"]
    assert "--algorithm best" in str(unsuited(find_path("staged"), allreduce))
    (named,) = select(["host:ring"])
    assert by_algorithms([named], allreduce, Shape(4)) == [named]
    assert "is an algorithm of collective operations" in str(unsuited(named, find_pattern("pingpong")))
    with pytest.raises(WirespeedError, match="there are: ring, doubling, direct, one-shot, best"):
        select(["host:tree"])
    assert unsuited(find_path("staged:ring"), allreduce) is None and find_path("staged:ring").staged


def test_the_limit_is_of_the_bus_bandwidth() -> None:
    """Protects the percentage: what leaves a GPU over all of its links."""
    found = ceiling(used("allreduce"))
    assert found and found.rate == 450e9
    assert found.equation.endswith("out of a GPU, if every GPU reaches every other")


def test_ways_of_a_library() -> None:
    """Protects `nccl:registered` and alike: entries of their own, beside ours, on paths that have them."""
    pattern = find_pattern("allreduce")
    assert isinstance(pattern, CollectivePattern)
    chosen = by_algorithms(select(("host", "nccl")), pattern, Shape(4, {"algorithm": "all"}))
    ways = ("registered", "symmetric", "graph")
    assert [path.name for path in chosen if path.name.startswith("nccl")][:4] == [
        "nccl",
        *(f"nccl:{way}" for way in ways),
    ]
    assert not [path for path in chosen if path.name in {f"host:{way}" for way in ways}]
    for way, option in zip(
        ways, ("buffers=registered", "buffers=symmetric", "enqueue=graph-only"), strict=True
    ):
        path = find_path(f"nccl-stream:{way}")
        # By the library, so nothing is ours.
        assert not path.algorithm and path.options == f"iterations=stream;{option}"
        assert unsuited(path, pattern) is None
    handed_out = find_path("nccl:symmetric")
    assert "--allocator" in str(unsuited(handed_out, pattern, allocator="pool"))
    with pytest.raises(WirespeedError, match="the paths nccl, nccl-stream, nccl-nop2p have it"):
        by_algorithms(select(("host",)), pattern, Shape(4, {"algorithm": "symmetric"}))
    with pytest.raises(WirespeedError, match="no algorithm called 'graph'"):
        select(("host:graph",))
