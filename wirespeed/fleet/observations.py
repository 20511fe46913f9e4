"""Observations of single nodes and of pairs of nodes, from a result file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from wirespeed.fleet.names import node_name
from wirespeed.results.model import Entry, StepRecord
from wirespeed.results.parts import Rank, moment
from wirespeed.results.runs import Run
from wirespeed.units import format_size

NOT_OF_A_FIGURE = ("sample", "seed", "rank_pairs", "within_hosts")
"""Options that choose which pairs are measured, and change no figure of a pair."""
BETWEEN = ", between nodes"
_PAIR = re.compile(r"(\d+)-(\d+)")


class Observation(Struct, frozen=True):
    """One median of one launch, of a node alone or of two nodes.

    Its members, in this order, are the columns of packed days; those with a default may be missing there.
    """

    at: datetime
    """In UTC, without an offset."""
    run: str
    figure: str
    """'pingpong host 8 B': only equal ones are compared."""
    one: str
    other: str
    """The second node of a pair, the later one in the alphabet; '' for a node alone."""
    part: str
    """'GPU 0', 'GPU 0-1': what of the node; '' for the whole."""
    seconds: float
    kernel: str = ""
    driver: str = ""
    """'' where two nodes have different ones."""
    mpi: str = ""
    waited: bool = False
    """Its ranks waited for CPUs."""
    launch: int = 1
    """Counts from 1 within the run."""
    hardware: str = ""
    """CPU model of the first node; '' of older files."""
    other_hardware: str = ""
    """CPU model of the second node."""

    @property
    def launch_name(self) -> str:
        """Name shared by all that the same processes measured."""
        return f"{self.run} {self.launch}" if self.launch > 1 else self.run

    @property
    def hardware_of(self) -> tuple[tuple[str, str], ...]:
        """Each node, and its CPU model."""
        own = (self.one, self.hardware)
        return (own, (self.other, self.other_hardware)) if self.other else (own,)

    @property
    def nodes(self) -> tuple[str, ...]:
        """One or two."""
        return (self.one, self.other) if self.other else (self.one,)

    def counts(self, contended: bool) -> bool:
        """True where it is judged. `contended`: a pair's counts even if its ranks waited for CPUs.

        A pair has partners to be compared with; a node alone would show how it was scheduled.
        """
        return not self.waited or (contended and bool(self.other))


def observations(runs: Iterable[Run]) -> Iterator[Observation]:
    """Every launch's median of one node or of a pair of nodes.

    Left out: figures of more than two nodes, times without a date, figures that cannot be true, and ranks on
    hosts whose names no node can have.
    """
    for run in runs:
        steps = {step.step: step for step in run.steps}
        for entry in (launch for figure in run.entries.values() for launch in figure.each):
            at = moment(entry.at) or moment(run.head.started)
            step = steps.get(entry.step)
            if at and step:
                yield from _of_entry(run, step, entry, at)


def _of_entry(run: Run, step: StepRecord, entry: Entry, at: datetime) -> Iterator[Observation]:
    ranks = {rank.rank: rank for rank in step.ranks if node_name(rank.host)}
    known = [
        (_ranks_of(team.name, team.first, team.ranks), team.seconds, entry.contended_team(team))
        for team in entry.teams
    ]
    for numbers, seconds, waited in known or [(sorted(ranks), entry.seconds, entry.contended)]:
        those = [ranks[number] for number in numbers if number in ranks]
        hosts = sorted({rank.host for rank in those})
        if len(those) != len(numbers) or len(hosts) not in (1, 2) or seconds <= 0:
            continue
        models = {rank.host: rank.cpu_model for rank in those}
        drivers = {rank.device.driver for rank in those if rank.device and rank.device.driver}
        yield Observation(
            at,
            entry.run,
            _figure(run, entry, those) + (BETWEEN if len(hosts) == 2 else ""),
            hosts[0],
            hosts[1] if len(hosts) == 2 else "",
            _part(those) if len(hosts) == 1 else "",
            seconds,
            run.head.environment.kernel,
            drivers.pop() if len(drivers) == 1 else "",
            f"{step.mpi.vendor} {step.mpi.version}".strip() if step.mpi else "",
            waited,
            entry.launch,
            *(models[host] for host in hosts),
        )


def _ranks_of(name: str, first: int, count: int) -> Sequence[int]:
    """The ranks of a team: those of a pair are in its name, others follow each other."""
    pair = _PAIR.fullmatch(name)
    if pair and count == 2:
        return int(pair[1]), int(pair[2])
    return range(first, first + count)


def _figure(run: Run, entry: Entry, ranks: Sequence[Rank]) -> str:
    """Nodes are compared with their like: the kind of GPU is a part of the name."""
    options = {name: value for name, value in run.changed_options.items() if name not in NOT_OF_A_FIGURE}
    words = [
        name.replace("_", " ") + ("" if value is True else f" {value}") for name, value in options.items()
    ]
    pattern = entry.pattern or run.head.plan.pattern
    title = " ".join([", ".join([pattern, *words]), entry.path, format_size(entry.bytes)])
    kinds = sorted({rank.device.name for rank in ranks if rank.device})
    return f"{title}, {' and '.join(kinds)}" if kinds else title


def _part(ranks: Sequence[Rank]) -> str:
    """'GPU 0', 'GPU 0-1': processors of the node that took part; '' without GPUs, or of many."""
    places = sorted({rank.device.index for rank in ranks if rank.device and rank.device.index is not None})
    return f"GPU {'-'.join(map(str, places))}" if len(places) in (1, 2) else ""
