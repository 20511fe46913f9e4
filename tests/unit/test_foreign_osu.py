"""OSU's outputs: every layout, and every figure to the digit."""

from __future__ import annotations

import re

import pytest
from support.foreign import curves_of, read_text, text_of

PLAIN = """# OSU MPI Bandwidth Test v5.3.2
# Size      Bandwidth (MB/s)
1                       0.31
1048576               556.74
"""


@pytest.mark.parametrize(
    ("number", "operation", "memory"),
    [("03", "pingpong", "H D"), ("05", "bandwidth", "D D"), ("20", "bandwidth", "H H")],
)
def test_every_figure_of_a_post_is_read(number: str, operation: str, memory: str) -> None:
    text = text_of(number)
    (curve,) = curves_of(text)
    assert (curve.operation, curve.memory, curve.ranks, curve.direction) == (operation, memory, 2, "one")
    rows = re.findall(r"^(?:\[0\] )?(\d+)\s+([\d.]+)$", text, re.M)
    assert len(rows) == len(curve.points) > 20
    for (size, figure), point in zip(rows, curve.points, strict=True):
        value = point.seconds if operation == "pingpong" else point.rate
        assert point.bytes == int(size)
        assert value == float(figure) / 1e6 if operation == "pingpong" else value == float(figure) * 1e6
        assert text.splitlines()[point.line - 1].endswith(figure)


@pytest.mark.parametrize(
    "prefix",
    [
        *(
            "[0] ",
            "0: ",
            "[1,0]<stdout>:",
            "[1,0]<stdout>: ",
            "2026-11-28T10:00:00.123Z ",
            "[10:00:00] ",
            "node01: ",
        ),
        *(
            "  ",
            "> ",
            "(RayWorker pid=12) ",
            "[rank0]: ",
            "\x1b[32m",
            "run.log:",
            "2026-11-28 10:00:00,123 0: ",
        ),
    ],
)
def test_prefixes_and_line_ends_change_nothing(prefix: str) -> None:
    plain = curves_of(PLAIN)
    for end in ("\n", "\r\n", "\x1b[0m\n"):
        assert curves_of("".join(prefix + line + end for line in PLAIN.splitlines())) == plain


def test_two_ranks_figures_do_not_mix() -> None:
    other = PLAIN.replace("556.74", "1.00")
    lines = [
        f"n{number}: {line}\n"
        for pair in zip(PLAIN.splitlines(), other.splitlines(), strict=True)
        for number, line in enumerate(pair)
    ]
    assert [curve.points[-1].rate for curve in curves_of("".join(lines))] == [556.74e6, 1e6]


def test_decimal_commas() -> None:
    (curve,) = curves_of(PLAIN.replace("0.31", "0,31").replace("556.74", "556,74"))
    assert [point.rate for point in curve.points] == [0.31e6, 556.74e6]


def test_a_row_that_was_cut_off_is_no_figure() -> None:
    log = read_text(PLAIN[:-4])
    assert [point.bytes for point in log.curves[0].points] == [1]
    assert log.unknown == ((4, "1048576               556"),)


FULL = """# OSU MPI-CUDA Allreduce Latency Test v7.4
# Datatype: MPI_FLOAT.
# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations  P50 Tail Lat(us)   Validation
4                 20.71            18.02            23.40        1000             20.11         Pass
8                 21.00            18.10            24.00        1000             20.50         Fail
"""


def test_full_figures_tails_and_validation() -> None:
    (curve,) = curves_of(FULL)
    first, second = curve.points
    assert (curve.operation, curve.ranks) == ("all-reduce", None)
    assert (first.seconds, first.t_min, first.t_max) == (20.71 / 1e6, 18.02 / 1e6, 23.4 / 1e6)
    assert (first.repetitions, first.wrong, second.wrong) == (1000, 0.0, 1.0)


SEVERAL = """# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 4 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                      11.35       11350117.90
# OSU MPI Bi-Directional Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
1                       2.40
# OSU MPI_Put Latency Test v7.4
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Size          Latency (us)
1                       1.60
"""


def test_several_pairs_both_directions_and_one_sided() -> None:
    rate, both, put = curves_of(SEVERAL)
    assert (rate.operation, rate.ranks, rate.placement) == ("bandwidth", 8, "4 pairs, window of 64")
    assert (both.operation, both.direction) == ("both-ways", "both")
    assert (put.operation, put.placement) == ("rma", "MPI_Win_allocate, MPI_Win_flush")
    assert [one.points[0].rate for one in (rate, both)] == [11.35e6, 2.4e6]
