"""Pages in a real browser: every plot is drawn, answers to hands, and asks nobody for anything."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support import report_files as made
from support.browser_page import Opened, written
from support.impossible import FALSE
from support.simulated_fleet import simulate

from wirespeed.fleet.judge import judge
from wirespeed.fleet.state import SilentNode
from wirespeed.report.facts import figure_columns
from wirespeed.report.facts.figure_columns import FigureColumn
from wirespeed.report.fleet.shown import Shown
from wirespeed.report.fleet.styles import to_page

pytestmark = pytest.mark.slow(after=1)

RESULTS = Path(__file__).parents[2] / "results"
REAL = sorted(map(str, RESULTS.glob("*.jsonl*")))


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light")])
def test_every_plot_is_drawn(browser: Any, everything: Path, width: int, scheme: str) -> None:
    """Protects readers from an empty frame, in every kind of window."""
    page = Opened(browser, everything, width, scheme)
    page.open_all()
    # Two charts for each of four patterns, and the price of GPUDirect.
    assert page.count("svg.chart") == 9
    for chart in page.tab.locator("svg.chart").all():
        lines = chart.locator(".curve .line").all()
        assert lines and all("L" in line.get_attribute("d") for line in lines)
        bands = chart.locator(".band").all()
        assert len(bands) == len(lines) and all(band.get_attribute("d").endswith("Z") for band in bands)
        assert chart.locator(".grid text").count() > 6
    assert "limit 450 GB/s" in page.tab.locator("svg.chart").first.text_content()
    assert page.count("#matrix .pair") == 56
    # Both GPUs' stubs and what joins them.
    assert page.count("svg.wires .wire-most") == 3
    # The slowest rank of copies, and each rank's copies.
    assert page.count(".section .scrolls table:has(th:text-is('path'))") == 1
    assert page.count(".section .scrolls table:has(th:text('GB/s of each rank'))") >= 1
    back = page.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(18, 22, 28)" if scheme == "dark" else "rgb(255, 255, 255)")
    page.check()


def test_real_files(browser: Any, tmp_path: Path) -> None:
    """What H200s gave, many runs: those of one run are shown, others when asked for."""
    page = Opened(browser, written(tmp_path, *REAL))
    first = page.tab.locator("svg.chart").first
    assert first.locator(".curve").count() == 9
    page.tab.get_by_text(re.compile("[0-9]+ runs: choose")).first.click()
    page.tab.get_by_role("button", name=re.compile("[A-Z]: h200-x2-paths$")).click()
    assert page.tab.locator("svg.chart").first.locator(".curve").count() == 9 + 15
    page.tab.get_by_role("button", name="Summit").click()
    assert page.tab.locator("svg.chart").first.locator(".curve.published").count() == 3
    page.check()


def test_a_program_scales_over_ranks(browser: Any, tmp_path: Path) -> None:
    """Protects the scaling section: a line for each path and the ideal, over numbers of ranks."""
    file = RESULTS / "eight" / "h200-x8-jacobi.jsonl.gz"
    page = Opened(browser, written(tmp_path, str(file)))
    charts = page.tab.locator("#scaling svg.chart")
    assert charts.count() == 2
    for chart, title in ((charts.nth(0), "Time of a step, median"), (charts.nth(1), "Efficiency, %")):
        assert chart.locator(".curve.published").count() == 1 and chart.locator(".curve").count() == 9
        words = chart.locator("text").all_text_contents()
        assert title in words and {"1", "2", "4", "8", "ranks", "ideal", "gpu"} <= {*words}
    page.check()


def test_what_cannot_be_has_no_point(browser: Any, tmp_path: Path) -> None:
    """Protects curves and tables from impossible figures; a path with no others has no curve at all."""
    records = [made.head(), *(made.step(path) for path in ("aware", "gpu", "nccl"))]
    records += [*made.curve("aware", 2e-6, 4e10), *made.curve("gpu", 1e-6, 4e10), made.entry("nccl", 8, 1e-9)]
    for one in records:
        if one["kind"] == "entry" and (one["path"], one["bytes"]) in {("gpu", 1 << 10), ("nccl", 8)}:
            one |= FALSE
        if one["kind"] == "entry" and (one["path"], one["bytes"]) == ("aware", 8):
            one |= {"seconds": {**one["seconds"], "low": 1e-7, "high": 9e-6}, "precision": 2.225}
    page = Opened(browser, written(tmp_path, made.write(tmp_path / "a.jsonl", *records, made.end())))
    assert page.tab.locator("svg.chart").first.locator(".curve:not(.published)").count() == 2
    page.tab.get_by_text("All figures as a table").click()
    rows = [row.split("\t") for row in page.tab.locator("table.figures tbody").inner_text().splitlines()]
    words = {tuple(row[1:3]): row[3] for row in rows}
    assert words["gpu", "1 KiB"] == words["nccl", "8 B"] == "impossible" and words["gpu", "8 B"] == "1.00 us"
    assert [row[4] for row in rows].count("uncertain") == 1
    assert page.tab.get_by_text("gpu at 1 KiB").count() >= 1
    page.check()


def test_one_size_has_nothing_to_zoom_to(browser: Any, tmp_path: Path) -> None:
    """Protects from buttons that would show an empty chart."""
    records = [made.head(), made.step("aware"), made.entry("aware", 8, 1e-6), made.end()]
    page = Opened(browser, written(tmp_path, made.write(tmp_path / "a.jsonl", *records)))
    assert page.count("svg.chart .curve") and not page.tab.get_by_role("button", name="from 64 KiB").count()
    page.check()


def test_pointing_shows_every_figure(browser: Any, everything: Path) -> None:
    page = Opened(browser, everything)
    chart = page.tab.locator("svg.chart").first
    tip = page.tab.locator(".plot").first.locator(".tip")
    assert not tip.is_visible()
    page.point(chart, 0.82, 0.3)
    # Three paths of two runs, staged twice: the best first, with interval and share of the limit.
    assert tip.locator("th").all_text_contents() == ["1 GiB", "", "95 %", "of limit"]
    assert tip.is_visible()
    rows = tip.locator("tbody tr").all_text_contents()
    assert len(rows) == 8 and rows[0] == "aware A389 GB/s±1.5 %86.4 %"
    page.tab.mouse.move(5, 5)
    assert not tip.is_visible()
    # And by keys alone.
    chart.focus()
    page.tab.keyboard.press("ArrowRight")
    assert tip.locator("th").first.text_content() == "8 B"
    page.tab.keyboard.press("Escape")
    assert not tip.is_visible()
    page.check()


def test_names_show_and_hide(browser: Any, everything: Path) -> None:
    page = Opened(browser, everything)

    def shown() -> list[str]:
        curves = page.tab.locator("svg.chart").first.locator(".curve").all()
        return [curve.get_attribute("data-series") for curve in curves]

    button = page.tab.get_by_role("button", name="staged", exact=True).first
    assert {"staged A", "staged B"} <= set(shown())
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert not {"staged A", "staged B"} & set(shown()) and "aware A" in shown()
    page.tab.get_by_role("button", name="B: n2").click()
    # One run alone needs no letter.
    assert shown() == ["host", "aware", "aware-nogdr"]
    page.tab.get_by_role("button", name="aware", exact=True).first.dblclick()
    assert shown() == ["aware"]
    page.tab.get_by_role("button", name="none").first.click()
    assert shown() == []
    page.tab.get_by_role("button", name="all", exact=True).first.click()
    assert shown() == ["host", "staged", "aware", "aware-nogdr"]
    page.check()


def test_zoom(browser: Any, everything: Path) -> None:
    """Dragging zooms both charts of a section; a double click shows all again."""
    page = Opened(browser, everything)
    charts = page.tab.locator("svg.chart")

    def sizes(number: int) -> list[str]:
        found: list[str] = charts.nth(number).locator(".grid text[text-anchor=middle]").all_text_contents()
        return found

    whole = sizes(0)
    assert whole[0] == "32 B" and whole[-1] == "1 GiB"
    assert page.tab.get_by_role("button", name="from 64 KiB").count() > 0
    page.point(charts.first, 0.5, 0.5)
    page.tab.mouse.down()
    page.point(charts.first, 0.8, 0.5)
    page.tab.mouse.up()
    assert sizes(0) == sizes(1) != whole and "32 B" not in sizes(0)
    page.point(charts.first, 0.5, 0.5)
    charts.first.dblclick()
    assert sizes(0) == whole
    page.tab.get_by_role("button", name="up to 64 KiB").first.click()
    assert sizes(0)[0] == "16 B" and sizes(0)[-1] == "64 KiB"
    page.check()


def test_the_theme_can_be_chosen(browser: Any, everything: Path) -> None:
    page = Opened(browser, everything, scheme="dark")
    button = page.tab.locator("#theme")
    assert button.text_content() == "Light"
    button.click()
    assert page.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert button.text_content() == "Dark"
    # Paper is white whatever was chosen.
    button.click()
    page.tab.emulate_media(media="print")
    assert page.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not button.is_visible()
    page.check()


def test_choices_of_path_and_size(browser: Any, everything: Path) -> None:
    page = Opened(browser, everything)
    words = page.tab.locator("#wires .verdict-line").first
    page.tab.locator("#wires select").first.select_option(index=0)
    assert words.text_content().startswith("aware at 1 GiB: direct over NVLink")
    page.tab.locator("#wires select").nth(1).select_option(label="staged, 1 MiB")
    assert words.text_content().startswith("staged at 1 MiB: staged through host memory")
    page.tab.locator("#matrix select").select_option(index=0)
    assert "us" in page.tab.locator("#matrix .note").text_content()
    page.tab.get_by_text("All figures as a table").first.click()
    page.tab.wait_for_selector("table.figures")
    assert page.tab.locator("table.figures tbody tr").count() == 2 * 4 * len(made.SIZES)
    page.check()


def test_the_table_has_each_declared_column(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the table from a column of one path standing under the head of another one's."""
    of_gpu = FigureColumn(
        head="of\nGPU", cell=lambda entry: f"{entry.bytes}" if entry.path == "gpu" else None
    )
    monkeypatch.setattr(figure_columns, "COLUMNS", (of_gpu,))
    records = [made.head(), *(made.step(path) for path in ("aware", "gpu"))]
    records += [*made.curve("aware", 2e-6, 4e10), *made.curve("gpu", 1e-6, 4e10)]
    page = Opened(browser, written(tmp_path, made.write(tmp_path / "a.jsonl", *records, made.end())))
    page.tab.get_by_text("All figures as a table").click()
    heads = page.tab.locator("table.figures thead").inner_text().split("\t")
    rows = [row.split("\t") for row in page.tab.locator("table.figures tbody").inner_text().splitlines()]
    cells = {(row[1], row[heads.index("of GPU")]) for row in rows}
    assert cells == {("aware", ""), *(("gpu", str(size)) for size in made.SIZES)}
    page.check()


def test_hostile_text_does_no_harm(browser: Any, tmp_path: Path) -> None:
    page = Opened(browser, written(tmp_path, made.write(tmp_path / "h.jsonl", *made.hostile())))
    page.tab.get_by_text("All figures as a table").first.click()
    page.tab.wait_for_selector("table.figures")
    page.point(page.tab.locator("svg.chart").first, 0.6, 0.5)
    assert page.tab.evaluate("window.hurt") is None
    assert page.tab.locator("svg.chart").first.locator(".curve:not(.published)").count() == 2
    assert page.count("img") == 0
    page.check()


@pytest.mark.slow
def test_a_large_file_opens(browser: Any, tmp_path: Path, record_property: Any) -> None:
    """7 MB of results: the page is complete; how long it took is printed, and judged by nobody here."""
    file = made.large(tmp_path / "large.jsonl", 7)
    path = written(tmp_path, file)
    page = Opened(browser, path)
    figure = (
        f"{Path(file).stat().st_size / 1e6:.1f} MB of results, page of {path.stat().st_size / 1e6:.2f} MB"
    )
    print(f"\n{figure}: opened in {page.seconds:.2f} s")
    record_property("opened_s", page.seconds)
    assert page.count("svg.chart") == 2 and page.count("svg.chart .curve:not(.published)") == 12
    page.check()


def test_all_pairs_of_many_ranks(browser: Any, tmp_path: Path) -> None:
    """8128 pairs are painted on a canvas: as many elements would take the browser's breath away."""
    file = made.write(tmp_path / "pairs.jsonl", *made.pairs(128))
    page = Opened(browser, written(tmp_path, file))
    assert page.count("#matrix canvas") == 1
    painted = page.tab.evaluate(
        "document.querySelector('#matrix canvas').getContext('2d').getImageData(3 * 7, 7, 1, 1).data.join()"
    )
    # Ranks 1 and 3, the slow ones.
    assert painted == "230,85,13,255"
    page.check()


@pytest.mark.parametrize(("width", "scheme", "ranks"), [(1400, "light", 4), (390, "dark", 64)])
def test_one_rank_and_all_others(browser: Any, tmp_path: Path, width: int, scheme: str, ranks: int) -> None:
    """Protects pairs --fan from a page without its answer: which rank is slow, and in which direction."""
    file = made.write(tmp_path / "fans.jsonl", *made.fans(ranks))
    page = Opened(browser, written(tmp_path, file), width, scheme)
    place = page.tab.locator("#fans")
    assert page.count("#fans td") == 2 * ranks and not page.count("#matrix")
    answer, other = place.locator("p:not(.note)").all_inner_texts()
    assert answer.startswith("gpu to all: slowest rank 2 to all: !1.40 ms")
    assert answer.endswith(f"40 % more than the median of {ranks}")
    assert other == f"gpu from all: all {ranks} within 2 % of the median"
    colours = page.tab.evaluate("[...document.querySelectorAll('#fans td')].map((td) => td.style.background)")
    assert [place for place, colour in enumerate(colours) if colour == "rgb(230, 85, 13)"] == [4]
    place.locator("select").select_option(label="8 B")
    assert place.locator("td").nth(4).inner_text() == "2.80 us"
    box = place.locator(".heat").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] <= 0.8 * 900 + 1
    page.check()


COLLECTIVES = str(Path(__file__).parents[2] / "results/collectives/h200-x2-allreduce.jsonl.gz")


def test_what_marks_mean_stands_beside_them(browser: Any, tmp_path: Path) -> None:
    """Protects a reader from "&" and from "0.0000656 %"."""
    page = Opened(browser, written(tmp_path, COLLECTIVES))
    page.tab.locator("details[data-figures] summary").first.click()
    table = page.tab.locator("details[data-figures]").first
    assert "& a rank waited for a CPU" in table.locator(".note").inner_text()
    # The page fills it when it is opened.
    table.locator("tbody td:nth-child(7)").first.wait_for()
    cells = table.locator("tbody td:nth-child(7)").all_text_contents()
    assert "<0.1 %" in cells and all(re.fullmatch(r"(<0\.1|\d+\.\d) %", cell) for cell in cells if cell)
    page.check()


WINDOWS = pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
CUT = """[...document.querySelectorAll("main *")].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width && !one.closest(".scrolls") && (box.left < 0 || box.right > innerWidth
    || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline");
}).map(one => one.outerHTML.slice(0, 80))"""
"""What is wider than its box or than the window, but for tables, which scroll by themselves."""


@WINDOWS
def test_a_small_fleet_shows_each_node_and_its_silent_one(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    """Protects from a node that the page leaves out, a silent one above all, and from text cut off."""
    fleet = simulate(3, nodes=24, by=0.4, slow_nodes=1, slow_links=0, slow_switches=0, ports=8)
    verdict = judge(fleet.window, fleet.topology)
    (slow,) = (one.name for one in verdict.findings)
    day = datetime(2026, 3, 1)
    silent = SilentNode("n0024", "round 2 of 8", "rank 24 on n0024 does not answer", "2026-03-01T00:00:00Z")
    file = tmp_path / "fleet.html"
    file.write_text(to_page(Shown("results", day, day, verdict, fleet.topology, 0.02, 0.01, silent=[silent])))
    page = Opened(browser, file, width, scheme)
    assert "silent: n0024, since round 2 of 8" in page.tab.locator("main > .lines").first.inner_text()
    page.open_all()
    nodes = dict(one.split() for one in page.tab.locator(".nodes li").all_inner_texts())
    assert sorted(nodes) == [f"n{number:04d}" for number in range(25)]
    assert nodes["n0024"] == "silent" and float(nodes[slow]) > 1.2 > float(nodes["n0000"]) > 0.8
    standing = page.tab.locator(".nodes .bad").all_inner_texts()
    assert sorted(one.split()[0] for one in standing) == sorted([slow, "n0024"])
    title = page.tab.locator(".nodes li", has_text="n0024").get_attribute("title")
    assert title == "fell silent in round 2 of 8; not judged"
    assert page.tab.evaluate(CUT) == []
    page.check()


@WINDOWS
def test_every_node_of_a_large_fleet_is_there_and_the_slow_ones_stand_out(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    """Protects who looks for what is slow among 800 nodes: switches without any are folded."""
    fleet = simulate(1, nodes=800, slow_links=0)
    verdict = judge(fleet.window, fleet.topology)
    days = (datetime(2026, 3, 1), datetime(2026, 3, 8))
    file = tmp_path / "fleet.html"
    file.write_text(to_page(Shown("results", *days, verdict, fleet.topology, 0.02, 0.01)))
    page = Opened(browser, file, width, scheme)
    slow = {one.kind: one.name for one in verdict.findings}
    switches = page.tab.locator("#nodes summary").all_inner_texts()
    assert len(switches) == 20
    assert [one.split(",")[0] for one in switches if "slow switch" in one] == [slow["switch"]]
    standing = page.tab.locator(".nodes .bad")
    assert page.count(".nodes li") == 800 and standing.count() == 3
    assert all(one.is_visible() for one in standing.all())
    assert page.count("#nodes details[open]") <= 4
    page.open_all()
    assert page.tab.evaluate(CUT) == []
    page.check()
