"""Every pair of ranks, in phases of disjoint pairs: the matrix of all links."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.fan import WAYS, Fan
from wirespeed.patterns.rules import Option, RankRule, Shown, SizeRule, Timing
from wirespeed.patterns.steps import Figure, Step, Team, Transfer


class Pairs(Pattern):
    """Ping-pongs of disjoint pairs at once, until every rank has met every other one."""

    name = "pairs"
    summary = "Measure every pair of ranks: a matrix, and its slowest links."
    help = """
    In each phase ranks stand in disjoint pairs, and all pairs do a ping-pong at the same time; after p - 1
    phases (p, if p is odd) every rank has met every other one. The times are one-way times.

    With --alone one pair at a time is measured, p x (p - 1) / 2 of them: nobody else is on the wires then.
    With --sample N only N of the phases are measured, chosen at random (--seed).

    With --fan, one rank and all others instead of pairs: it sends to all of them at once (out), all send to
    it (in), or both, one after the other; rank by rank.

    \b
    Examples:
      wirespeed pairs
      wirespeed pairs --ranks 8 --paths gpu --sizes 8,256M
      wirespeed pairs --alone
      wirespeed pairs --ranks 8 --paths gpu --fan both
      srun -N 64 --ntasks-per-node 8 wirespeed pairs --sample 20
    """
    options = (
        Option("alone", "One pair at a time.", default=False),
        Option("sample", "Measure only N random phases.", None),
        Option("seed", "Seed of the random choice of phases.", 1, least=0),
        Option("fan", "One rank to all others at once, or all to one.", None, choices=WAYS),
    )
    rank_rule = RankRule(None)
    size_rule = SizeRule("8,16M")
    shown = Shown(by_size=False)

    def refuse(self) -> str | None:
        if why := super().refuse():
            return why
        if self._fan and (self["alone"] or self["sample"]):
            return "--fan measures one rank and all others: leave out --alone and --sample"
        every, sample = self._all_phases, self["sample"]
        if sample is not None and int(sample) > every:
            phases = f"{every} phase{'s' * (every > 1)}"
            return f"--sample {sample}: {self.ranks} ranks make {phases}; write at most {every}"
        return None

    @property
    def _fan(self) -> Fan | None:
        return Fan(self["fan"], self.ranks) if self["fan"] else None

    @staticmethod
    def round_robin_phases(ranks: int) -> int:
        """Phases until every rank has met every other one."""
        return ranks - 1 + ranks % 2

    @property
    def _all_phases(self) -> int:
        alone = self["alone"]
        return self.ranks * (self.ranks - 1) // 2 if alone else self.round_robin_phases(self.ranks)

    @property
    def timing(self) -> Timing:
        fan, every, sample = self._fan, self._all_phases, self["sample"]
        return Timing(phases=fan.phases if fan else every if sample is None else min(int(sample), every))

    def partner(self, rank: int, phase: int) -> int | None:
        """The partner of `rank` in this phase; None: it pauses."""
        number = self._chosen(phase)
        if not self["alone"]:
            return meets(rank, number, self.ranks)
        first, second = nth_pair(number, self.ranks)
        return {first: second, second: first}.get(rank)

    def _chosen(self, phase: int) -> int:
        if self["sample"] is None:
            return phase
        return shuffled(phase, self._all_phases, int(self["seed"]))

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        if fan := self._fan:
            return fan.steps(rank, size, phase)
        partner = self.partner(rank, phase)
        if partner is None:
            return []
        other = (Transfer(partner, size),)
        send, receive = Step(sends=other), Step(receives=other)
        return [send, receive] if rank < partner else [receive, send]

    def extent(self, rank: int, size: int) -> int:
        fan = self._fan
        return fan.extent(size) if fan else size

    def team(self, rank: int, phase: int = 0) -> Team | None:
        if fan := self._fan:
            return fan.team(phase)
        partner = self.partner(rank, phase)
        if partner is None:
            return None
        low, high = min(rank, partner), max(rank, partner)
        return Team(f"{low}-{high}", (low, high))

    def figure(self, size: int) -> Figure:
        if fan := self._fan:
            return fan.figure(size)
        how = "one pair at a time" if self["alone"] else "disjoint pairs at once"
        return Figure(2, size, f"slowest pair: half of a round trip, {how}")


def meets(rank: int, number: int, ranks: int) -> int | None:
    """Round robin (the circle method): the partner of `rank` in phase `number`; None: it pauses.

    The last of an even number of ranks stays where it is, the others go round; with an odd number the
    place that stays is empty.
    """
    even = ranks + ranks % 2
    circle = even - 1
    if rank == circle:
        other = number % circle * (even // 2) % circle
    else:
        other = (number - rank) % circle
        if other == rank:
            other = circle
    return other if other < ranks else None


def nth_pair(number: int, ranks: int) -> tuple[int, int]:
    """Pair `number` of all p x (p - 1) / 2: (0, 1), (0, 2), ..., (1, 2), ..."""
    first = 0
    while number >= ranks - 1 - first:
        number -= ranks - 1 - first
        first += 1
    return first, first + 1 + number


def shuffled(place: int, count: int, seed: int) -> int:
    """Place `place` of a random order of 0 ... count - 1, without writing that order down.

    A Feistel network over the next power of four, walked until it falls among the first `count`.
    """
    half = 1
    while 1 << (2 * half) < count:
        half += 1
    mask = (1 << half) - 1
    value = place
    while True:
        left, right = value >> half, value & mask
        for turn in range(4):
            left, right = right, left ^ (_mixed(right, seed * 4 + turn) & mask)
        value = left << half | right
        if value < count:
            return value


def _mixed(value: int, key: int) -> int:
    word = (value * 0x9E3779B97F4A7C15 + key * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & ((1 << 64) - 1)
    return (word ^ word >> 29) * 0xBF58476D1CE4E5B9 >> 24


PATTERN = Pairs()
