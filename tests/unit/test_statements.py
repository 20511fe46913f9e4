"""What is said of a run: the terminal, the page and Markdown say the same."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from support.measured import measured

from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts.statement import ReportSection, Statement
from wirespeed.report.facts.statements import statements
from wirespeed.report.page import read_sources, render
from wirespeed.report.terminal import run_summary
from wirespeed.results.runs import Run

FROM_THE_TABLE = re.compile(
    r"95 % = |95 % interval|min: |min, max: |[*≈!] |a range|~ not within|.*; GB = 1e9 bytes"
)
"""Beginnings of a legend's lines that differ as the tables do."""


def plain(text: str) -> str:
    return " ".join(text.split())


def on_terminal(run: Run) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=1000, highlight=False, markup=False, emoji=False, _environ={"TERM": "dumb"}
    )
    run_summary.print_run(console, run, explain=True)
    return plain(stream.getvalue())


def on_page(page: str) -> str:
    without = re.sub(r"<script.*?</script>|<[^>]*>", "", page, flags=re.DOTALL)
    return plain(html.unescape(without))


def in_markdown(text: str) -> str:
    return plain(re.sub(r"\\(.)", r"\1", text.replace("**", "").replace("&lt;", "<")))


def said(run: Run) -> list[Statement]:
    """Without what explains the columns of a table, which are not the same everywhere."""
    return [
        one
        for one in statements(run)
        if not (one.part is ReportSection.METHOD and FROM_THE_TABLE.match(one.text))
    ]


def contained(found: list[Statement], text: str) -> set[Statement]:
    """Those of them that the text has; a terminal has what came of the paths in columns."""
    return {
        one
        for one in found
        if plain(one.text.split(";")[0] if one.part is ReportSection.PATHS else one.text) in text
        and one.subject in text
    }


@pytest.mark.parametrize("file", measured(always=()))
def test_all_three_say_the_same(file: Path) -> None:
    """Protects the reader of one of them: nothing that is known of a run is said to another reader alone."""
    sources, lost = read_sources([str(file)])
    page, text = on_page(render(sources, lost)), in_markdown(markdown(sources, lost))
    for run in (run for source in sources for run in source.runs):
        found = said(run)
        assert found and contained(found, on_terminal(run)) == set(found)
        assert contained(found, page) == set(found) == contained(found, text)
