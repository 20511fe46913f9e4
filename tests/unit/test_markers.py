"""A mark is declared once: tables, legend, trust and reports have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import report_files as made
from support.records import entry, make_run, shown

from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts import markers
from wirespeed.report.facts.markers import Mark
from wirespeed.report.page import read_sources
from wirespeed.report.page.answers import answers
from wirespeed.report.page.data import charts
from wirespeed.report.sources import measured


def declare(monkeypatch: pytest.MonkeyPatch, *notes: str) -> Mark:
    """A mark of figures at 8 B, the gravest of all."""
    mark = Mark(
        sign="^",
        meaning="measured in a storm",
        applies=lambda _, entry: entry.bytes == 8,
        remedy=lambda found: f"wait, {len(found)} times",
        notes=(lambda _: [*notes]) if notes else None,
    )
    monkeypatch.setattr(markers, "SPOILING", (mark, *markers.SPOILING))
    monkeypatch.setattr(markers, "SPOILED", (mark.sign, *markers.SPOILED))
    return mark


@pytest.mark.parametrize("paths", [("host", "aware"), ("host", "aware", "nccl", "gpu", "staged")], ids=len)
@pytest.mark.parametrize("explain", [False, True])
def test_tables_legend_and_trust(
    monkeypatch: pytest.MonkeyPatch, paths: tuple[str, ...], explain: bool
) -> None:
    mark = declare(monkeypatch)
    run = make_run(*(entry(path, size, 1e-6) for path in paths for size in (8, 64)))
    text = shown(run, 160, explain=explain)
    assert text.split("best:")[0].count("^1.00") == len(paths)
    assert mark.line in text
    wrong = f"{len(paths)} of {2 * len(paths)} figures are ^: wait, {len(paths)} times"
    assert wrong in " ".join(text.split())


def test_notes_of_its_own_stand_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = declare(monkeypatch, "a storm of 9 m/s")
    text = shown(make_run(entry("host", 8, 1e-6)), 160, explain=True)
    assert "^ a storm of 9 m/s" in text and mark.line not in text


def test_the_page_and_markdown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    declare(monkeypatch, "a storm of 9 m/s")
    lines = [made.head(), made.step("aware"), *made.curve("aware", 2e-6, 4e10), made.end()]
    sources, _ = read_sources([made.write(tmp_path / "a.jsonl", *lines)])
    sets = measured(sources)
    (curve,) = charts(sets, "pingpong")[0]["series"]
    assert curve["marks"][0] == "^" and not any(curve["marks"][1:])
    assert "^ a storm of 9 m/s" in markdown(sources)
    (answer,) = answers(sets, sources)
    assert "Look first at this: a storm of 9 m/s." in [sentence.text for sentence in answer.sentences]
