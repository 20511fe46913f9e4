"""Axes, limits and bars of the figures that matplotlib draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wirespeed.report.page.styles import LIGHT, Style
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import text
from wirespeed.results.runs import Entry
from wirespeed.units import format_rate, format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = tuple[ReportRun, str]
"""A run, and one of its paths."""
BAR_INCHES = 0.24
MAX_SIZES = 6
"""Labels of an axis of sizes."""
CLOSE = 0.05
"""Share of the axis below which the words of two limits would cover each other."""
RED = "#b3261e"


def value(kind: str, entry: Entry, seconds: float) -> float:
    """Microseconds, or GB/s."""
    return seconds * 1e6 if kind == "time" else entry.amount / seconds / 1e9


def axis_of(kind: str, curves: Sequence[Curve]) -> str:
    """The axis' words."""
    time = f"time, {text(curves[0][0].run.time_label)} (us)"
    return time if kind == "time" else "bandwidth (GB/s, 1 GB = 1e9 bytes)"


def name_of(curve: Curve, *, named: bool) -> str:
    """`named`: the run's label stands behind the path."""
    measured, path = curve
    return text(f"{path} ({measured.label})" if named else path, 80)


def bars(
    panel: Axes,
    kind: str,
    curves: Sequence[Curve],
    looks: Mapping[str, Style],
    *,
    named: bool,
    labelled: bool,
) -> None:
    """A bar for each path, with its 95 % interval. `labelled`: the names stand beside them."""
    found = [(curve, entry) for curve in curves for entry in curve[0].run.of_path(curve[1])[-1:]]
    for place, ((_, path), entry) in enumerate(found):
        middle = value(kind, entry, entry.seconds)
        ends = [value(kind, entry, end) for end in (entry.low, entry.high)]
        error: Any = [[middle - min(ends)], [max(ends) - middle]]
        ink: Any = {"ecolor": "black", "capsize": 2, "error_kw": {"linewidth": 0.8}}
        panel.barh(place, middle, xerr=error, color=LIGHT[looks[path].hue], height=0.7, **ink)
    panel.set_yticks(
        range(len(found)), [name_of(curve, named=named) if labelled else "" for curve, _ in found]
    )
    panel.invert_yaxis()
    panel.set_xlim(left=0)
    panel.ticklabel_format(axis="x", style="plain", useOffset=False)
    panel.set_xlabel(axis_of(kind, curves))


def label_sizes(panel: Axes) -> None:
    """Powers of two, as many as there is room for; of a single size that one."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    lines: list[Any] = [line.get_xdata() for line in panel.get_lines()]
    drawn = [float(size) for sizes in lines for size in sizes if size > 1]
    if not drawn:
        return
    first, last = math.ceil(math.log2(min(drawn))), math.floor(math.log2(max(drawn)))
    step = max(1, math.ceil((last - first + 1) / MAX_SIZES))
    # From the largest on, which is what bandwidths are read at.
    sizes = [2.0**power for power in range(last, first - 1, -step)] or [min(drawn)]
    panel.xaxis.set_major_locator(FixedLocator(sizes))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_size(round(size))))


def label_decades(panel: Axes) -> None:
    """Plain numbers; where there are few powers of ten, others between them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = panel.get_ylim()
    plain = FuncFormatter(lambda number, _: f"{number:.9g}")
    panel.yaxis.set_major_formatter(plain)
    panel.yaxis.set_minor_formatter(NullFormatter())
    if high < 5 * low:
        panel.yaxis.set_major_locator(MaxNLocator(6))
    elif high < 50 * low:
        panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        panel.yaxis.set_minor_formatter(plain)


def draw_limits(panel: Axes, limits: Sequence[float]) -> None:
    """A dashed line for each, lowest first; those that are close have their words in common."""
    low, high = map(math.log, panel.get_ylim())
    together: list[list[float]] = []
    for limit in limits:
        panel.axhline(limit, color=RED, linestyle="--", linewidth=0.9)
        if together and math.log(limit / together[-1][-1]) < CLOSE * (high - low):
            together[-1].append(limit)
        else:
            together.append([limit])
    place: Any = {"xycoords": ("axes fraction", "data"), "xytext": (0, 2), "textcoords": "offset points"}
    for alike in together:
        rates = dict.fromkeys(format_rate(limit * 1e9) for limit in alike)
        words = f"limit{'s' if len(rates) > 1 else ''} {', '.join(rates)} GB/s"
        panel.annotate(words, (0.01, alike[-1]), color=RED, fontsize=7, **place)
