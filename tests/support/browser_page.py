"""A report page opened in a browser, with all that it complains about or asks for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from wirespeed.report.page import read_sources, render


def written(folder: Path, *files: str) -> Path:
    """The page of these result files."""
    page = folder / "report.html"
    page.write_text(render(*read_sources(files)))
    return page


class Opened:
    """A page in a window, with all that it complained about or asked for."""

    def __init__(
        self, browser: Any, file: Path, width: int = 1400, scheme: str = "light", height: int = 900
    ) -> None:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.set_default_timeout(10_000)
        self.tab = context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        before = time.monotonic()
        self.tab.goto(file.as_uri())
        self.tab.wait_for_selector("html[data-ready]", timeout=500_000, state="attached")
        self.seconds = time.monotonic() - before
        self.file = file

    def check(self) -> None:
        """It said nothing on the console, asked for nothing but itself, and fits its window."""
        assert self.complaints == []
        assert self.requests == [self.file.as_uri()]
        assert self.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        self.tab.context.close()

    def count(self, selector: str) -> int:
        return int(self.tab.locator(selector).count())

    def open_all(self) -> None:
        """Opens every folded part but the tables of figures."""
        self.tab.evaluate(
            "document.querySelectorAll('details:not([data-figures])').forEach((one) => { one.open = true; })"
        )
        # The browser tells the page's script of each one afterwards.
        self.tab.wait_for_timeout(50)

    def ends(self, selector: str) -> tuple[float, float]:
        """Top and bottom of all that matches, in pixels from the window's top."""
        boxes = [one.bounding_box() for one in self.tab.locator(selector).all()]
        assert boxes and all(boxes), f"not to be seen: {selector}"
        return min(box["y"] for box in boxes), max(box["y"] + box["height"] for box in boxes)

    def point(self, chart: Any, x: float, y: float) -> None:
        """Moves the pointer to these shares of the chart's width and height."""
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        self.tab.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
