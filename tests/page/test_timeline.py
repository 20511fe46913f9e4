"""A timeline in a real browser, read as a viewer reads it: from a file, by the browser's own JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command import wirespeed

READ = """async () => {
  const text = await document.querySelector("input").files[0].text();
  const trace = JSON.parse(text), lanes = {}, found = {names: {}, ranges: {}, apart: 0};
  for (const one of trace.traceEvents) {
    if (one.ph === "M" && one.name === "thread_name") found.names[one.tid] = one.args.name;
    if (one.ph === "X") (lanes[one.tid] ??= []).push(one);
  }
  for (const [tid, all] of Object.entries(lanes)) {
    const open = [];
    let deepest = 0;
    for (const one of all.sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
      while (open.length && open.at(-1).ts + open.at(-1).dur <= one.ts) open.pop();
      const above = open.at(-1);
      if (!(one.ts >= 0 && one.dur >= 0) || (above && one.ts + one.dur > above.ts + above.dur + 0.001))
        found.apart += 1;
      open.push(one);
      deepest = Math.max(deepest, open.length);
    }
    found.ranges[tid] = {count: all.length, deepest};
  }
  return found;
}"""


@pytest.mark.slow
def test_a_browser_reads_a_timeline_and_its_ranges_nest(browser: Any, tmp_path: Path) -> None:
    """Protects the file from what Perfetto and Chrome, which read it in a browser, cannot show."""
    file = tmp_path / "t.json"
    wirespeed(
        *("pingpong", "--paths", "host", "--device", "cpu", "--sizes", "8,4K", "--max-time", "0.02"),
        *("--timeline", file),
        out=tmp_path / "r.jsonl",
    ).ok()
    page = browser.new_page()
    page.set_content("<input type=file>")
    page.set_input_files("input", file)
    found = page.evaluate(READ)
    page.close()
    assert found["names"] == {"1": "job steps", "2": "rank 0", "3": "rank 1"} and found["apart"] == 0
    assert found["ranges"]["1"] == {"count": 1, "deepest": 1}
    for rank in ("2", "3"):
        # A path, a size in it, a phase in that.
        assert found["ranges"][rank]["deepest"] == 3 and found["ranges"][rank]["count"] > 10
