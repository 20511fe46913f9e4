"""How long a run still takes; test_progress.py has what a terminal and a pipe say of it."""

from __future__ import annotations

import re

from support.golden import GOLDEN, Golden

from wirespeed.job.messages import FILLING, Progress
from wirespeed.report.terminal.time_left import TimeLeft
from wirespeed.results.events import StepStart
from wirespeed.units import parse_size

FILE = GOLDEN / "frontend" / "time_left.events"


class Run:
    """The events of one case; each line becomes itself and what is left after it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.left = TimeLeft(lambda: self.now)
        self.left.begin()

    def line(self, line: str) -> str:
        line = line.partition("  -> ")[0]
        name, *words = line.split()
        if name == "budget":
            self.left.budget = float(words[0])
        elif name == "soaks":
            self.left.soaks = True
        else:
            times, after = (int(name[:-1]), words.pop(0)) if name.endswith("x") else (1, name)
            for number in range(times):
                self.now += float(after)
                self.event(number, *words)
            left = self.left.remaining
            return f"{line}  -> {'?' if left is None else f'{left:.3g} s'}"
        return line

    def event(self, number: int, name: str, *words: str) -> None:
        """`number`: added to the index of a size, which has 8 B and twice as much each time."""
        said = dict(word.split("=") for word in words if "=" in word)
        plain = [word for word in words if "=" not in word]
        match name:
            case "step":
                path, done, total = plain
                self.left.step(
                    StepStart(path, 0, int(done), int(total), failing=float(said.get("failing", 0)))
                )
            case "size":
                path, index, of = plain[0], int(plain[1]) + number, int(plain[2])
                phases = {key: int(said[key]) for key in ("phase", "phases") if key in said}
                doing = FILLING if "fills" in plain else said.get("doing", "")
                needs = (*map(parse_size, said["needs"].split(",")),) if "needs" in said else ()
                self.left.size(
                    Progress(path, self.bytes(said, index), index, of, needs=needs, doing=doing, **phases)
                )
            case "done":
                size, coarse = self.bytes(said, int(plain[0]) + number), "coarse" in plain
                self.left.size_done(size, coarse=coarse, seconds=float(said.get("seconds", 0)))
            case "failed":
                self.left.step_failed() if plain == ["-"] else self.left.size_done(int(plain[0]), True)
            case "ended":
                self.left.step_ended()

    def bytes(self, said: dict[str, str], index: int) -> int:
        return parse_size(said["bytes"]) if "bytes" in said else 8 << index


def test_time_left(golden: Golden) -> None:
    """Protects from a number without a basis: what is left of the run, after each of its events."""
    intro, *cases = re.split(r"^== ", FILE.read_text(), flags=re.MULTILINE)
    found = [intro]
    for case in cases:
        title, *lines = case.strip().splitlines()
        run = Run()
        found.append("\n".join([f"== {title}", *map(run.line, lines), ""]))
    golden.compare(FILE, "\n".join([found[0].rstrip(), "", *found[1:]]))
