"""Parts that all forms of a fleet's report have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from wirespeed.errors import ExitCode
from wirespeed.fleet.drift import FleetDrift
from wirespeed.fleet.judge import FleetVerdict, Outlier, OutlierEvidence, exclude
from wirespeed.fleet.names import NodeName, compress, natural, node_name
from wirespeed.fleet.state import SilentNode
from wirespeed.fleet.topology import Topology
from wirespeed.fleet.window import MINUTES_APART
from wirespeed.grouping import grouped
from wirespeed.report import cannot_tell
from wirespeed.report.cannot_tell import NOT_ENDED
from wirespeed.report.compare.terminal import factor
from wirespeed.statistics.outliers import FEWEST_TIMES
from wirespeed.units import counted, format_seconds

MAX_NAMED = 8
"""Lines on one reason for what cannot be told."""
MAX_LISTED = 20
"""Nodes in one of them."""
HOPELESS = 100.0
"""Slowdowns beyond this count as never found."""


@dataclass(frozen=True)
class Shown:
    """A verdict on some days of a fleet, and how it came about."""

    folder: str
    begin: datetime
    end: datetime
    verdict: FleetVerdict
    topology: Topology
    least: float
    false_alarms: float
    drift: FleetDrift | None = None
    silent: Sequence[SilentNode] = ()
    """Nodes that fell silent while they were measured."""
    unjudged: Collection[str] = ()
    """Nodes without a figure that counts, because their ranks waited for CPUs."""
    ahead: Mapping[str, datetime] = field(default_factory=dict)
    """Files whose figures are dated ahead, and do not count."""
    unfinished: Sequence[str] = ()
    """Files of runs that did not end."""
    software: Sequence[str] = ()
    """Drivers and MPIs of what is slow that most others do not have."""

    @property
    def nodes(self) -> int:
        """Nodes that have figures."""
        return len(self.verdict.distances)

    @property
    def answer(self) -> str:
        """'3 nodes and 1 switch are slow, in a fleet of 5000 nodes'."""
        if found := self.verdict.findings:
            verb = "is" if len(found) == 1 else "are"
            words = f"{_kinds(found)} {verb} slow, in a fleet of {counted(self.nodes, 'node')}"
        else:
            words = self._unsure if self.cannot_tell else self._sound
        silent = f"{counted(len(self._silent), 'node')} fell silent; " if self._silent else ""
        return f"{silent}{words[0].lower()}{words[1:]}" if silent else words

    @property
    def _unsure(self) -> str:
        others = f"; {self._sound[0].lower()}{self._sound[1:]}" if self.verdict.tested else ""
        if suspects := self.verdict.suspects:
            verb = "was" if len(suspects) == 1 else "were"
            return f"Cannot tell whether {_kinds(suspects)} {verb} slow by chance{others}"
        if not others:
            return "Cannot tell: nothing could be judged"
        named = {*self.verdict.untold, *self.verdict.few_times, *self.unjudged} - self._silent
        count = len(named & {*self.verdict.distances, *self.unjudged})
        what = f"{count} of {counted(self.nodes, 'node')}" if count else "some of it"
        return f"Cannot tell about {what}{others}"

    @property
    def _silent(self) -> set[str]:
        return {silence.node for silence in self.silent}

    @property
    def _sound(self) -> str:
        kinds = _joined(list(self.verdict.tested) or ["node"], "or")
        return f"No {kinds} stands out, in a fleet of {counted(self.nodes, 'node')}"

    @property
    def judged(self) -> str:
        """'5000 nodes, 19988 links'."""
        return ", ".join(counted(count, kind) for kind, count in self.verdict.tested.items()) or "nothing"

    @property
    def smallest(self) -> str:
        """Slowdowns that would have been named in 90 % of the cases: 'a node from 1.07 x'."""
        words = []
        for kind, (best, worst) in self.verdict.smallest.items():
            if best > HOPELESS:
                words.append(f"no {kind}, however slow")
                continue
            text = f"{factor(best)} x"
            if factor(worst) != factor(best):
                never = "never" if worst > HOPELESS else f"{factor(worst)} x"
                text += f" in its best figure, {never} in its worst"
            words.append(f"a {kind} from {text}")
        return "; ".join(words)

    @property
    def cannot_tell(self) -> list[str]:
        """Lines about what could not be judged, why, and what would tell."""
        suspects, lines = self.verdict.suspects, []
        for suspect in suspects[:MAX_NAMED]:
            worst = suspect.worst
            often = {1: "once", 2: "twice"}.get(worst.measured, f"{worst.measured} times")
            slow = f"{often} slow, {factor(worst.ratio)} x ({worst.figure})"
            lines.append(f"{suspect.kind} {suspect.name}: {slow}")
        if of_fleet := self.verdict.of_fleet:
            apart = f"{len(of_fleet)} of {counted(self.nodes, 'node')} lie apart ({_names(of_fleet)})"
            why = "more than a third are the fleet, not nodes: placements that change, or groups that differ"
            lines.append(f"{apart}: {why}; 'wirespeed compare' of a slow one's file and another's tells what")
        if nodes := sorted({node for suspect in suspects for node in suspect.nodes}, key=natural):
            lines.append(f"measure again: wirespeed fleet run --hosts {compress(nodes)} and some others")
        untold = ((why, name) for name, why in self.verdict.untold.items() if name not in self._silent)
        lines += [f"{_names(names)}: {why}" for why, names in grouped(untold).items()]
        apart = f"launches, partners, or {MINUTES_APART} minutes apart"
        few = f"fewer than {FEWEST_TIMES} independent times ({apart}); measure again"
        waited = "ranks waited for CPUs; pairs count with --contended"
        for of, why in ((self.verdict.few_times, few), (self.unjudged, waited)):
            if told := {*of} - self._silent:
                lines.append(f"{_names(told)}: {why}")
        for file, at in list(self.ahead.items())[:MAX_NAMED]:
            lines.append(f"{file}: dated ahead ({at:%Y-%m-%d %H:%M} UTC) and left out; correct that clock")
        for file in self.unfinished[:MAX_NAMED]:
            lines.append(f"{file}: {NOT_ENDED.why}, and lacks figures; {NOT_ENDED.remedy}")
        return lines

    @property
    def days(self) -> str:
        """First and last day of the window."""
        return " to ".join(dict.fromkeys((f"{self.begin:%Y-%m-%d}", f"{self.end:%Y-%m-%d}")))

    @property
    def excluded(self) -> list[NodeName]:
        """Nodes for a scheduler to leave out."""
        nodes = {*exclude(self.verdict.findings), *self._silent}
        return [name for name in map(node_name, sorted(nodes)) if name]

    def code(self, strict: bool) -> ExitCode:
        """Exit code of `fleet`. `strict`: what cannot be told is a failure."""
        if not self.sound:
            return ExitCode.WORSE
        return cannot_tell.code(bool(self.cannot_tell or not self.verdict.tested), strict=strict)

    @property
    def sound(self) -> bool:
        """True where nothing is slow or silent, or became slower."""
        slow = self.verdict.findings or (self.drift and self.drift.verdict.findings)
        return not slow and not self.silent

    @property
    def silences(self) -> list[str]:
        """'silent: n3, in round 2 of 8 (...)'."""
        return [f"silent: {silence.node}, since {silence.part}: {silence.why}" for silence in self.silent]


def _kinds(found: Sequence[Outlier]) -> str:
    """'3 nodes and 1 switch'."""
    kinds = Counter(finding.kind for finding in found)
    return _joined([counted(count, kind) for kind, count in kinds.items()], "and")


def _joined(words: list[str], conjunction: str) -> str:
    return f" {conjunction} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _names(names: Collection[str]) -> str:
    """All that fit on a line."""
    shown = sorted(names, key=natural)[:MAX_LISTED]
    more = len(names) - len(shown)
    return f"{compress(shown)}{f' and {more} more' if more else ''}"


def with_partners(finding: Outlier, evidence: OutlierEvidence) -> str:
    """Figures with partners that show that this one is slow, and not another."""
    if evidence.slow_times is not None:
        return f"in {evidence.slow_times} of {evidence.measured} times (some days, or cables)"
    if finding.kind == "node":
        alone, days = f"alone, {counted(evidence.measured, 'time')}", evidence.days
        how = alone if evidence.partners is None else f"with {evidence.partners} partners"
        return how if days is None else f"{how}, in the latest {days:g} day{'s' if days != 1 else ''}"
    if finding.kind == "switch":
        return f"the median of its {counted(len(finding.nodes), 'node')}"
    if finding.kind == "link" and " - " in finding.name:
        return "more than its two ends explain"
    return "alone"


def times(evidence: OutlierEvidence) -> str:
    """'11.0 us, usually 10.0 us'."""
    return f"{format_seconds(evidence.seconds)}, usually {format_seconds(evidence.usual_s)}"
