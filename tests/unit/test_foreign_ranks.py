"""Tables that ranks print at the same time: each stays its own, whatever stands before its lines."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import zip_longest

import pytest
from support.foreign import INPUTS, curves_of

from wirespeed.foreign.shapes import Curve

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
