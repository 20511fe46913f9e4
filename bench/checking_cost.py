"""What checks cost: the seconds of a run before and after a change of wirespeed, by turns.

    .venv/bin/python bench/checking_cost.py --before "OTHER/.venv/bin/python OTHER/.../wirespeed/cli" \
        [--after ...] [--repeats 5] [-- COMMAND and OPTIONS of wirespeed]

Prints the whole run's seconds, those of its figures (`elapsed_s`, added up), and how often batches were
timed and checked: the median of some runs, with the smallest and the largest one; and the median ratio of
pairs. Then the ratio of each figure, by path and size.
"""

from __future__ import annotations

import shlex
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from common import COMMAND, in_turn, parser, said

import wirespeed
from wirespeed.results.model import Entry


@dataclass
class Launch:
    """A run, and the seconds that it took."""

    seconds: float
    entries: list[Entry]

    @property
    def of_figures(self) -> float:
        return sum(entry.elapsed_s or 0.0 for entry in self.entries)

    @property
    def batches(self) -> float:
        return sum(entry.checked.of_batches for entry in self.entries)

    @property
    def checked(self) -> float:
        return sum(entry.checked.batches for entry in self.entries)


def launched(command: str, options: list[str], folder: str) -> Launch:
    file = Path(folder, "result.jsonl")
    file.unlink(missing_ok=True)
    began = time.monotonic()
    said([*shlex.split(command), *options, "--out", file])
    return Launch(time.monotonic() - began, wirespeed.load(file).entries)


def spread(values: list[float]) -> str:
    """'12.1 (11.8 to 13.0)'."""
    return f"{statistics.median(values):9.4g} ({min(values):.4g} to {max(values):.4g})"


def apart(before: list[Launch], after: list[Launch]) -> None:
    """Prints each figure's ratio across launches."""
    print(f"\n{'figure':28} {'after / before':>14}   launches' medians before; after, in us")
    names = {(entry.path, entry.bytes): None for launch in before for entry in launch.entries}
    for path, size in names:
        medians = [
            [1e6 * e.seconds for launch in side for e in launch.entries if (e.path, e.bytes) == (path, size)]
            for side in (before, after)
        ]
        if all(medians):
            ratio = statistics.median(medians[1]) / statistics.median(medians[0])
            print(f"{path + ' ' + str(size):28} {ratio:14.3f}   {spread(medians[0])}; {spread(medians[1])}")


def main() -> None:
    given = parser(__doc__, before=COMMAND, after=COMMAND, repeats=5, options=[]).parse_args()
    options = given.options or ["pingpong"]
    with tempfile.TemporaryDirectory() as folder:
        after, before = in_turn(
            given.repeats,
            lambda: launched(given.after, options, folder),
            lambda: launched(given.before, options, folder),
        )
    print(f"wirespeed {' '.join(options)}, {given.repeats} pairs")
    for name, text in (
        ("seconds", "seconds of the run"),
        ("of_figures", "seconds of its figures"),
        ("batches", "batches timed"),
        ("checked", "batches checked"),
    ):
        of_both = [[float(getattr(launch, name)) for launch in side] for side in (before, after)]
        pairs = [b / a for a, b in zip(*of_both, strict=True) if a]
        ratio = f"{statistics.median(pairs):.3f}" if pairs else ""
        print(f"{text:24} before {spread(of_both[0])}   after {spread(of_both[1])}   ratio {ratio}")
    apart(before, after)


if __name__ == "__main__":
    main()
