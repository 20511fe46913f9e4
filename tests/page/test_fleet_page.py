"""The map of a fleet in a real browser, wide and narrow."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.browser_page import Opened
from support.simulated_fleet import simulate

from wirespeed.fleet.judge import judge
from wirespeed.report.fleet.page import render
from wirespeed.report.fleet.shown import Shown


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
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
    page.check()
