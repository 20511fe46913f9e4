"""The words of --test: what tests and sweeps change of a rank's work, decided here and nowhere in it."""

from __future__ import annotations

from wirespeed.host.core import Core
from wirespeed.job.plan import Plan
from wirespeed.job.soaking import FAULT
from wirespeed.paths import TransferPath
from wirespeed.patterns import Pattern
from wirespeed.rank.context import RankContext, Wanted
from wirespeed.rank.program import Program
from wirespeed.rank.ranges import Ranges

FRESH = "fresh-"
"""Beginning of a fault that messages from new memory alone have."""
_OWN = ("apart", "clock", "fault", "late", "offset", "instead", "soak-every")
"""All other words are options of the transport."""


class RangesAhead(Ranges):
    """Ranges by a clock that is so many seconds ahead."""

    def __init__(self, core: Core, rank: int, keep: bool, ahead: float) -> None:
        self._ahead = round(ahead * 1e9)
        super().__init__(core, rank, keep)

    @property
    def clock_name(self) -> str:
        return f"{super().clock_name} {self._ahead}"

    def clock(self) -> int:
        return super().clock() + self._ahead


class TestWords:
    """Those of a plan; most plans have none, and all is as it is then."""

    def __init__(self, plan: Plan) -> None:
        self._words, self._plan = dict(plan.test), plan
        self.offset = int(self._words.get("offset", "0"))
        """Bytes into its buffer at which every transfer starts."""
        self.share_gpus = self._words.get("share") == "yes"
        """Ranks that share a GPU are measured: slow, but right, as for the kernels of `gpu`."""

    def program(self, context: RankContext, wanted: Wanted) -> Program:
        """Collective. A program as it is, or with a fault."""
        fresh = context.fresh
        fault, late = self._words.get("fault", ""), float(self._words.get("late", "0"))
        planted = fault.removeprefix(FAULT) if fault.startswith(FAULT) and not fresh else ""
        if fault.startswith(FAULT) or fault.startswith(FRESH) != fresh:
            fault = ""
        if not (fault or planted or late):
            return Program(context, wanted)
        from wirespeed.rank.faults.program import FaultyProgram

        of_soak = (planted, int(self._words.get("soak-every", "10000"))) if planted else ()
        named = fault.removeprefix(FRESH)
        return FaultyProgram(context, wanted, fault=named, late_s=late, planted=of_soak)

    def transport(self, path: TransferPath, pattern: Pattern) -> tuple[str, str]:
        """The transport that carries the path, with its options: the path's, the user's, and those tried."""
        given = {key: word for key, word in self._words.items() if key not in _OWN and "@" not in key}
        options = dict(self._plan.options)
        for option in pattern.options:
            if option.for_transport and options.get(option.key) is not None:
                given[option.key] = options[option.key]
        of_path = f"@{path.name}"
        alone = ((key, word) for key, word in self._words.items() if key.endswith(of_path))
        words = [f"{key.removesuffix(of_path)}={word}" for key, word in (*given.items(), *alone)]
        instead = self._words.get("instead")
        return instead or path.transport, ";".join(filter(None, ("" if instead else path.options, *words)))

    def ranges(self, opened: Core, rank: int) -> Ranges:
        """This rank's ranges."""
        kept = self._plan.timing or self._plan.timeline is not None
        if "clock" not in self._words or rank % 2 == 0:
            return Ranges(opened, rank, kept)
        return RangesAhead(opened, rank, kept, float(self._words["clock"]))


def open_program(context: RankContext, wanted: Wanted) -> Program:
    """Collective. Raises Unusable on every rank where one cannot compile it."""
    return TestWords(context.plan).program(context, wanted)
