"""What compare and check say of launches that machines had: results/, with and without slowdowns (claims.py).

Nothing is simulated but the slowdowns: the times of some figures are multiplied. Splits of a set are drawn
with a seed. What the judge states about launches in general is learnt anew without the set that it judges.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from msgspec import structs

from wirespeed.errors import ExitCode
from wirespeed.judge.spreads import STATED, Spread, group_of, groups
from wirespeed.judge.verdict import BETTER, HARMFUL, LIKELY_BETTER, LIKELY_WORSE, WORSE
from wirespeed.paths import mover_of
from wirespeed.report.check.evaluate import FAILED, check, rules
from wirespeed.report.check.learn import learn
from wirespeed.report.check.requirements import read_requirements
from wirespeed.report.compare.comparison import Comparison, compare
from wirespeed.results.model import Record
from wirespeed.results.reading import read
from wirespeed.results.runs import Entry, Run, collect

ROOT = Path(__file__).parents[1] / "results"
SETS = {
    "two H200s": "default/h200-x2-launch-*",
    "two CPUs": "two-cpus/vm-launch-*",
}
"""Ten equal launches each."""
SMALL = {
    "span 1 to 3": "default/h200-x2-span-[123]*",
    "span 4 to 6": "default/h200-x2-span-[456]*",
    "H100 span": "default/h100-x2-span-*",
    "single": "default/h200-x2-single-[12]*",
    "apart": "default/h200-x2-apart-*",
    "one H100": "one-gpu/h100-launch-*",
    "one H200, copies": "one-gpu/h200-copy-launch-*",
    "one H200, host": "one-gpu/h200-host-launch-*",
}
"""Too few launches to count: their rates are printed beside."""
LOUD = ("host", "staged")
LONG = 16 << 20
TOGETHER = ("aware", "nccl", "nccl-stream", "ipc-write", "gpu")

Slower = Callable[[str, int], float]
"""Factor of the time of a path at a size."""
Launch = tuple[Record, ...]


@cache
def launches(pattern: str, paths: tuple[str, ...] = ()) -> list[Launch]:
    """The records of each file; `paths`: of these alone."""
    found = []
    for file in sorted(ROOT.glob(pattern)):
        records = read(str(file)).records
        found.append(tuple(record for record in records if not paths or _of(record, paths)))
    return found


def _of(record: Record, paths: Sequence[str]) -> bool:
    return getattr(record, "path", paths[0]) in paths


def spreads(without: str = "") -> dict[str, dict[str, Spread]]:
    """STATED, from all sets but `without`: roots of the mean variances of equal launches."""
    found: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for pattern in (*SETS.values(), *SMALL.values()):
        if pattern == without:
            continue
        for path in paths_of(pattern):
            times: dict[int, list[float]] = {}
            for launch in launches(pattern):
                for record in launch:
                    if isinstance(record, Entry) and record.path == path:
                        times.setdefault(record.bytes, []).append(record.seconds)
            # What one launch had no time for tells nothing.
            times = {size: all_ for size, all_ in times.items() if len(all_) == len(launches(pattern))}
            if not times:
                continue
            logs = np.log([*times.values()])
            logs -= np.median(logs, axis=1, keepdims=True)
            for places in groups([*times]):
                whole, single = found.setdefault((mover_of(path), group_of([*times][places[0]])), ([], []))
                whole.append(float(np.median(logs[places], axis=0).var(ddof=1)))
                single.append(float(logs[places].var(axis=1, ddof=1).mean()))
    told: dict[str, dict[str, Spread]] = {}
    for (kind, group), (whole, single) in found.items():
        told.setdefault(kind, {})[group] = Spread(float(np.mean(whole)) ** 0.5, float(np.mean(single)) ** 0.5)
    return told


def stated(repetitions: int) -> Iterator[str]:
    """What launches of each kind of path differ by, in percent: of a group's median; of a figure."""
    yield "| | short, to 4 KiB | middle | long, from 1 MiB |"
    yield "|---|---|---|---|"
    for kind, told in spreads().items():
        cells = (f"{100 * spread.group:.2g}; {100 * spread.figure:.2g}" for spread in told.values())
        yield f"| {kind} | " + " | ".join(cells) + " |"


def paths_of(pattern: str) -> list[str]:
    first = launches(pattern)[0]
    return [*dict.fromkeys(record.path for record in first if isinstance(record, Entry))]


def runs(chosen: Sequence[Launch], slower: Slower | None = None, name: str = "") -> list[Run]:
    """A run for each launch, as read from files."""
    records: list[Record] = []
    for number, launch in enumerate(chosen):
        for record in launch:
            changed: dict[str, Any] = {"run": f"{name}{number}"} if hasattr(record, "run") else {}
            if isinstance(record, Entry) and slower and (by := slower(record.path, record.bytes)) != 1:
                changed["times"] = _times(record, by)
            records.append(structs.replace(record, **changed))
    return collect(records)


def _times(entry: Entry, by: float) -> Any:
    times = entry.times
    names = ("median", "low", "high", "min", "p99")
    values = {name: getattr(times, name) for name in names}
    return structs.replace(
        times, **{name: value * by for name, value in values.items() if isinstance(value, float)}
    )


def splits(dice: np.random.Generator, of: int, *counts: int) -> list[list[int]]:
    """Disjoint random sets of launches."""
    order, found, start = [*map(int, dice.permutation(of))], [], 0
    for count in counts:
        found.append(sorted(order[start : start + count]))
        start += count
    return found


CHANGED = (WORSE, BETTER)
LIKELY = (LIKELY_WORSE, LIKELY_BETTER)


def named(found: Comparison, what: Sequence[str] = CHANGED) -> set[str]:
    """Paths of which anything is called so."""
    return {figure.key.path for figure in found.verdicts.figures if figure.what in what} | {
        group.key.path for group in found.verdicts.groups if group.what in what
    }


def code(found: Comparison) -> ExitCode:
    if found.harmful:
        return ExitCode.WORSE
    return ExitCode.CANNOT_TELL if found.unjudged else ExitCode.OK


def untold(found: Comparison) -> set[str]:
    """Paths that keep the exit code at 8."""
    return {unjudged.what.split()[1] for unjudged in found.unjudged}


def _compared(
    chosen: list[Launch], sides: Sequence[Sequence[int]], slower: Slower | None = None
) -> Comparison:
    old, new = ([chosen[at] for at in side] for side in sides)
    return compare(runs(old, name="old"), runs(new, slower, "new"))


def everywhere(path: str, by: float, start: int = 0) -> Slower:
    """`path` is slower from this size on."""
    return lambda name, size: by if name == path and size >= start else 1.0


def _share(count: float, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "-"


def compared(repetitions: int) -> Iterator[str]:
    """Comparisons of equal launches, and of launches with a slowdown."""
    yield "| | launches | " + " | ".join(SETS) + " | wanted |"
    yield "|---" * (len(SETS) + 3) + "|"
    sets = []
    for pattern in SETS.values():
        with patch.dict(STATED, spreads(pattern)):
            sets.append(_compared_set(pattern, repetitions))
    for name, counts, wanted in ROWS:
        cells = " | ".join(found.get(name, "") for found in sets)
        yield f"| {name} | {counts} | {cells} | {wanted} |"


ROWS = (
    ("equal: any path named", "5, 5", "at most 5 %"),
    ("equal: exit code 0, without `host` and `staged`", "5, 5", "80 %"),
    ("equal: exit code 0, all paths", "5, 5", ""),
    ("equal: `host`; `staged` keep it at 8", "5, 5", ""),
    ("equal, fewer launches: any path named", "3, 3", "at most 5 %"),
    ("x1.3 from 16 MiB on, one quiet path (the least)", "3, 3", "90 %"),
    ("x1.1 from 16 MiB on, five paths: all named", "3, 3", "90 %"),
    ("x1.3, `host`; `staged`", "5, 5", "90 %"),
    ("equal: any path called likely real", "1, 1", "at most 5 %"),
    ("x2 over half of a group, any path but `host` (the least)", "1, 1", "90 %"),
    ("x2 over half of a group, `host`", "1, 1", ""),
)


def _compared_set(pattern: str, repetitions: int) -> dict[str, str]:
    dice, cells = np.random.default_rng(1), dict[str, str]()
    paths = paths_of(pattern)
    everything, quiet = launches(pattern), [path for path in paths if path not in LOUD]
    alone = launches(pattern, tuple(quiet)) if quiet else []

    def rate(
        right: Callable[[Comparison], bool], slower: Slower | None, launches: int, chosen: list[Launch]
    ) -> str:
        found = (
            _compared(chosen, splits(dice, len(chosen), launches, launches), slower)
            for _ in range(repetitions)
        )
        return _share(sum(map(right, found)), repetitions)

    def path_is_worse(path: str) -> Callable[[Comparison], bool]:
        return lambda found: path in named(found, (WORSE,))

    keeping = Counter[str]()
    codes = Counter[ExitCode]()
    alarms = 0
    for _ in range(repetitions):
        found = _compared(everything, splits(dice, len(everything), 5, 5))
        alarms += bool(named(found))
        codes[code(found)] += 1
        keeping.update(untold(found))
    cells["equal: any path named"] = _share(alarms, repetitions)
    cells["equal: exit code 0, all paths"] = _share(codes[ExitCode.OK], repetitions)
    kept = [path for path in LOUD if path in paths]
    cells["equal: `host`; `staged` keep it at 8"] = "; ".join(
        _share(keeping[path], repetitions) for path in kept
    )
    cells["equal, fewer launches: any path named"] = rate(
        lambda found: bool(named(found)), None, 3, everything
    )
    loud = [path for path in LOUD if path in paths]
    cells["x1.3, `host`; `staged`"] = "; ".join(
        rate(path_is_worse(path), everywhere(path, 1.3), 5, everything) for path in loud
    )
    if quiet:
        cells["equal: exit code 0, without `host` and `staged`"] = rate(
            lambda found: code(found) == ExitCode.OK, None, 5, alone
        )
        each = {path: rate(path_is_worse(path), everywhere(path, 1.3, LONG), 3, everything) for path in quiet}
        least = min(each, key=lambda path: int(each[path].split()[0]))
        cells["x1.3 from 16 MiB on, one quiet path (the least)"] = each[least]
        together: Slower = lambda name, size: 1.1 if name in TOGETHER and size >= LONG else 1.0  # noqa: E731
        cells["x1.1 from 16 MiB on, five paths: all named"] = rate(
            lambda found: named(found, (WORSE,)) >= {*TOGETHER}, together, 3, everything
        )
    return cells | _one_and_one(pattern, paths, repetitions)


GROUPS = {"short": (0, 4 << 10), "middle": (8 << 10, 512 << 10), "long": (1 << 20, 1 << 40)}


def _one_and_one(pattern: str, paths: Sequence[str], repetitions: int) -> dict[str, str]:
    everything = launches(pattern)
    pairs = [*itertools.combinations(range(len(everything)), 2)]
    alarms = sum(bool(named(_compared(everything, ([a], [b])), LIKELY)) for a, b in pairs)
    found: dict[str, list[int]] = {}
    dice = np.random.default_rng(2)
    for path in paths:
        for name, (first, last) in GROUPS.items():
            sizes = [
                entry.bytes for entry in everything[0] if isinstance(entry, Entry) and entry.path == path
            ]
            sizes = [size for size in sizes if first <= size <= last]
            half = {*sizes[len(sizes) // 2 :]}
            slower = partial(_doubled, path, half)
            hits = found.setdefault(f"{path} {name}", [])
            for _ in range(max(repetitions // 5, 1)):
                a, b = dice.permutation(len(everything))[:2]
                hits.append(path in named(_compared(everything, ([a], [b]), slower), HARMFUL))
    rates = {name: sum(hits) / len(hits) for name, hits in found.items()}
    cells = {"equal: any path called likely real": _share(alarms, len(pairs))}
    for row, those in (
        (
            "x2 over half of a group, any path but `host` (the least)",
            [n for n in rates if not n.startswith("host ")],
        ),
        ("x2 over half of a group, `host`", [n for n in rates if n.startswith("host ")]),
    ):
        if those:
            least = min(those, key=lambda name: rates[name])
            cells[row] = _share(rates[least], 1)
    return cells


def _doubled(path: str, sizes: set[int], name: str, size: int) -> float:
    return 2.0 if name == path and size in sizes else 1.0


@dataclass
class _Judged:
    failed: bool
    untold: bool
    lines: list[str]


def _checked(site: Path, chosen: Sequence[Launch], slower: Slower | None = None) -> _Judged:
    found = check(read_requirements(str(site)), runs(chosen, slower, "next"))
    outcomes = rules(found)
    return _Judged(
        any(rule.what == FAILED for rule in outcomes),
        any(rule.unjudged for rule in outcomes),
        [finding.text for finding in found if finding.what == FAILED],
    )


def learnt(repetitions: int) -> Iterator[str]:
    """Bounds learnt from five launches, and two others held against them."""
    yield "| two launches | " + " | ".join(SETS) + " | wanted |"
    yield "|---" * (len(SETS) + 2) + "|"
    sets = []
    for pattern in SETS.values():
        with patch.dict(STATED, spreads(pattern)):
            sets.append(_learnt_set(pattern, repetitions))
    wanted = {"equal: any bound FAILED": "at most 1 %", "every path x2: FAILED, or exit code 8": "100 %"}
    for name in sets[0]:
        cells = " | ".join(found.get(name, "") for found in sets)
        yield f"| {name} | {cells} | {wanted.get(name, '90 %')} |"


def _learnt_set(pattern: str, repetitions: int) -> dict[str, str]:
    everything, paths, dice = launches(pattern), paths_of(pattern), np.random.default_rng(3)
    quiet = [path for path in paths if path not in LOUD]
    counts, of = Counter[str](), Counter[str]()
    doubled: Slower = lambda name, size: 2.0  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        site, odd_site = Path(folder, "site.toml"), Path(folder, "odd.toml")
        for _ in range(repetitions):
            good, rest = splits(dice, len(everything), 5, 5)
            five = [everything[at] for at in good]
            site.write_text(learn(runs(five), ["good"]).text)
            odd = runs(five[:4]) + runs(five[4:], lambda name, size: 1.3, "odd")
            odd_site.write_text(learn(odd, ["good"]).text)
            for pair in itertools.combinations(rest, 2):
                of["equal: any bound FAILED"] += 1
                counts["equal: any bound FAILED"] += _checked(site, [everything[at] for at in pair]).failed
            two = [everything[at] for at in dice.permutation(rest)[:2]]
            judged = _checked(site, two, doubled)
            of["every path x2: FAILED, or exit code 8"] += 1
            counts["every path x2: FAILED, or exit code 8"] += judged.failed or judged.untold
            for path in quiet:
                for name, file in (("", site), (", one of the five x1.3", odd_site)):
                    row = f"x1.3 from 16 MiB on, one quiet path (the least){name}"
                    key = f"{row}|{path}"
                    of[key] += 1
                    counts[key] += _checked(file, two, everywhere(path, 1.3, LONG)).failed
    cells = {name: _share(counts[name], of[name]) for name in of if "|" not in name}
    for row in dict.fromkeys(key.split("|")[0] for key in of if "|" in key):
        keys = [key for key in of if key.split("|")[0] == row]
        least = min(keys, key=lambda key: counts[key] / of[key])
        cells[row] = _share(counts[least], of[least])
    return cells
