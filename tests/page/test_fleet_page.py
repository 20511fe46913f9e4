"""The map of a fleet in a real browser, wide and narrow."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.browser_page import Opened
from support.simulated_fleet import simulate

from wirespeed.fleet.judge import judge
from wirespeed.fleet.state import SilentNode
from wirespeed.report.fleet.page import render
from wirespeed.report.fleet.shown import Shown

WINDOWS = pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
CUT = """[...document.querySelectorAll("main *")].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width && (box.left < 0 || box.right > innerWidth || one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).display !== "inline");
}).map(one => one.outerHTML.slice(0, 80))"""
"""What is wider than its box or than the window."""
COVERED = """[...document.querySelectorAll(".named")].filter(one => {
  const mine = one.getBoundingClientRect(), edge = 3;
  return [...document.querySelectorAll(".cell")].some(other => {
    const box = other.getBoundingClientRect();
    return other !== one && box.left < mine.right + edge && box.right > mine.left - edge
      && box.top < mine.bottom + edge && box.bottom > mine.top - edge;
  });
}).length"""
"""Nodes whose outline, 1 px off and 2 px wide, lies on another node."""


@WINDOWS
def test_a_small_fleet_has_names_on_its_map_and_its_silent_node(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    """Protects from anonymous squares, from a silent node that the map leaves out, and from text cut off."""
    fleet = simulate(3, nodes=24, by=0.4, slow_nodes=1, slow_links=0, slow_switches=0, ports=8)
    verdict = judge(fleet.window, fleet.topology)
    (slow,) = (one.name for one in verdict.findings)
    day = datetime(2026, 3, 1)
    silent = SilentNode("n0024", "round 2 of 8", "rank 24 on n0024 does not answer", "2026-03-01T00:00:00Z")
    file = tmp_path / "fleet.html"
    file.write_text(render(Shown("results", day, day, verdict, fleet.topology, 0.02, 0.01, silent=[silent])))
    page = Opened(browser, file, width, scheme)
    labels = page.tab.locator(".labelled span").all_inner_texts()
    assert sorted(labels) == [f"n{number:04d}" for number in range(25)]
    outlined = page.tab.locator(".labelled span:has(.named)").all_inner_texts()
    assert sorted(outlined) == sorted([slow, "n0024"])
    title = page.tab.locator('.cell[data-name="n0024"].cnone').get_attribute("title")
    assert title == "n0024: fell silent in round 2 of 8; not judged"
    assert page.tab.evaluate(CUT) == [] and page.tab.evaluate(COVERED) == 0
    page.check()


@WINDOWS
def test_every_node_is_on_the_map_and_the_slow_ones_stand_out(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    """Protects from a map whose choice of figures does nothing, and from a page that scrolls sideways."""
    fleet = simulate(1, nodes=800, slow_links=0)
    verdict = judge(fleet.window, fleet.topology)
    days = (datetime(2026, 3, 1), datetime(2026, 3, 8))
    file = tmp_path / "fleet.html"
    file.write_text(render(Shown("results", *days, verdict, fleet.topology, 0.02, 0.01)))
    page = Opened(browser, file, width, scheme)
    assert page.count(".rack") == 20 and page.count(".rack.slow") == 1
    assert page.count(".cells .cell") == 800
    assert page.count(".cells .named") == 3
    colours = 'document.querySelector(".map").innerHTML'
    usual = page.tab.evaluate(colours)
    page.tab.select_option("#figure", label="copy h2h 16 MiB")
    assert page.tab.evaluate(colours) != usual
    page.tab.select_option("#figure", index=0)
    assert page.tab.evaluate(colours) == usual
    assert page.tab.evaluate(CUT) == [] and page.tab.evaluate(COVERED) == 0
    page.check()
