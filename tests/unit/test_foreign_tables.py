"""Many tables in a text: whole ones are kept, others counted, and those of several ranks stay apart."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest
from support.foreign import INPUTS, curves_of

from wirespeed.foreign import found
from wirespeed.foreign.as_results import results_of
from wirespeed.foreign.reading import read
from wirespeed.foreign.shapes import Curve, LeftOut

FILES = sorted(INPUTS.rglob("*.*"))
FAILING = b"[1] cuIpcOpenMemHandle failed\n"


def lines_of(curves: tuple[Curve, ...]) -> set[int]:
    return {point.line for curve in curves for point in curve.points}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_first_tables_are_kept_whole(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = [*(file.read_bytes() + b"\n").splitlines(keepends=True)] * 3
    whole = read(text)
    rows = [len(curve.points) for curve in whole.curves]
    monkeypatch.setattr(found, "MOST_ROWS", max(1, sum(rows) // 3, max(rows, default=0) // 2))
    some = read([*text, FAILING])
    kept = [curve for curve in whole.curves if curve in some.curves]
    assert tuple(kept) == some.curves
    left = lines_of(whole.curves) - lines_of(some.curves)
    # The head of a matrix counts as a row, and so does a line that is cut.
    assert bool(some.left_out) == bool(left)
    assert not some.left_out or (some.left_out.rows >= len(left) and some.left_out.since <= min(left))
    assert whole.left_out is None
    assert (some.settings, some.versions, some.failures[:-1]) == (
        whole.settings,
        whole.versions,
        whole.failures,
    )
    assert some.failures[-1].line == len(text) + 1


def test_long_table_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a file of one table that takes all memory."""
    monkeypatch.setattr(found, "MOST_ROWS", 10)
    log = read([b"size (bytes),time (us)\n", *(b"%d,%d\n" % (size, size) for size in range(1, 101))])
    assert [point.bytes for point in log.curves[0].points] == [*range(1, 21)]
    assert log.left_out == LeftOut(80, 22)
    assert results_of(log, "log.csv").warnings == [
        "from line 22 on, 80 rows of figures left out: too many to read at once; cut the text into parts"
    ]


PAIRS = [
    ("[1,0]<stdout>:", "[1,1]<stdout>:"),
    ("[1,0]<stdout>: ", "[1,1]<stdout>: "),
    ("[0] ", "[1] "),
    ("0: ", "1: "),
    ("node01: ", "node02: "),
    ("[rank0]: ", "[rank1]: "),
    ("node01: [0] ", "node01: [1] "),
    ("2026-11-28 10:00:00,123 [1,0]<stdout>:", "2026-11-28 10:00:01,001 [1,1]<stdout>:"),
    ("2026-11-28 10:00:00,123 INFO [0] ", "2026-11-28 10:00:01,001 INFO [1] "),
    ("Nov 28 10:00:00 node1 run.sh[42]: ", "Nov 28 10:00:00 node1 run.sh[43]: "),
]
TABLES = ["03a*", "05b*", "14d*", "14g*", "26d*", "01f*", "22a*", "08f*"]


def table(name: str) -> list[str]:
    (file,) = (INPUTS / "kinds").glob(name)
    return [line.removeprefix("[1,0]<stdout>:") for line in file.read_text().splitlines()]


def without_lines(curves: tuple[Curve, ...]) -> list[Curve]:
    return [
        replace(curve, points=tuple(point._replace(line=0) for point in curve.points)) for curve in curves
    ]


def other(line: str) -> str:
    """The other rank's line: another figure in each row."""
    return line.replace(".1", ".7").replace(".2", ".3").replace(".5", ".6")


@pytest.mark.parametrize("prefixes", PAIRS, ids=lambda pair: pair[0])
@pytest.mark.parametrize("name", TABLES)
def test_interleaved_tables_stay_apart(name: str, prefixes: tuple[str, str]) -> None:
    """Line by line, and in pieces of any length: as each rank's own output says."""
    first = table(name)
    second = [other(line) for line in first]
    alone = [without_lines(curves_of("\n".join(lines))) for lines in (first, second)]
    assert alone[0] and alone[1] and alone[0] != alone[1]
    by_turns = [
        f"{prefix}{line}"
        for both in zip_longest(first, second, fillvalue="")
        for prefix, line in zip(prefixes, both, strict=True)
    ]
    left, pieces, dice = [list(first), list(second)], list[str](), random.Random(name)
    while any(left):
        at = dice.choice([at for at in (0, 1) if left[at]])
        size = dice.randint(1, 4)
        pieces += [f"{prefixes[at]}{line}" for line in left[at][:size]]
        del left[at][:size]
    for lines in (by_turns, pieces):
        found = without_lines(curves_of("\n".join(lines)))
        assert sorted(map(str, found)) == sorted(map(str, (*alone[0], *alone[1])))
