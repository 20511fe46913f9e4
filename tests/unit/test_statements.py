"""What is said of a run: the terminal, the page, Markdown, JSON and the ticket say the same."""

from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from support.measured import measured
from support.records import entry, make_run, step

from wirespeed.report.export.formats import TEXTS, print_tables
from wirespeed.report.export.markdown import markdown
from wirespeed.report.export.ticket import MOST_LINES
from wirespeed.report.facts import markers
from wirespeed.report.facts.statement import GOOD, WARNING, ReportSection, Statement
from wirespeed.report.facts.statements import statements
from wirespeed.report.facts.summary import Summary, answer
from wirespeed.report.page import Source, read_sources, render
from wirespeed.report.page.answers import answers
from wirespeed.report.sources import measured as sets_of
from wirespeed.report.terminal import run_summary
from wirespeed.results.runs import Run

FROM_THE_TABLE = re.compile(
    r"95 % = |95 % interval|GB/s = |min: |min, max: |[*≈!] |a range|~ not within|.*; GB = 1e9 bytes"
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


def printed(form: str, source: Source) -> str:
    if form != "table":
        return TEXTS[form](source.runs, source.findings)
    stream = io.StringIO()
    print_tables(source.runs, source.findings, stream)
    return stream.getvalue()


def words_of(told: Summary) -> list[str]:
    """All that an answer says, in the order of its members."""
    said = [told.trust.words] if told.trust else []
    said += [each.words for each in told.best] + [each.words for each in told.fastest]
    said += [told.gpu_aware.words] if told.gpu_aware else []
    return [plain(words) for words in said + [found.words for found in told.findings]]


@pytest.mark.parametrize("file", measured(always=()))
def test_all_say_the_same(file: Path) -> None:
    """Protects the reader of one of them: nothing that is known of a run is said to another reader alone.

    And from a page that is green where the terminal says "trust: no".
    """
    sources, lost = read_sources([str(file)])
    (source,) = sources
    told = answer(source.runs, source.findings)
    page, text = on_page(render(sources, lost)), in_markdown(markdown(sources, lost))
    document, ticket = json.loads(printed("json", source)), printed("ticket", source)
    assert document["summary"]["runs"] == json.loads(json.dumps(msgspec.to_builtins(told.runs)))
    for run, summary in zip(source.runs, told.runs, strict=True):
        found = said(run)
        assert found and contained(found, on_terminal(run)) == set(found)
        assert contained(found, page) == set(found) == contained(found, text)
        texts = (on_terminal(run), page, text)
        assert [words for words in words_of(summary) if not all(words in each for each in texts)] == []
        signs = {markers.sign(run, entry) for entry in run.entries.values()} - {""}
        assert {each.mark for each in summary.marks} == signs
    assert len(ticket.splitlines()) <= MOST_LINES
    longest = max(told.runs, key=lambda each: each.figures)
    assert [words for words in words_of(longest)[:1] if words not in plain(ticket)] == []
    for finding in told.doctor:
        assert all(finding.title in each for each in (page, text, plain(printed("table", source))))
    for one in answers(sets_of(sources), sources):
        trusted = answer([one.machine.main.run]).trust
        green = all(sentence.level == GOOD for sentence in one.sentences) or one.tiles[-1].level == GOOD
        assert not (green and (trusted is False or told.doctor)), one.sentences


def test_it_is_a_warning() -> None:
    """Protects from taking the exit of a barrier for the time of an exchange."""
    start = {"by": "MPI_Barrier", "samples": 9, "skew_s": 3e-7, "skew_max_s": 3e-7}
    run = make_run(step("host"), entry("host", 8, 2e-6, start=start, iterations_per_sample=1))
    (said,) = (one for one in statements(run) if one.words.startswith("ranks start apart"))
    assert said.level == WARNING
