"""Figures for papers, by matplotlib: time and bandwidth against size, with intervals and limits.

A program has one size: its paths are bars, or curves over the number of ranks.
"""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.grouping import grouped
from wirespeed.limits import Ceiling
from wirespeed.limits.wires import WIRE_KINDS
from wirespeed.report.facts.scaling import IDEAL, Scaling, scalings
from wirespeed.report.page.styles import DASHES, LIGHT, Style, styles
from wirespeed.report.sources import ReportRun, Source, measured
from wirespeed.report.systems.published_curves import PublishedCurves, load_system
from wirespeed.report.views import view_of
from wirespeed.results.coerce import text
from wirespeed.results.runs import Entry
from wirespeed.results.whole_file import write_whole
from wirespeed.units import format_rate, format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".pdf", ".png", ".svg")
DPI = 200
INCHES = (6.3, 4.2)
"""Size of a panel: the width of a text column on A4."""
SETTINGS: Any = {
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    # Text stays text: journals ask for it, and it can be searched.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    # Without it, names of hosts and paths could be read as mathematics.
    "text.parse_math": False,
}
Curve = tuple[ReportRun, str]
"""A run, and one of its paths."""
BAR_INCHES = 0.24
MAX_SIZES = 6
"""Labels of an axis of sizes."""
CLOSE = 0.036
"""Share of the axis below which the words of two limits would cover each other."""
RED, QUIET, MARKERS = "#b3261e", "#555555", "os^DvP*X"
FEWEST = 3
"""Sizes of a curve; fewer are points."""
WIRES = {kind: wire.name for kind, wire in WIRE_KINDS.items()}
WIRES |= {"loopback": "loopback", "memory": "host memory", "device memory": "GPU memory"}
"""Names of what a limit is of."""


def require_matplotlib(what: str) -> None:
    """Raises WirespeedError where it is not installed."""
    if find_spec("matplotlib") is None:
        raise WirespeedError(
            f"{what} draws with matplotlib, which is missing: {sys.executable} -m pip install matplotlib",
            ExitCode.UNAVAILABLE,
        )


def plot(sources: Sequence[Source], out: str, paths: Sequence[str], kind: str, against: str | None) -> None:
    """Writes the figure. Raises WirespeedError without matplotlib, or when nothing wanted is there.

    `paths`: names; none: all that were measured. `kind`: time, bandwidth or both. `against`: a system whose
    published curves are drawn with ours.
    """
    require_matplotlib("wirespeed plot")
    curves = _curves(sources, paths)
    others = [load_system(against)] if against else []
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    programs = not view_of(curves[0][0].run).curves
    looks = looks_of(curves)
    several = len({measured.number for measured, _ in curves}) > 1
    scaled = _scalings(curves) if programs and kind == "both" else []
    if not any(entry.amount for measured, path in curves for entry in measured.run.of_path(path)):
        if kind == "bandwidth":
            raise WirespeedError("these figures are times alone: there is no bandwidth to plot")
        kind = "time"
    kinds = ("time", "bandwidth") if kind == "both" else (kind,)
    height = max(INCHES[1] / 3, BAR_INCHES * (len(curves) + 3)) if programs and not scaled else INCHES[1]
    rows = max(1, len(scaled))
    with matplotlib.rc_context(SETTINGS):
        figure, panels = pyplot.subplots(
            rows,
            len(kinds),
            figsize=(INCHES[0] * len(kinds), rows * height),
            layout="constrained",
            squeeze=False,
        )
        for pair, scaling in zip(panels, scaled, strict=False):
            draw_scaling(pair[0], pair[1], scaling, styles([path for _, path in curves]))
            if scaling.strong:
                label_decades(pair[0])
        for number, (panel, kind) in enumerate(zip(panels[0], () if scaled else kinds, strict=not scaled)):
            if programs:
                bars(panel, kind, curves, looks, named=several, labelled=number == 0)
                continue
            for curve, look in zip(curves, looks, strict=True):
                _draw(panel, kind, curve, look, named=several)
            for other in others:
                _draw_published(panel, kind, other, styles([path for _, path in curves]))
            _dress(panel, kind, curves)
        if scaled or not programs:
            lists = [panel.get_legend_handles_labels() for panel in panels[:, -1]]
            handles = {label: handle for pair in lists for handle, label in zip(*pair, strict=True)}
            place: Any = {"loc": "outside right upper", "frameon": False}
            figure.legend(handles.values(), handles.keys(), **place, fontsize=8, handlelength=3.2)
        drawn, form = io.BytesIO(), out.rpartition(".")[2]
        try:
            figure.savefig(
                drawn, format=form, dpi=DPI, metadata={"Creator": "wirespeed"} if form == "pdf" else None
            )
        finally:
            pyplot.close(figure)
    write_whole(out, drawn.getvalue())


def _scalings(curves: Sequence[Curve]) -> list[Scaling]:
    """Of the paths that are wanted, and one rank alone."""
    runs = {measured.number: measured for measured, _ in curves}
    wanted = {path for _, path in curves}
    found = scalings([*runs.values()])
    kept = (
        replace(each, curves=tuple(curve for curve in each.curves if curve.path in wanted)) for each in found
    )
    return [each for each in kept if each.curves]


def _curves(sources: Sequence[Source], wanted: Sequence[str]) -> list[Curve]:
    """Those of the first run's pattern: times of different patterns do not belong in one figure."""
    sets = [found for found in measured(sources) if found.run.entries]
    if not sets:
        raise WirespeedError("there is no figure in these files to plot", ExitCode.CANNOT_WRITE)
    chosen = [measured for measured in sets if measured.pattern == sets[0].pattern]
    there = dict.fromkeys(path for measured in chosen for path in measured.run.paths)
    missing = [path for path in wanted if path not in there]
    if missing:
        raise WirespeedError(
            f"--paths {missing[0]}: {sets[0].pattern} has no such path in these files; there are: "
            f"{', '.join(there)}"
        )
    return [
        (measured, path) for measured in chosen for path in measured.run.paths if path in (wanted or there)
    ]


def looks_of(curves: Sequence[Curve]) -> list[Style]:
    """A look for each curve: of several runs a path differs in its dashes; of a single path, in colour."""
    own = styles([path for _, path in curves])
    found: list[Style] = []
    taken = {*own.values()}
    seen: set[str] = set()
    for _, path in curves:
        look, hues = own[path], range(own[path].hue, own[path].hue + len(LIGHT))
        if path in seen:
            pairs = product(DASHES, hues) if len(own) == 1 else ((d, hue) for hue in hues for d in DASHES)
            others = (Style(hue % len(LIGHT), dashes) for dashes, hue in pairs)
            look = next((other for other in others if other not in taken), look)
        seen.add(path)
        taken.add(look)
        found.append(look)
    return found


def _draw(panel: Axes, kind: str, curve: Curve, look: Style, *, named: bool) -> None:
    """`named`: the run's label stands behind the path."""
    measured, path = curve
    entries = [entry for entry in measured.run.of_path(path) if entry.bytes]
    sizes = [entry.bytes for entry in entries]

    def values(name: str) -> list[float]:
        return [value(kind, entry, getattr(entry, name)) for entry in entries]

    style = _style(look, measured.number, name_of(curve, named=named), 2.4)
    if len(entries) < FEWEST:
        # A line between them would show sizes that nobody has measured.
        middle, ends = values("seconds"), [values("low"), values("high")]
        reach: Any = [
            [abs(value - min(pair)) for value, *pair in zip(middle, *ends, strict=True)],
            [abs(max(pair) - value) for value, *pair in zip(middle, *ends, strict=True)],
        ]
        points = {**style, "linestyle": "none", "markersize": 5}
        panel.errorbar(sizes, middle, yerr=reach, elinewidth=0.8, capsize=2, **points)
        return
    panel.plot(sizes, values("seconds"), **style)
    panel.fill_between(sizes, values("low"), values("high"), color=style["color"], alpha=0.18, linewidth=0)


def _draw_published(panel: Axes, kind: str, other: PublishedCurves, looks: Mapping[str, Style]) -> None:
    """Their curves of the paths that are in the figure."""
    for path in (path for path in other.curves if path in looks):
        points = sorted(other.curves[path].items())
        values = [point.seconds * 1e6 if kind == "time" else point.rate / 1e9 for _, point in points]
        # Round dots: no path's own dashes look like them.
        dots = {"linestyle": (0, (0.1, 2.2)), "linewidth": 2.4, "dash_capstyle": "round"}
        style: Any = {"color": LIGHT[looks[path].hue], "alpha": 0.8, **dots}
        panel.plot([size for size, _ in points], values, label=f"{path}, {other.name} as published", **style)


def _dress(panel: Axes, kind: str, curves: Sequence[Curve]) -> None:
    """Axes, units, limits."""
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xlabel(curves[0][0].run.traits.size_rule.label)
    panel.set_ylabel(axis_of(kind, curves))
    known = [(path, limit) for measured, path in curves if (limit := measured.run.ceiling(path))]
    limits = grouped((limit.rate / 1e9, wire_of(limit, path)) for path, limit in known)
    if kind == "bandwidth" and limits:
        low, high = panel.get_ylim()
        panel.set_ylim(low, max(high, 1.6 * max(limits)))
        draw_limits(panel, {rate: ", ".join(dict.fromkeys(limits[rate])) for rate in sorted(limits)})
    label_sizes(panel)
    label_decades(panel)


def wire_of(limit: Ceiling, path: str) -> str:
    """'NVLink'; of a limit that several wires make, as staging has, the path."""
    return WIRES.get(limit.wire, path)


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
    looks: Sequence[Style],
    *,
    named: bool,
    labelled: bool,
) -> None:
    """A bar for each path, with its 95 % interval. `labelled`: the names stand beside them."""
    found = [
        (curve, look, entry)
        for curve, look in zip(curves, looks, strict=True)
        for entry in curve[0].run.of_path(curve[1])[-1:]
    ]
    for place, (_, look, entry) in enumerate(found):
        middle = value(kind, entry, entry.seconds)
        ends = [value(kind, entry, end) for end in (entry.low, entry.high)]
        error: Any = [[middle - min(ends)], [max(ends) - middle]]
        ink: Any = {"ecolor": "black", "capsize": 2, "error_kw": {"linewidth": 0.8}}
        panel.barh(place, middle, xerr=error, color=LIGHT[look.hue], height=0.7, **ink)
    panel.set_yticks(
        range(len(found)), [name_of(curve, named=named) if labelled else "" for curve, _, _ in found]
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


def draw_limits(panel: Axes, limits: Mapping[float, str]) -> None:
    """A dashed line for each rate, lowest first, with its wires; close ones have their words in common."""
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
        rates = dict.fromkeys(f"{format_rate(limit * 1e9)} GB/s ({limits[limit]})" for limit in alike)
        words = f"limit{'s' if len(rates) > 1 else ''} {', '.join(rates)}"
        panel.annotate(words, (0.01, alike[-1]), color=RED, fontsize=7, **place)


def draw_scaling(time: Axes, efficiency: Axes, scaling: Scaling, looks: Mapping[str, Style]) -> None:
    """The time of a step on the left, the efficiency on the right; both have the ideal line."""
    ranks = scaling.ranks
    dots: Any = {"color": QUIET, "linestyle": (0, (1, 2)), "linewidth": 1.2, "label": IDEAL}
    time.plot(ranks, [1e6 * scaling.ideal(count) for count in ranks], **dots)
    efficiency.plot(ranks, [100.0] * len(ranks), **dots)
    for number, curve in enumerate(scaling.curves):
        style = _style(looks[curve.path], number, curve.label, 3.2)
        counts = [point.ranks for point in curve.points]
        times = [point.entry for point in curve.points]
        time.plot(counts, [1e6 * entry.seconds for entry in times], **style)
        ends = [1e6 * entry.low for entry in times], [1e6 * entry.high for entry in times]
        time.fill_between(counts, *ends, color=style["color"], alpha=0.18, linewidth=0)
        shares = [scaling.efficiency(point) for point in curve.points]
        efficiency.plot(counts, [100 * share for share, _, _ in shares], **style)
        low, high = [100 * low for _, low, _ in shares], [100 * high for _, _, high in shares]
        efficiency.fill_between(counts, low, high, color=style["color"], alpha=0.18, linewidth=0)
    for panel in (time, efficiency):
        panel.set_xscale("log", base=2)
        panel.set_xticks(ranks, [str(count) for count in ranks])
        panel.set_xticks([], minor=True)
        panel.set_xlabel("ranks")
    if scaling.strong:
        time.set_yscale("log")
    else:
        time.set_ylim(bottom=0)
    efficiency.set_ylim(0, max(104, efficiency.get_ylim()[1]))
    time.set_ylabel("time of a step (us)")
    efficiency.set_ylabel("efficiency (%)")
    time.set_title(scaling.title, fontsize=9, loc="left")


def _style(look: Style, number: int, label: str, marker_size: float) -> dict[str, Any]:
    dashes = (0, tuple(float(part) / 1.5 for part in look.dashes.split())) if look.dashes else "-"
    line = {"color": LIGHT[look.hue], "linestyle": dashes, "linewidth": 1.1, "label": label}
    return {**line, "marker": MARKERS[number % len(MARKERS)], "markersize": marker_size}
