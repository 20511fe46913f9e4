"""Estimates of how much longer each node, GPU, link and switch takes than those alike, by figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wirespeed.fleet.topology import Topology
from wirespeed.fleet.window import HistoryWindow
from wirespeed.statistics.arrays import Floats, Places
from wirespeed.statistics.mixed import BELIEF, USUAL, Mixed, Term, fit
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
from wirespeed.statistics.student import NORMAL_90, bounded_exp, student_point, student_tail

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
            points = student_point(2 * level, self.spread.freedom) + NORMAL_90
            return bounded_exp(self.spread.deviation * points)
        often = [int(count) for count in self.times[self.usable] if count >= FEWEST_TIMES]
        count = int(np.median(often)) if often else FEWEST_TIMES
        return bounded_exp(smallest_named(count, level, self.spread, self.tail))


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
    # Where nobody was measured twice, noise and differences between subjects are one.
    often = np.bincount(places)[places] > 1
    seen = model.noise[often] if often.any() else np.zeros(1)
    of_kinds = _kind_times(figure, kinds, of_name, model.effects.get("kind"))
    told = Estimates(
        *(figure, kind, names, np.full(len(names), math.nan), np.bincount(places), model.centre),
        deviation=model.deviation if often.any() else 0.0,
        tail=Tail(seen, often.sum() - len({*places[often].tolist()})),
        kinds=of_kinds,
    )
    values = model.rest + model.effects["subject"][places]
    noise = np.where(often, model.noise, 0.0)
    return _judged(told, places, values, noise, rows.moments, least, kinds, of_name)


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


def _judged(
    told: Estimates,
    places: Places,
    values: Floats,
    noise: Floats,
    moments: Floats,
    least: float,
    kinds: Sequence[str],
    of_name: Places,
    switches: Places | None = None,
    with_whom: Places | None = None,
) -> Estimates:
    """Adds what single times of subjects tell, each compared with those of its own hardware.

    Of each time: its subject's place, its logarithm without what it has in common with others, its noise, its
    moment, and the other node. Of each subject: its hardware, one of `kinds`, and its switch (-1: none).
    """
    assert told.tail
    effects = medians_of(places, values, len(told.names))
    untold = {
        told.names[place]: why
        for place in range(len(effects))
        if (why := _too_few(told, place, np.bincount(of_name), kinds, of_name))
    }
    effects[[name in untold for name in told.names]] = math.nan
    known = np.isfinite(effects)
    if not known.any():
        return replace(told, tail=None, partners=None, kinds=(), untold=untold)
    before = effects.copy()
    for groups in (switches, of_name):
        for group in range(0 if groups is None else int(groups.max()) + 1):
            if (those := (groups == group) & known).any():
                effects[those] -= np.median(effects[those])
    shift = np.where(known, before - effects, 0.0)
    often = known & (told.times >= min(FEWEST_TIMES, int(np.median(told.times[known]))))
    # Noise is judged by itself: here count the differences between subjects, as far as they are not its.
    spread = spread_of(effects[often]).without(
        0.45 * told.deviation**2 * 3 / max(3.0, float(np.median(told.times[often])))
    )
    rows = known[places]
    over_usual = (values - shift[places] - spread.centre)[rows]
    partners = None if with_whom is None else with_whom[rows]
    slow = slow_ones(places[rows], over_usual, moments[rows], spread, told.tail, least, noise[rows], partners)
    return replace(
        told,
        effects=effects - spread.centre,
        centre=told.centre + spread.centre,
        spread=spread,
        slow=slow,
        untold=untold,
    )


def _too_few(told: Estimates, place: int, alike: Places, kinds: Sequence[str], of_name: Places) -> str:
    """Why a subject cannot be judged, however often it is measured; '': it can."""
    number, needed = int(alike[of_name[place]]), f"{FEWEST_ALIKE} are needed"
    if number < FEWEST_ALIKE and len(kinds) > 1:
        return f"only {number} of this hardware ({kinds[of_name[place]] or UNKNOWN}), {needed}"
    if number < FEWEST_ALIKE:
        return f"only {number} {told.kind}{'s' if number > 1 else ''} to compare, {needed}"
    others = FEWEST_PARTNERS if told.partners is None else int(told.partners[place])
    if others < FEWEST_PARTNERS:
        plural = "s" if others != 1 else ""
        return f"measured with {others} other{plural}, {FEWEST_PARTNERS} are needed"
    return ""


def _of_pairs(figure: str, rows: HistoryWindow, topology: Topology, least: float) -> Iterator[Estimates]:
    """Switches, nodes and links from the times of pairs."""
    names, ends = _numbered([*rows.ones, *rows.others])
    first, second = ends[: len(rows)], ends[len(rows) :]
    terms = _common_terms(rows)
    kinds, of_name = _numbered([rows.kinds.get(name, "") for name in names])
    low, high = np.sort([of_name[first], of_name[second]], axis=0)
    combined = low * len(kinds) + high
    if len(kinds) > 1:
        together, places = np.unique(combined, return_inverse=True)
        terms["kind"] = Term.of(places, count=len(together), wide=True)
    behind = _behind(topology, names)
    for level, places in behind.items():
        terms[f"switch {level}"] = _through(level, places, behind, first, second)
    terms["node"] = Term.of(first, second, count=len(names))
    model = fit(rows.logs, terms)
    for level, places in behind.items():
        yield _switches(figure, level, places, topology, model, names)
    pairs = np.unique(np.sort([first, second], axis=0), axis=1)
    own_kinds = _own_kinds(kinds, combined, model) if len(kinds) > 1 else None
    effects = model.effects["node"]
    told = Estimates(
        *(figure, NODE, names, effects, np.bincount(ends), model.centre, model.deviation),
        tail=Tail(model.noise, model.free),
        partners=np.bincount(pairs.ravel()),
        kinds=_kind_times(figure, kinds, of_name, own_kinds),
    )
    values, noise, moments = (np.tile(each, 2) for each in (model.rest, model.noise, rows.moments))
    with_whom = np.concatenate([second, first])
    values += effects[ends]
    nodes = _judged(told, ends, values, noise, moments, least, kinds, of_name, behind.get(0), with_whom)
    yield nodes
    yield _links(figure, rows, model, nodes, least)


def _own_kinds(kinds: Sequence[str], combined: Places, model: Mixed) -> Floats:
    """The effect of pairs of one kind with itself; NaN where there is no such pair."""
    known = dict(zip(np.unique(combined).tolist(), model.effects["kind"], strict=True))
    return np.array([known.get(kind * (len(kinds) + 1), math.nan) for kind in range(len(kinds))])


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
    nodes_in_common = [np.median(model.effects["node"][places == place]) for place in present]
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
    sure = student_tail(math.log(apart) / (USUAL * 2**0.5), BELIEF) < 0.01
    slower = names[int(np.argmax(effects))]
    text = f"two switches differ, {slower} takes {apart:.2f} x: {FEWEST_SWITCHES} tell which is slow"
    return dict.fromkeys(names, text) if sure else {}
