"""Tables of copies: a figure's share of its limit, and what its rank did alone."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from support.records import entry, make_run, shown

from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts.shares import percent, share
from wirespeed.report.page import read_sources
from wirespeed.report.page.notes import sections
from wirespeed.report.sources import measured
from wirespeed.results.export import to_csv
from wirespeed.results.reading import read
from wirespeed.results.runs import collect, resumed

RESULTS = Path(__file__).parents[2] / "results"
BOTH_WAYS = RESULTS / "copies" / "h200-x2-copy-both.jsonl"
FOUR = RESULTS / "h200-x4-copy.jsonl"


def test_the_share_of_the_limit_is_that_of_the_same_figure_everywhere() -> None:
    """Protects a reader of two reports of one file from two percentages under one name."""
    sources, _ = read_sources([str(BOTH_WAYS)])
    run, text = sources[0].runs[0], markdown(sources)
    table = shown(run, 120)
    found = [share(figure, run.ceiling(path)) for (path, _), figure in run.entries.items()]
    expected = [percent(part) for part in found if part is not None]
    assert len(expected) == 9
    rows = re.findall(r"^.*\d (?:KiB|MiB) .*\d %$", table, re.MULTILINE)
    assert [" ".join(row.split()[-2:]) for row in rows] == expected
    assert all(f" | {part} |" in text for part in expected)
    assert "81.4 GB/s at 64 MiB 71 % of 115" in " ".join(table.split())


def test_csv_has_a_line_for_each_process() -> None:
    """Protects who looks for a slow GPU in a spreadsheet: each rank's own figure, alone and with all."""
    run, *_ = resumed(collect(read(str(FOUR)).records))
    rows = list(csv.DictReader(io.StringIO(to_csv([run]))))
    of_size = [row for row in rows if (row["path"], row["bytes"]) == ("h2d-pinned", str(1 << 28))]
    assert [(row["rank"], row["others_copy"]) for row in of_size] == [
        ("", ""), *((str(rank), others) for rank in range(4) for others in ("no", "yes"))
    ]  # fmt: skip
    slowest, *ranks = (float(row["bandwidth_Bps"]) for row in of_size)
    assert min(ranks[1::2]) == pytest.approx(slowest) and min(ranks[::2]) > 1.3 * slowest
    assert [row["iterations"] for row in of_size[1::2]] == ["0"] * 4, "alone: not on record"
    assert "rank" not in to_csv([make_run(entry("host", 8, 1e-6))]).splitlines()[0].split(",")


def test_the_page_has_a_row_for_each_process() -> None:
    """Protects the page's reader, who sees which GPU is slow, and on which kind of copy."""
    sources, _ = read_sources([str(FOUR)])
    section = next(each for each in sections(measured(sources), ["copy"]) if each.pattern == "copy")
    (_, tables), *_ = section.tables
    (heads, *rows), *_ = (rows for rows in tables if rows[0][0] == "GB/s of each rank, 256 MiB")
    assert [row[:2] for row in rows] == [[str(rank), f"GPU {rank}"] for rank in range(4)]
    alone = heads.index("h2d-pinned alone")
    assert heads[alone + 1] == "h2d-pinned with all" and rows[0][alone : alone + 2] == ["55.0", "39.1"]
    assert any(head.startswith("d2d") for rows in tables for head in rows[0])
