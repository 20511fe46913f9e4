"""Draws a timeline of `--timeline`: the whole run, and one size of one path on every rank.

python scripts/timeline_picture.py TIMELINE.json OUT.png PATH SIZE
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot
from matplotlib.patches import Rectangle

COLOURS = {
    "job step": "#b8bcc6",
    "start": "#8d99ae",
    "connect": "#6c7a95",
    "path": "#dfe3ea",
    "set-up": "#c9a227",
    "size": "#a9c4e6",
    "protocol": "#9a6fb0",
    "check": "#d1603d",
    "warm-up": "#e3b35f",
    "batch": "#3a7d54",
    "trial": "#b5838d",
    "health": "#7f9c6c",
    "counting": "#5aa3a3",
    "counted size": "#8fc3c3",
    "counted": "#2b6f6f",
    "wires": "#4f8a9c",
}
Event = dict[str, Any]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ("timeline", "out", "path", "size"):
        arguments.add_argument(name)
    given = arguments.parse_args()
    trace = json.loads(Path(given.timeline).read_text())["traceEvents"]
    ranges = sorted((one for one in trace if one["ph"] == "X"), key=lambda one: (one["ts"], -one["dur"]))
    lanes = {one["tid"]: one["args"]["name"] for one in trace if one["name"] == "thread_name"}
    path = next(one for one in ranges if one["cat"] == "path" and one["name"] == given.path)
    sizes = [one for one in ranges if one["cat"] == "size" and one["name"] == given.size]
    # The first of each rank in this path.
    own = {one["tid"]: one for one in reversed(sizes) if path["ts"] <= one["ts"]}
    begin, end = min(one["ts"] for one in own.values()), max(map(_end, own.values()))
    inside = [
        one
        for one in ranges
        if (size := own.get(one["tid"])) and size["ts"] <= one["ts"] and _end(one) <= _end(size)
    ]
    figure, axes = pyplot.subplots(2, 1, figsize=(10, 5.6), dpi=110, layout="constrained")
    _draw(axes[0], ranges, lanes, 0.0, max(map(_end, ranges)), 1e6, "seconds")
    axes[0].set_title("the whole run", loc="left", fontsize=10)
    ranks = {tid: name for tid, name in lanes.items() if tid in own}
    _draw(axes[1], inside, ranks, begin, end, 1e3, "milliseconds")
    axes[1].set_title(f"{given.path}, {given.size}", loc="left", fontsize=10)
    shown = [kind for kind in COLOURS if any(one["cat"] == kind for one in ranges)]
    handles = [Rectangle((0, 0), 1, 1, color=COLOURS[kind]) for kind in shown]
    figure.legend(handles, shown, loc="outside lower center", ncols=7, fontsize=8, frameon=False)
    figure.savefig(given.out)


def _end(one: Event) -> float:
    return float(one["ts"] + one["dur"])


def _draw(
    axes: Any, ranges: list[Event], lanes: dict[int, str], start: float, end: float, unit: float, word: str
) -> None:
    """Lanes from top to bottom; a range lies below the one that it is in."""
    base, ticks = 0.0, []
    for tid, name in lanes.items():
        open_: list[float] = []
        depth = 0
        for one in (one for one in ranges if one["tid"] == tid):
            while open_ and open_[-1] <= one["ts"]:
                open_.pop()
            place = base + len(open_)
            depth = max(depth, len(open_) + 1)
            open_.append(_end(one))
            left, width = (one["ts"] - start) / unit, one["dur"] / unit
            look = {"color": COLOURS.get(one["cat"], "#ccc"), "edgecolor": "white", "linewidth": 0.4}
            axes.barh(place, width, left=left, height=0.92, **look)
            if width > len(one["name"]) * (end - start) / unit * 0.0095:
                axes.text(left + width / 2, place, one["name"], ha="center", va="center", fontsize=7)
        ticks.append((base + (depth - 1) / 2, name))
        base += depth + 0.4
    axes.set_yticks([place for place, _ in ticks], [name for _, name in ticks])
    axes.set_xlim(0, (end - start) / unit)
    axes.set_ylim(base - 0.9, -0.6)
    axes.set_xlabel(word, fontsize=8)
    axes.tick_params(labelsize=8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


if __name__ == "__main__":
    main()
