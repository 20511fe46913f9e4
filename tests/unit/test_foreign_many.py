"""Texts with more figures than are kept: whole tables are kept, the others counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.foreign import INPUTS

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
