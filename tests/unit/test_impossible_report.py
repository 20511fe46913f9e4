"""Impossible and uncertain figures in every view and export."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from support import report_files as made
from support.impossible import FALSE, WHY, WIDE, last_run
from support.records import console, entry, head, make_run, text_of

from wirespeed.report.page import read_sources, render
from wirespeed.report.terminal.other_conditions import print_ratios
from wirespeed.report.terminal.progress import ProgressLines

# ---- tables ----------------------------------------------------------------------------------------------


def with_load(first: dict[str, Any], second: dict[str, Any]) -> str:
    """The ratios under the table of --with."""
    loaded = {"plan": {**head()["plan"], "background": "stream:host:1M"}}
    alone = last_run([head(), entry("host", 8, 1e-6, **first)])
    crowded = last_run([head() | loaded, entry("host", 8, 1.01e-6, **second)])
    screen = console(100)
    print_ratios(screen, [alone], crowded)
    return text_of(screen)


def test_a_ratio_has_the_marks_of_its_figures() -> None:
    """Protects '1.01x' of a figure that other processes slowed; of an impossible one there is none."""
    waited = {"cores": {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}}
    sharp: dict[str, Any] = {"share": 0.001}
    assert " 1.01x" in with_load(sharp, sharp)
    assert "&1.01x" in with_load(sharp, {**sharp, **waited}) and "&1.01x" in with_load(
        {**sharp, **waited}, sharp
    )
    assert "~1.01x" in with_load(sharp, {**sharp, "stopped": "max-time"})
    assert "uncertain" in with_load(sharp, {"share": WIDE})
    assert "1.01x" not in with_load(sharp, {**sharp, **FALSE})


def test_progress() -> None:
    """Protects who watches a run from a number that its file calls impossible."""
    stream = io.StringIO()
    progress = ProgressLines(console(100))
    progress._console.file = stream
    (one,) = make_run(entry("host", 8, 1e-9, **FALSE)).impossible.values()
    progress(one)
    assert f"impossible: {WHY}" in stream.getvalue() and "us" not in stream.getvalue().split()


# ---- the page and Markdown -------------------------------------------------------------------------------


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


# ---- exports ---------------------------------------------------------------------------------------------


def test_arrays_say_it(tmp_path: Path) -> None:
    """Protects who reads a file in Python, old ones too."""
    import wirespeed

    results = wirespeed.load(
        made.write(tmp_path / "a", made.head(), made.entry("host", 8, 1e-9, **FALSE), made.end())
    )
    assert [one.why_impossible for one in results.entries] == [WHY]
    assert list(results.table()["impossible"]) == [WHY]
