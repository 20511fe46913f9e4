"""Tries all that docs/ and results/ claim of verdicts and intervals, and writes the tables there.

    .venv/bin/python bench/claims.py [--only compare,learn] [--repetitions 200] [--root DIR]

No machine is measured: launches that machines had (real_launches.py) are judged, and simulated ones, whose
noise (noise.py, intervals.py) has nothing in common with the code that judges it: it is skewed, late,
two-valued, drifting, common to a launch or a day. Each table stands between
`<!-- bench/claims.py NAME -->` and `<!-- end -->`; a table is written as soon as it is complete. Without
`--repetitions` each table has as many as it needs. Each core simulates a table; two
that do nothing else take a quarter of an hour.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import fleet_model
import intervals
import kinds
import real_launches
import verdicts
from common import parser

END = "<!-- end -->"


@dataclass(frozen=True)
class Table:
    """One table of a page."""

    page: str
    simulate: Callable[[int], Iterator[str]]
    """Its lines, from the number of repetitions."""
    repetitions: int = 200


TABLES = {
    "fleet": Table("docs/fleet.md", fleet_model.table),
    "watch": Table("docs/checking.md", verdicts.watches),
    "compare": Table("docs/comparing.md", verdicts.false_alarms, 400),
    "learn": Table("docs/checking.md", verdicts.bounds),
    "measured": Table("docs/comparing.md", verdicts.measured, 60),
    "real": Table("docs/comparing.md", real_launches.compared, 50),
    "kinds": Table("docs/comparing.md", kinds.table, 60),
    "stated": Table("docs/comparing.md", real_launches.stated),
    "learn-real": Table("docs/checking.md", real_launches.learnt, 20),
    "small": Table("docs/fleet.md", fleet_model.small),
    "found": Table("docs/comparing.md", verdicts.slowdowns),
    "intervals": Table("results/README.md", intervals.figures, 1000),
    "longer": Table("docs/measuring.md", intervals.longer, 150),
    "few": Table("results/README.md", intervals.few, 8000),
    "launches": Table("results/README.md", intervals.launches, 8000),
}


def begin(name: str) -> str:
    """The mark before a table."""
    return f"<!-- bench/claims.py {name} -->"


def written(page: Path, name: str, lines: list[str]) -> None:
    """Replaces what is between the table's marks."""
    text = "\n".join([begin(name), *lines, END])
    old = page.read_text()
    new, count = re.subn(f"{re.escape(begin(name))}.*?{END}", lambda _: text, old, count=1, flags=re.DOTALL)
    if not count:
        sys.exit(f"{page}: no {begin(name)}")
    page.write_text(new)


def simulated(name: str, repetitions: int) -> tuple[str, list[str]]:
    """The table's name and lines; `repetitions`: 0 for as many as it needs."""
    table = TABLES[name]
    repetitions = repetitions or table.repetitions
    lines = [*table.simulate(repetitions)]
    return name, lines if name == "stated" else [f"{repetitions} repetitions each:", "", *lines]


def main() -> None:
    """Prints each table, and writes it."""
    root = str(Path(__file__).parents[1])
    given = parser(__doc__, only=",".join(TABLES), repetitions=0, root=root).parse_args()
    if unknown := sorted({*given.only.split(",")} - {*TABLES}):
        sys.exit(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    with ProcessPoolExecutor() as pool:
        # In the order of TABLES, which begins with those that take longest.
        names = [name for name in TABLES if name in given.only.split(",")]
        wanted = [pool.submit(simulated, name, given.repetitions) for name in names]
        for future in as_completed(wanted):
            name, lines = future.result()
            print(*lines, "", sep="\n", flush=True)
            written(Path(given.root, TABLES[name].page), name, lines)


if __name__ == "__main__":
    main()
