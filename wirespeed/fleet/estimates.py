"""Estimates of how much longer each node, GPU, link and switch takes than those alike, by figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from wirespeed.fleet.topology import Topology
from wirespeed.fleet.window import HistoryWindow
from wirespeed.statistics.mixed import Mixed, Term, fit, typical
from wirespeed.statistics.outliers import (
    FEWEST_ALIKE,
    FEWEST_TIMES,
    Slow,
    Spread,
    Tail,
    medians_of,
    slow_ones,
    smallest_named,
    spread_of,
)
from wirespeed.statistics.student import bounded_exp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

NODE, GPU, LINK, SWITCH = "node", "GPU", "link", "switch"
Subject = tuple[str, str]
"""Kind and name: ('node', 'n17'), ('GPU', 'n17 GPU 0'), ('link', 'n17 - n23'), ('switch', 'leaf3')."""
FEWEST_TOGETHER = 4
"""Times of a launch or a day that tell its effect from noise."""
FEWEST_PARTNERS = 3
"""With fewer, one slow partner is as likely as a slow node."""
FEWEST_BEHIND = 3
"""Nodes behind a switch that tell it from them."""
FEWEST_SWITCHES = 3
"""Among fewer nobody can say which one is slow."""
UNKNOWN = "unknown hardware"


@dataclass(frozen=True)
class KindTime:
    """A kind of hardware in one figure."""

    kind: str
    figure: str
    nodes: int
    ratio: float
    """Its usual time over that of the most frequent kind."""
    usual: str
    """The most frequent kind."""


@dataclass(frozen=True)
class Estimates:
    """One figure of many of a kind: those that are compared with each other."""

    figure: str
    kind: str
    names: Sequence[str]
    """Names of the subjects."""
    effects: Floats
    """Logarithms of times over those of the usual one alike; NaN where nothing can be said."""
    times: Places
    """Independent times of each."""
    centre: float
    """Logarithm of the seconds of the usual one."""
    deviation: float
    """Standard deviation of a single time."""
    spread: Spread | None = None
    """Differences between sound ones; None: none of them can be judged."""
    tail: Tail | None = None
    """Lateness of single times; None for switches, which are judged by their nodes."""
    slow: Mapping[int, Slow] = field(default_factory=dict)
    """By the place of the name."""
    partners: Places | None = None
    """Number of others that each node was measured with; None: measured alone."""
    untold: Mapping[str, str] = field(default_factory=dict)
    """Names of those that cannot be judged, however often they are measured, and why."""
    kinds: Sequence[KindTime] = ()

    @property
    def between_nodes(self) -> bool:
        """Are these links between two nodes?"""
        return self.kind == LINK and any(" - " in name for name in self.names[:1])

    @property
    def usable(self) -> Places:
        """Places of those that can be judged, perhaps after more times."""
        return np.flatnonzero(np.isfinite(self.effects)) if self.spread else np.zeros(0, dtype=np.int64)

    def smallest(self, level: float) -> float:
        """The ratio that a p value of `level` finds in 90 % of the cases, of those measured often enough."""
        if self.spread is None:
            return math.inf
        if self.tail is None:
            return bounded_exp(_smallest_switch(self.spread, level))
        often = [int(count) for count in self.times[self.usable] if count >= FEWEST_TIMES]
        count = int(typical(often)) if often else FEWEST_TIMES
        return bounded_exp(smallest_named(count, level, self.spread, self.tail))


def _smallest_switch(spread: Spread, level: float) -> float:
    from wirespeed.statistics.student import student_point

    return spread.deviation * (student_point(2 * level, spread.freedom) + 1.2815515655446004)


def estimates(window: HistoryWindow, topology: Topology, least: float) -> Iterator[Estimates]:
    """Estimates for every figure of some days. `least`: the ratio minus 1 that counts as nothing."""
    for figure, rows in window.by_figure():
        alone = rows.others == ""
        whole = rows.parts == ""
        if len(nodes := rows[alone & whole]):
            yield _alone(figure, NODE, nodes, least)
        if len(parts := rows[alone & ~whole]):
            links = np.array(["-" in part for part in parts.parts], dtype=bool)
            for kind, those in ((GPU, parts[~links]), (LINK, parts[links])):
                if len(those):
                    yield _alone(figure, kind, those, least)
        if len(pairs := rows[~alone]):
            yield from _of_pairs(figure, pairs, topology, least)


def _numbered(names: Sequence[str]) -> tuple[list[str], Places]:
    """The names in alphabetical order, and the place of each in that."""
    unique = sorted(set(names))
    places = {name: place for place, name in enumerate(unique)}
    return unique, np.array([places[name] for name in names], dtype=np.int64)


def _common_terms(rows: HistoryWindow) -> dict[str, Term]:
    """Effects of launches and of days, where enough was measured to tell them from noise."""
    found: dict[str, Term] = {}
    for name, labels in (
        ("launch", rows.launches.tolist()),
        ("day", np.floor(rows.moments).astype(int).tolist()),
    ):
        unique, places = _numbered(labels)
        enough = np.bincount(places, minlength=len(unique)) >= FEWEST_TOGETHER
        number = np.where(enough, np.cumsum(enough) - 1, -1)
        count = int(enough.sum())
        same = name == "day" and "launch" in found and found["launch"].count <= count
        if count and len(unique) > 1 and not same:
            found[name] = Term.of(number[places], count=count)
    return found


def _alone(figure: str, kind: str, rows: HistoryWindow, least: float) -> Estimates:
    """Nodes, GPUs and links within nodes, each measured by itself."""
    labels = rows.ones.tolist()
    if kind != NODE:
        labels = [f"{node} {part}" for node, part in zip(rows.ones, rows.parts, strict=True)]
    names, places = _numbered(labels)
    hardware = {label: rows.kinds.get(node, "") for label, node in zip(labels, rows.ones, strict=True)}
    kinds, of_name = _numbered([hardware[name] for name in names])
    terms = _common_terms(rows)
    if len(kinds) > 1:
        terms["kind"] = Term.of(of_name[places], count=len(kinds), wide=True)
    terms["subject"] = Term.of(places, count=len(names))
    model = fit(rows.logs, terms)
    values = model.rest + model.effects["subject"][places]
    times = np.bincount(places, minlength=len(names))
    judged = _Judged(names, places, values, rows.moments, times, of_name, kinds)
    # Where nobody was measured twice, noise and differences between subjects are one.
    seen = model.noise[times[places] > 1]
    tail = Tail(seen if len(seen) else np.zeros(1), len(seen) - float((times > 1).sum()))
    kind_times = _kind_times(figure, kinds, of_name, model.effects.get("kind"))
    deviation = model.deviation if len(seen) else 0.0
    noise = np.where(times[places] > 1, model.noise, 0.0)
    return judged.estimates(figure, kind, model.centre, deviation, tail, noise, least, None, kind_times)


def _kind_times(figure: str, kinds: Sequence[str], of_name: Places, effects: Floats | None) -> list[KindTime]:
    if effects is None:
        return []
    counts = np.bincount(of_name, minlength=len(kinds))
    usual = int(np.argmax(counts))
    return [
        KindTime(
            kind or UNKNOWN,
            figure,
            int(counts[place]),
            bounded_exp(float(effects[place] - effects[usual])),
            kinds[usual] or UNKNOWN,
        )
        for place, kind in enumerate(kinds)
        if place != usual
    ]


@dataclass
class _Judged:
    """Single times of subjects, to be compared with those of their own hardware."""

    names: Sequence[str]
    places: Places
    """The subject of each time."""
    values: Floats
    """Logarithms of times, without what they have in common with others."""
    moments: Floats
    times: Places
    """Number of each subject's times."""
    of_name: Places
    """The kind of hardware of each subject."""
    kinds: Sequence[str]
    groups: Places | None = None
    """The switch of each subject, -1: none that counts."""
    with_whom: Places | None = None
    """The other node of each time."""

    def estimates(
        self,
        figure: str,
        kind: str,
        centre: float,
        deviation: float,
        tail: Tail,
        noise: Floats,
        least: float,
        partners: Places | None,
        kind_times: Sequence[KindTime],
    ) -> Estimates:
        count = len(self.names)
        effects = medians_of(self.places, self.values, count)
        untold: dict[str, str] = {}
        alike = np.bincount(self.of_name, minlength=len(self.kinds))
        for place in np.flatnonzero(alike[self.of_name] < FEWEST_ALIKE).tolist():
            number = int(alike[self.of_name[place]])
            untold[self.names[place]] = _too_few(
                kind, number, len(self.kinds) > 1, self.kinds[self.of_name[place]]
            )
            effects[place] = math.nan
        for place in np.flatnonzero(np.isfinite(effects) & (_few(partners, count))).tolist():
            untold[self.names[place]] = (
                f"measured with {_others(partners, place)}, {FEWEST_PARTNERS} are needed"
            )
            effects[place] = math.nan
        told = np.isfinite(effects)
        if not told.any():
            return Estimates(figure, kind, self.names, effects, self.times, centre, deviation, untold=untold)
        shift = np.zeros(count)
        for groups in (self.groups, self.of_name):
            if groups is not None:
                for group in range(int(groups.max()) + 1):
                    those = (groups == group) & told
                    if those.any():
                        shift[those] += typical((effects - shift)[those])
        effects = effects - shift
        often = told & (self.times >= min(FEWEST_TIMES, int(typical(self.times[told]))))
        # Noise is judged by itself: here count the differences between subjects, as far as they are not its.
        spread = spread_of(effects[often]).without(
            0.45 * deviation**2 * 3 / max(3.0, typical(self.times[often]))
        )
        rows = told[self.places]
        slow = slow_ones(
            self.places[rows],
            (self.values - shift[self.places] - spread.centre)[rows],
            self.moments[rows],
            spread,
            tail,
            least,
            noise[rows],
            None if self.with_whom is None else self.with_whom[rows],
        )
        return Estimates(
            *(
                figure,
                kind,
                self.names,
                effects - spread.centre,
                self.times,
                centre + spread.centre,
                deviation,
            ),
            spread=spread,
            tail=tail,
            slow=slow,
            partners=partners,
            untold=untold,
            kinds=kind_times,
        )


def _few(partners: Places | None, count: int) -> NDArray[np.bool_]:
    return np.zeros(count, dtype=bool) if partners is None else partners < FEWEST_PARTNERS


def _others(partners: Places | None, place: int) -> str:
    number = 0 if partners is None else int(partners[place])
    return f"{number} other{'s' if number != 1 else ''}"


def _too_few(kind: str, number: int, several_kinds: bool, hardware: str) -> str:
    least = f"{FEWEST_ALIKE} are needed"
    if several_kinds:
        return f"only {number} of this hardware ({hardware or UNKNOWN}), {least}"
    return f"only {number} {kind}{'s' if number > 1 else ''} to compare, {least}"


def _of_pairs(figure: str, rows: HistoryWindow, topology: Topology, least: float) -> Iterator[Estimates]:
    """Switches, nodes and links from the times of pairs."""
    names, ends = _numbered([*rows.ones, *rows.others])
    first, second = ends[: len(rows)], ends[len(rows) :]
    terms = _common_terms(rows)
    kinds, of_name = _numbered([rows.kinds.get(name, "") for name in names])
    combined = np.minimum(of_name[first], of_name[second]) * len(kinds) + np.maximum(
        of_name[first], of_name[second]
    )
    if len(kinds) > 1:
        together, places = _numbered([str(value) for value in combined.tolist()])
        terms["kind"] = Term.of(places, count=len(together), wide=True)
    behind = _behind(topology, names)
    for level, places in behind.items():
        terms[f"switch {level}"] = _through(level, places, behind, first, second)
    terms["node"] = Term.of(first, second, count=len(names))
    model = fit(rows.logs, terms)
    for level, places in behind.items():
        yield _switches(figure, level, places, topology, model, names)
    times = np.bincount(np.concatenate([first, second]), minlength=len(names))
    pairs = np.unique(np.stack([np.minimum(first, second), np.maximum(first, second)]), axis=1)
    partners = np.bincount(pairs.ravel(), minlength=len(names))
    effects = model.effects["node"]
    judged = _Judged(
        names,
        np.concatenate([first, second]),
        np.concatenate([model.rest + effects[first], model.rest + effects[second]]),
        np.concatenate([rows.moments, rows.moments]),
        times,
        of_name,
        kinds,
        behind.get(0),
        np.concatenate([second, first]),
    )
    kind_times = _kind_times(
        figure, kinds, of_name, _own_kinds(kinds, combined, model) if len(kinds) > 1 else None
    )
    tail = Tail(model.noise, model.free)
    both = np.concatenate([model.noise, model.noise])
    nodes = judged.estimates(
        figure, NODE, model.centre, model.deviation, tail, both, least, partners, kind_times
    )
    yield nodes
    yield _links(figure, rows, model, nodes, least)


def _own_kinds(kinds: Sequence[str], combined: Places, model: Mixed) -> Floats:
    """The effect of pairs of one kind with itself; NaN where there is no such pair."""
    together, _ = _numbered([str(value) for value in combined.tolist()])
    places = {name: place for place, name in enumerate(together)}
    effects = model.effects["kind"]
    found = [places.get(str(kind * len(kinds) + kind)) for kind in range(len(kinds))]
    return np.array([math.nan if place is None else effects[place] for place in found])


def _links(figure: str, rows: HistoryWindow, model: Mixed, nodes: Estimates, least: float) -> Estimates:
    names, places = _numbered(
        [f"{item} - {other}" for item, other in zip(rows.ones, rows.others, strict=True)]
    )
    times = np.bincount(places, minlength=len(names))
    effects = medians_of(places, model.without, len(names))
    if nodes.spread is None:
        return Estimates(
            figure, LINK, names, np.full(len(names), math.nan), times, nodes.centre, model.deviation
        )
    spread = nodes.spread
    tail = Tail(model.without, model.free)
    slow = slow_ones(places, model.without, rows.moments, spread, tail, least, model.without)
    return Estimates(figure, LINK, names, effects, times, model.centre, model.deviation, spread, tail, slow)


def _behind(topology: Topology, names: Sequence[str]) -> dict[int, Places]:
    """Of each level of switches: the place of each node's switch in it; -1: none with enough nodes."""
    found: dict[int, Places] = {}
    for switches in reversed(topology.levels):
        level = switches[0].level
        of_node = {node: place for place, switch in enumerate(switches) for node in switch.nodes}
        places = np.array([of_node.get(name, -1) for name in names], dtype=np.int64)
        sizes = np.bincount(places[places >= 0], minlength=len(switches))
        places = np.where((places >= 0) & (sizes[places] >= FEWEST_BEHIND), places, -1)
        if len(set(places.tolist()) - {-1}) > 1:
            found[level] = places
    return found


def _through(level: int, places: Places, behind: Mapping[int, Places], first: Places, second: Places) -> Term:
    """The switches of a level that each pair goes through: one where both ends are behind it.

    Below the switch where their ways meet, pairs go through no higher one.
    """
    one, other = places[first], places[second]
    met = np.zeros(len(first), dtype=bool)
    for lower, below in behind.items():
        if lower < level:
            met |= (below[first] == below[second]) & (below[first] >= 0)
    left = np.where(met, -1, one)
    right = np.where(met | (one == other), -1, other)
    return Term.of(left, right, count=int(places.max()) + 1)


def _switches(
    figure: str, level: int, places: Places, topology: Topology, model: Mixed, nodes: Sequence[str]
) -> Estimates:
    """The effect of each switch of a level, and what most nodes behind it have in common."""
    switches = next(found for found in topology.levels if found[0].level == level)
    present = sorted(set(places.tolist()) - {-1})
    own = model.effects[f"switch {level}"]
    nodes_in_common = [typical(model.effects["node"][places == place]) for place in present]
    effects = own[present] + (np.array(nodes_in_common) if level == 0 else 0.0)
    names = [switches[place].name for place in present]
    times = np.array([int((places == place).sum()) for place in present])
    if len(present) < FEWEST_SWITCHES:
        apart = bounded_exp(float(effects.max() - effects.min()))
        return Estimates(
            *(figure, SWITCH, names, np.full(len(names), math.nan), times, model.centre, model.deviation),
            untold=_apart(names, effects, apart, model),
        )
    slow: dict[int, Slow] = {}
    for place, effect in enumerate(effects):
        others = spread_of(np.delete(effects, place))
        p = others.p_of(float(effect) - others.centre)
        slow[place] = Slow(p, float(effect) - others.centre, int(times[place]))
    spread = spread_of(effects)
    return Estimates(
        *(figure, SWITCH, names, effects - spread.centre, times, model.centre + spread.centre),
        *(model.deviation, spread, None, slow),
    )


def _apart(names: Sequence[str], effects: Floats, apart: float, model: Mixed) -> dict[str, str]:
    """Two switches that differ: one is slow, and nothing tells which."""
    from wirespeed.statistics.mixed import BELIEF, USUAL
    from wirespeed.statistics.student import student_tail

    sure = student_tail(math.log(apart) / (USUAL * 2**0.5), BELIEF) < 0.01
    slower = names[int(np.argmax(effects))]
    text = f"two switches differ, {slower} takes {apart:.2f} x: {FEWEST_SWITCHES} tell which is slow"
    return dict.fromkeys(names, text) if sure else {}
