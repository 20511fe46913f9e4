"""A column is declared once: every table and the legend have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import report_files as made
from support.records import entry, make_run, shown

from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts import figure_columns
from wirespeed.report.facts.figure_columns import FigureColumn
from wirespeed.report.page import read_sources
from wirespeed.report.page.data import charts
from wirespeed.report.sources import measured

COLUMN = FigureColumn(
    head="sam-\nples",
    cell=lambda entry: f"{entry.samples} of them" if entry.bytes > 8 else None,
    explained="samples: as many as were taken",
    section="counted",
    brief=lambda entry: f"{entry.samples} x",
)
FEW, MANY = ("host", "aware"), ("host", "aware", "nccl", "gpu", "staged")
SIZES = (8, 1024)


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The column joins the table's others."""
    monkeypatch.setattr(figure_columns, "COLUMNS", (COLUMN,))


def table(paths: tuple[str, ...], sizes: tuple[int, ...] = SIZES) -> str:
    """All that is shown of these paths on a terminal, with the legend."""
    run = make_run(*(entry(path, size, 1e-6, samples=77) for path in paths for size in sizes))
    return shown(run, 160, explain=True)


def test_few_paths_have_a_column_each() -> None:
    text = table(FEW)
    heads, row = text.index("sam-"), text[text.index("1 KiB") :].splitlines()[0]
    assert heads < text.index("77 of them") and row.count("77 of them") == len(FEW)


def test_many_paths_have_a_row_where_a_figure_has_a_value() -> None:
    section = table(MANY)[table(MANY).index("counted ─") :].splitlines()
    assert section[1].split() == ["1", "KiB", *["77", "x"] * len(MANY)] and "77 x" not in section[2]


def test_the_legend_explains_it_where_it_is_shown() -> None:
    assert COLUMN.explained in table(FEW) and COLUMN.explained in table(MANY)
    assert COLUMN.explained not in table(FEW, sizes=(8,)) and "sam-" not in table(FEW, sizes=(8,))


def test_the_page_and_markdown_have_it(tmp_path: Path) -> None:
    lines = [made.head(), made.step("aware"), *made.curve("aware", 2e-6, 4e10), made.end()]
    sources, _ = read_sources([made.write(tmp_path / "a.jsonl", *lines)])
    (chart,) = charts(measured(sources), "pingpong")
    (curve,) = chart["series"]
    first, *others = curve["columns"]["samples"]
    assert first == "" and others and all(cell.endswith("of them") for cell in others)
    text = markdown(sources)
    assert " samples |" in text and text.count("of them") == len(others)
