"""One rank and all others: it sends to all of them at once, or all send to it, rank by rank."""

from __future__ import annotations

from wirespeed.patterns.steps import Figure, Step, Team, Transfer

WAYS = ("out", "in", "both")


class Fan:
    """The phases of one such measurement: every rank out, every rank in, or one after the other."""

    def __init__(self, way: str, ranks: int) -> None:
        self._way, self._ranks = way, ranks

    @property
    def phases(self) -> int:
        return self._ranks * (2 if self._way == "both" else 1)

    def _center(self, phase: int) -> tuple[int, bool]:
        """The one rank, and whether it sends."""
        return phase % self._ranks, self._way == "out" or (self._way == "both" and phase < self._ranks)

    def steps(self, rank: int, size: int, phase: int) -> list[Step]:
        """The center has a place for each message; the answers keep senders from running ahead."""
        center, sends = self._center(phase)
        others = [number % self._ranks for number in range(center + 1, center + self._ranks)]
        if rank == center:
            places = [number * size for number in range(len(others))]
            messages = tuple(
                Transfer(other, size, place) for other, place in zip(others, places, strict=True)
            )
            answers = tuple(Transfer(other, 0) for other in others)
        else:
            place = others.index(rank) * size
            messages, answers = (Transfer(center, size, 0, place),), (Transfer(center, 0),)
        if sends == (rank == center):
            return [Step(sends=messages), Step(receives=answers)]
        return [Step(receives=messages), Step(sends=answers)]

    def extent(self, size: int) -> int:
        return (self._ranks - 1) * size

    def team(self, phase: int) -> Team:
        """All ranks, the one before the others: its clock counts."""
        center, sends = self._center(phase)
        others = (number % self._ranks for number in range(center, center + self._ranks))
        return Team(f"rank {center} to all" if sends else f"all to rank {center}", tuple(others))

    def figure(self, size: int) -> Figure:
        count = self._ranks - 1
        what = {
            "out": "one rank to all others at once",
            "in": "all others to one rank at once",
            "both": "one rank to all others at once, then all others to one at once",
        }[self._way]
        messages = f"{count} message{'s' * (count > 1)} together"
        return Figure(
            1, count * size, f"slowest fan: {what}, and an empty answer each; GB/s of the {messages}"
        )
