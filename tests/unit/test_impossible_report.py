"""Impossible figures in progress and page; golden/report/impossible.transcript has the other outputs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from support import report_files as made
from support.impossible import FALSE, WHY, WIDE
from support.records import console, entry, make_run

from wirespeed.report.page import read_sources, render
from wirespeed.report.terminal.progress import ProgressLines


def test_progress() -> None:
    """Protects who watches a run from a number that its file calls impossible."""
    stream = io.StringIO()
    progress = ProgressLines(console(100))
    progress._console.file = stream
    (one,) = make_run(entry("host", 8, 1e-9, **FALSE)).impossible.values()
    progress(one)
    assert f"impossible: {WHY}" in stream.getvalue() and "us" not in stream.getvalue().split()


def page_files(folder: Path) -> list[str]:
    def curve(path: str, latency: float) -> list[dict[str, Any]]:
        return [made.entry(path, size, latency + size / 4e10) for size in made.SIZES]

    records = [made.head(), made.step("aware"), made.step("gpu"), *curve("aware", 2e-6), *curve("gpu", 1e-6)]
    for one in records:
        if (one.get("path"), one.get("bytes"), one["kind"]) == ("gpu", 1 << 10, "entry"):
            one |= FALSE
        if (one.get("path"), one.get("bytes"), one["kind"]) == ("aware", 1 << 16, "entry"):
            one |= made.entry("aware", 1 << 16, one["seconds"]["median"], precision=WIDE)
    return [made.write(folder / "a.jsonl", *records, made.end())]


def test_the_page_s_data(tmp_path: Path) -> None:
    """Protects curves from the point that cannot be; the table names its size."""
    page = render(*read_sources(page_files(tmp_path)))
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    curves = {one["path"]: one for one in data["charts"][0]["series"]}
    assert curves["gpu"]["impossible"] == [1 << 10] and 1 << 10 not in curves["gpu"]["bytes"]
    assert "impossible" not in curves["aware"]
    assert f"impossible: {WHY.replace(chr(39), '&#39;')}" in page
