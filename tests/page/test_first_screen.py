"""The first screen of the page in a real browser: answers, tiles and the main chart, wide and narrow."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from support import report_files as made
from support.browser_page import Opened, written

from wirespeed.report.page.styles import DASHES

pytestmark = pytest.mark.slow(after=1)

RESULTS = Path(__file__).parents[2] / "results"
DEFAULT = str(RESULTS / "h200-x2-default.jsonl.gz")
WINDOWS = ((1400, 900), (390, 844))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages by what they show."""
    files = tmp_path_factory.mktemp("files")
    shown = {
        "H200s": [DEFAULT],
        "several machines": sorted(map(str, RESULTS.glob("*.jsonl*"))),
        "collectives": [str(RESULTS / "collectives/h200-x2-allreduce.jsonl.gz")],
        "no GPU": [made.write(files / "cpu.jsonl", *made.on_cpus())],
    }
    return {name: written(tmp_path_factory.mktemp("page"), *several) for name, several in shown.items()}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("size", WINDOWS)
@pytest.mark.parametrize("name", ["H200s", "several machines", "no GPU"])
def test_answers_tiles_and_the_main_chart_need_no_scrolling(
    browser: Any, pages: dict[str, Path], name: str, size: tuple[int, int]
) -> None:
    """Protects a reader's first ten seconds: what stands in the way is found below."""
    page = Opened(browser, pages[name], size[0], height=size[1])
    assert page.count("#answers .answered li") in (2, 3, 4) and page.count("#answers .tile") == 4
    places = [page.ends(one) for one in ("main > .machines", "#answers .answered", "#answers .tiles")]
    chart = page.tab.locator("#main svg.chart").first.bounding_box()
    places.append((chart["y"], chart["y"] + chart["height"]))
    for (_, bottom), (top, _) in itertools.pairwise(places):
        assert bottom <= top
    assert places[0][0] > 0 and places[-1][1] <= size[1]
    assert chart["height"] >= 280
    page.check()


@pytest.mark.parametrize("size", WINDOWS)
def test_the_page_is_short_until_it_is_opened(
    browser: Any, pages: dict[str, Path], size: tuple[int, int]
) -> None:
    """Eight patterns of two machines: not more than five screens, and no part wider than the window."""
    page = Opened(browser, pages["several machines"], size[0], height=size[1])
    height = page.tab.evaluate("document.documentElement.scrollHeight")
    assert height <= 5 * size[1], height
    page.open_all()
    assert page.tab.evaluate("document.documentElement.scrollHeight") > 6 * size[1]
    page.check()


@pytest.mark.parametrize("width", [390, 1400])
def test_a_limit_is_drawn_only_where_it_applies(browser: Any, pages: dict[str, Path], width: int) -> None:
    """Protects from curves above a "limit", which caches explain: the memory's line begins behind them."""
    page = Opened(browser, pages["H200s"], width)
    chart = page.tab.locator("#main svg.chart").first
    boxes = sorted(
        (one.bounding_box() for one in chart.locator("line.limit").all()), key=lambda one: one["y"]
    )
    assert len(boxes) == 4
    # 450, 57.6 and 29.0 GB/s hold at every size, one core's 15.5 GB/s above 64 MiB alone: 4 of 27 powers.
    whole = boxes[0]["width"]
    assert all(abs(box["width"] - whole) < 1 for box in boxes[:3])
    assert abs(boxes[3]["width"] - whole * 4 / 27) < 2
    page.check()


def test_several_machines_are_named(browser: Any, everything: Path) -> None:
    """Protects from reading the figures of one machine as those of another."""
    page = Opened(browser, everything)
    assert page.tab.locator("h1").inner_text().startswith("2 machines")
    assert page.tab.locator(".machines summary").inner_text() == "n1, n2; 2026-01-01 12:00"
    assert page.tab.locator("#answers h2").inner_text().startswith("n1 8 x NVIDIA H200")
    page.tab.locator("details.other summary").click()
    assert page.tab.locator("details.other .tile").first.is_visible()
    page.check()


def test_notes_are_folded_and_none_is_repeated(browser: Any, pages: dict[str, Path]) -> None:
    page = Opened(browser, pages["several machines"])
    notes = page.tab.locator(".notes li span:last-child")
    visible = "notes => notes.map(note => note.checkVisibility())"
    assert notes.count() > 20 and not any(notes.evaluate_all(visible))
    page.open_all()
    said = notes.all_inner_texts()
    assert all(notes.evaluate_all(visible))
    # What a pattern's own figures are may be alike by chance; what went wrong is told once.
    again = [one for one in said if one.startswith("aware:") and "crashed on a device pointer" in one]
    assert len(again) == 1 and "(the same: groups, ring, halo, stream, pairs; on 6 machines)" in again[0]
    assert len(said) == len(set(said))
    page.check()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize(("name", "count"), [("H200s", 9), ("collectives", 20)])
def test_curves_carry_their_names(
    browser: Any, pages: dict[str, Path], name: str, count: int, width: int
) -> None:
    """On a telephone, too, where the buttons that show colours are far away, and for names of 22 letters."""
    page = Opened(browser, pages[name], width)
    for chart in page.tab.locator("#main svg.chart").all():
        curves = {curve.get_attribute("data-series") for curve in chart.locator(".curve").all()}
        labels = chart.locator(".label text")
        assert set(labels.all_text_contents()) == curves and len(curves) == count
        frame, boxes = chart.bounding_box(), [one.bounding_box() for one in labels.all()]
        assert all(box["x"] + box["width"] <= frame["x"] + frame["width"] for box in boxes)
        rows = sorted(box["y"] for box in boxes)
        assert min(below - above for above, below in itertools.pairwise(rows)) > 10
    page.check()


def test_published_curves_have_a_stroke_of_their_own(browser: Any, pages: dict[str, Path]) -> None:
    """A path's dashes must not pass for somebody else's figures."""
    page = Opened(browser, pages["H200s"])
    page.tab.get_by_role("button", name="Summit").click()
    lines = page.tab.locator("#main svg.chart").first.locator(".curve.published .line").all()
    assert len(lines) == 3
    for line in lines:
        assert line.get_attribute("stroke-dasharray") not in DASHES
        assert line.evaluate("(one) => getComputedStyle(one).strokeLinecap") == "round"
    page.check()


def test_a_chart_fills_its_section_once_that_is_opened(browser: Any, everything: Path) -> None:
    """A folded chart has no width when it is drawn first."""
    page = Opened(browser, everything)
    section = page.tab.locator("details.section:has(svg.chart)").first
    section.locator("summary").first.click()
    page.tab.wait_for_timeout(50)
    chart, box = section.locator("svg.chart").first, section.locator(".plot").first
    assert abs(float(chart.get_attribute("viewBox").split()[2]) - box.bounding_box()["width"]) < 1
    page.check()


def test_paper_gets_what_is_folded(browser: Any, everything: Path) -> None:
    """Nobody can unfold paper; afterwards the window is as it was."""
    page = Opened(browser, everything)
    folded = "details.section:not([open]), .finding:not([open]), .notes:not([open])"
    before = page.count(folded)
    page.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert before > 4 and page.count(folded) == 0
    page.tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.count(folded) == before
    page.check()


def test_everything_has_a_name_for_those_who_hear_the_page(browser: Any, everything: Path) -> None:
    """Headings in order, charts and choices with labels, a summary for each folded part."""
    page = Opened(browser, everything)
    assert page.count("h1") == 1 and page.count("main[lang], html[lang=en]") == 1
    assert (
        page.count("svg[role=img]:not([aria-label]), select:not([aria-label]), details:not(:has(> summary))")
        == 0
    )
    levels = [
        int(one[1])
        for one in page.tab.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((one) => one.tagName)")
    ]
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))
    # The sign alone is seen; its word is still there to be read out.
    assert set(page.tab.locator("#answers .level").all_text_contents()) <= {"good", "note", "warning", "bad"}
    page.check()
