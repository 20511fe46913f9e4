"""Changes the pure rooms one small step at a time, and tells which changes no test notices.

    make mutants ARGS="[ROOM ...] [--sample N] [--seed S] [-j N]"

Rooms, their tests, and mutants that need not be noticed: tests/mutants.toml. Exit code 1: a room kills less
than 90 % of its mutants; 2: nothing could be tried.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutation.examine import KILLED, NEVER_RUN, Examination, Task
from mutation.module import Module
from mutation.operators import Mutant
from mutation.table import Table, read_table

ENOUGH = 0.9
TERSE = 20
"""Letters that tell a mutant from others on its line, but not where it is."""
TABLE = Path(__file__).parents[1] / "tests" / "mutants.toml"


@dataclass
class Count:
    """Of a file, or of a room."""

    room: str
    file: str = ""
    mutants: int = 0
    killed: int = 0
    equivalent: int = 0

    @property
    def share(self) -> float:
        counting = self.mutants - self.equivalent
        return self.killed / counting if counting else 1.0

    @property
    def row(self) -> str:
        left = self.mutants - self.equivalent - self.killed
        name = f"  {self.file}" if self.file else self.room
        return f"{name:36} {self.mutants:7} {self.killed:7} {left:9} {self.equivalent:10} {self.share:7.1%}"


HEAD = f"{'':36} {'mutants':>7} {'killed':>7} {'surviving':>9} {'equivalent':>10} {'share':>7}"


def examine(table: Table, given: argparse.Namespace) -> bool:
    """Prints what was found; do all rooms kill enough? Raises ValueError or RuntimeError."""
    rooms = [table.rooms[name] for name in given.rooms or table.rooms]
    modules = {file: Module.read(file) for room in rooms for file in room.files}
    excused = {(one.file, one.line, one.mutation) for one in table.equivalents}
    stale = excused - {_key(mutant) for module in modules.values() for mutant in module.mutants}
    chosen = [
        Task(room, modules[file], mutant)
        for room in rooms
        for file in room.files
        for mutant in _sampled(modules[file].mutants, given.sample, given.seed)
    ]
    tasks = [task for task in chosen if _key(task.mutant) not in excused]
    began = time.monotonic()
    verdicts = Examination(table.root, tasks, given.j, _progress(len(tasks))).run()
    passed = time.monotonic() - began

    counts = {room.name: Count(room.name) for room in rooms}
    counts |= {file: Count(room.name, file) for room in rooms for file in room.files}
    for task in chosen:
        for count in (counts[task.room.name], counts[task.mutant.file]):
            count.mutants += 1
            count.equivalent += _key(task.mutant) in excused
    for task, verdict in zip(tasks, verdicts, strict=True):
        for count in (counts[task.room.name], counts[task.mutant.file]):
            count.killed += verdict == KILLED
    _print(counts, tasks, verdicts)
    for file, line, mutation in sorted(one for one in stale if one[0] in modules):
        print(f"listed as equivalent, but no longer there: {file}: {line}: {mutation}")
    print(f"\n{len(tasks)} mutants in {passed:.0f} s, {given.j} at a time")
    return all(counts[room.name].share >= ENOUGH for room in rooms)


def _key(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.file, mutant.text, mutant.what


def _sampled(mutants: Sequence[Mutant], most: int | None, seed: int) -> Sequence[Mutant]:
    if most is None or most >= len(mutants):
        return mutants
    return [mutants[index] for index in sorted(random.Random(seed).sample(range(len(mutants)), most))]


def _progress(total: int) -> Callable[[int], None]:
    def tell(done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return tell


def _print(counts: Mapping[str, Count], tasks: Sequence[Task], verdicts: Sequence[str]) -> None:
    print(HEAD)
    for room in dict.fromkeys(count.room for count in counts.values()):
        for count in counts.values():
            if count.room == room:
                print(count.row)
    print()
    for task, verdict in zip(tasks, verdicts, strict=True):
        if verdict != KILLED:
            mutant, why = task.mutant, " (no test runs it)" if verdict == NEVER_RUN else ""
            where = f" in: {mutant.text}" if len(mutant.what) < TERSE else ""
            print(f"{mutant.file}:{mutant.line}: {mutant.what}{where}{why}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="of the table; all when left out")
    parser.add_argument("--sample", type=int, metavar="N", help="so many mutants of each file")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="another sample")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N", help="tried at a time")
    parser.add_argument("--table", type=Path, default=TABLE, metavar="FILE", help="another table of rooms")
    given = parser.parse_args()
    try:
        table = read_table(given.table)
        if unknown := set(given.rooms) - set(table.rooms):
            raise ValueError(f"no room {', '.join(sorted(unknown))}; there are {', '.join(table.rooms)}")
        os.chdir(table.root)
        return 0 if examine(table, given) else 1
    except (OSError, RuntimeError, ValueError) as failure:
        print(failure, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
