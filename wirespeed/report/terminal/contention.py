"""The same measurement alone and while another one is running: how many times longer it took."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.console import Console
from rich.text import Text

from wirespeed.paths import all_paths
from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.markers import AS_FAST, biased, doubts, sign
from wirespeed.results.runs import CONDITIONS, Entry, Run
from wirespeed.units import format_size

TURNS = (
    "processes take turns on a GPU, milliseconds each, unless MPS lets them share it: the ratios include that"
)


def print_ratios(console: Console, runs: Sequence[Run], crowded: Run) -> None:
    """One row per size, one column per path: the time while another pattern is running / the time alone.

    `runs`: those among which to look for the same measurement alone; nothing is printed without one.
    """
    other, alone = crowded.background, _alone(runs, crowded)
    if other is None or alone is None:
        return

    def ratio(path: str, size: int) -> Text | None:
        """'1.83x'; '1.64x≈' where the intervals do not tell the two apart; '&1.83x' of a doubtful figure."""
        before, after = alone.entries.get((path, size)), crowded.entries.get((path, size))
        if before is None or after is None:
            return None
        (low, high), (least, most) = _ends(before), _ends(after)
        apart = least > high or most < low
        mark = doubts(sign(alone, before), sign(crowded, after))
        ratio = f"{after.seconds / before.seconds:.3g}x"
        words = (f"{ratio} ", "") if apart else (f"{ratio}{AS_FAST}", "dim")
        doubt = UNCERTAIN if before.uncertain or after.uncertain else ""
        return Text.assemble((mark if apart else biased(mark), "yellow"), words, (doubt, "yellow"))

    columns = [Column("size", format_size)]
    columns += [Column(path, partial(ratio, path), gap=3) for path in alone.paths if path in crowded.paths]
    console.print()
    head = f"while {other} is running: how many times longer it takes than alone"
    say(console, Text.assemble((head, "bold"), (f"; {AS_FAST} no sure difference", "dim")))
    console.print(table(columns, alone.sizes), crop=False)
    if _both_on_gpus(alone, other):
        say(console, TURNS, "dim")


def _ends(entry: Entry) -> tuple[float, float]:
    """Of the interval, or of the range where there is none, as of two launches."""
    least, most = entry.times.min, entry.times.max
    if entry.precision is not None or least is None or most is None:
        return entry.low, entry.high
    return least, most


def _alone(runs: Sequence[Run], crowded: Run) -> Run | None:
    """The last run that differs from this one only by what ran at the same time."""

    def rest(run: Run) -> list[object]:
        return [value for name, value in zip(CONDITIONS, run.conditions, strict=True) if name != "background"]

    same = (
        run for run in reversed(runs) if run.entries and not run.background and rest(run) == rest(crowded)
    )
    return next(same, None)


def _both_on_gpus(run: Run, other: str) -> bool:
    """Whether both patterns give a GPU of this run something to do."""
    devices = [rank.device for path in run.paths for rank in run.step(path).ranks]
    name = other.split(":")[1] if ":" in other else ""
    found = next((path for path in all_paths() if path.name == name), None)
    return any(devices) and found is not None and (found.needs_device or found.memory == "device")
