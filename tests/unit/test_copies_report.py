"""Tables of copies: a figure's share of its limit, and what its rank did alone."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from support.records import entry, make_run, shown

from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts.shares import percent, share
from wirespeed.report.facts.trust import trust
from wirespeed.report.page import read_sources
from wirespeed.report.sources import measured
from wirespeed.report.views import bars
from wirespeed.results.export import to_csv
from wirespeed.results.reading import read
from wirespeed.results.runs import Run, collect, resumed

RESULTS = Path(__file__).parents[2] / "results"
BOTH_WAYS = RESULTS / "copies" / "h200-x2-copy-both.jsonl"
FOUR = RESULTS / "h200-x4-copy.jsonl"


def team(name: str, seconds: float, share: float = 0.01, **more: Any) -> dict[str, Any]:
    ends = {"low": seconds * (1 - share), "high": seconds * (1 + share)}
    return {"name": name, "first": 0, "seconds": {"median": seconds, **ends}, **more}


def copies(alone: dict[str, Any], with_all: float = 1e-3, **more: Any) -> Run:
    """One copy of two ranks, the first of which does all the work."""
    teams = [alone, team("rank 0 with all", with_all), team("rank 1 with all", with_all / 2)]
    more = {"teams": teams, "checked": {"iterations": 1, "bytes": 8}, **more}
    return make_run(entry("h2d-pinned", 1 << 20, with_all, pattern="copy", **more), pattern="copy")


def lines(run: Run) -> str:
    return " ".join(shown(run, 120).split())


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
    assert all(f" ({part})" in text for part in expected)
    assert "81.4 GB/s at 64 MiB 71 % of 115" in " ".join(table.split())


def test_a_wide_interval_alone_counts_and_is_explained() -> None:
    """Protects from `trust: yes` above a table with a `!`."""
    run = copies(team("rank 0 alone", 9e-4, 0.12))
    assert "!1.17" in lines(run) and "! not within ±10 %" in lines(run)
    told = trust(run)
    assert not told.good and "not within ±10 %" in told.words
    narrow = copies(team("rank 0 alone", 9e-4, 0.08))
    assert "!" not in lines(narrow) and "no interval wider than ±8.0 %" in trust(narrow).words


def test_a_rank_that_waited_alone_counts() -> None:
    """Protects from an `&` that no line explains: the rank had its CPU when all copied."""
    cores = {"waited": 0.0, "shared": None}
    run = copies(team("rank 0 alone", 9e-4, waited=0.5), cores=cores)
    assert "&1.17" in lines(run) and "waited for a CPU up to 50 % of the time" in lines(run)
    assert "figure is &" in trust(run).words


@pytest.mark.parametrize(("factor", "doubt"), [(1.2, True), (1.02, False), (0.9, False)])
def test_more_kept_than_all_is_said(factor: float, doubt: bool) -> None:
    """Protects `!` from a second meaning: what is wrong with such a share stands in words."""
    run = copies(team("rank 0 alone", 1e-3 * factor))
    text = lines(run)
    assert f"{100 * factor:.0f} %" in text and "!" not in text
    said = "h2d-pinned at 1 MiB kept 120 % of the rate alone: something else slowed the rank"
    assert (said in text) is doubt
    assert trust(run).good is not doubt


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


def test_the_page_has_a_bar_for_each_process() -> None:
    """Protects the page's reader, who sees which GPU is slow, and on which kind of copy."""
    sources, _ = read_sources([str(FOUR)])
    groups = {group.title: group.bars for group in bars(measured(sources)[:1])}
    of_ranks = groups["h2d-pinned, 256 MiB: each rank"]
    assert [bar.label for bar in of_ranks[::2]] == [f"rank {rank}, GPU {rank}" for rank in range(4)]
    assert [bar.paler for bar in of_ranks] == [False, True] * 4
    assert of_ranks[0].note == "55.0 GB/s alone" and of_ranks[1].note == "39.1 GB/s with all"
    assert "d2d, 256 MiB: each rank" in groups
