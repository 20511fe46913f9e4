"""The page of a fleet in a real browser, wide and narrow."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.browser_page import Opened
from support.simulated_fleet import simulate

from wirespeed.fleet.judge import judge
from wirespeed.fleet.state import SilentNode
from wirespeed.report.fleet.shown import Shown
from wirespeed.report.fleet.styles import to_page

pytestmark = pytest.mark.slow(after=1)

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
