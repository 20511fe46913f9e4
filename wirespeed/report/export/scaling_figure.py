"""Curves of a program's step and its efficiency over the number of ranks, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wirespeed.report.facts.scaling import IDEAL, Scaling, ScalingCurve
from wirespeed.report.page.styles import LIGHT, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUIET, MARKERS = "#555555", "os^DvP*X"


def draw_scaling(time: Axes, efficiency: Axes, scaling: Scaling, looks: Mapping[str, Style]) -> None:
    """The time of a step on the left, the efficiency on the right; both have the ideal line."""
    ranks = scaling.ranks
    dots: Any = {"color": QUIET, "linestyle": (0, (1, 2)), "linewidth": 1.2, "label": IDEAL}
    time.plot(ranks, [1e6 * scaling.ideal(count) for count in ranks], **dots)
    efficiency.plot(ranks, [100.0] * len(ranks), **dots)
    for number, curve in enumerate(scaling.curves):
        style = _style(curve, looks, number)
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
        _label_ranks(panel, ranks)
        panel.set_xlabel("ranks")
    if scaling.strong:
        time.set_yscale("log")
    else:
        time.set_ylim(bottom=0)
    efficiency.set_ylim(0, max(104, efficiency.get_ylim()[1]))
    time.set_ylabel("time of a step (us)")
    efficiency.set_ylabel("efficiency (%)")
    time.set_title(scaling.title, fontsize=9, loc="left")


def _style(curve: ScalingCurve, looks: Mapping[str, Style], number: int) -> dict[str, Any]:
    look = looks[curve.path]
    line = {"color": LIGHT[look.hue], "linestyle": line_of(look), "linewidth": 1.1}
    return {**line, "marker": MARKERS[number % len(MARKERS)], "markersize": 3.2, "label": curve.label}


def line_of(look: Style) -> Any:
    """A path's dashes as matplotlib takes them."""
    return (0, tuple(float(part) / 1.5 for part in look.dashes.split())) if look.dashes else "-"


def _label_ranks(panel: Axes, ranks: list[int]) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    panel.xaxis.set_major_locator(FixedLocator(ranks))
    panel.xaxis.set_major_formatter(FixedFormatter([str(count) for count in ranks]))
    panel.xaxis.set_minor_locator(NullLocator())
