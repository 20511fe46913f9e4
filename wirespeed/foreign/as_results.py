"""Curves of other tools as the records of a result file, so that whatever reads figures reads theirs, too."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from wirespeed.foreign.definitions import entry_definition
from wirespeed.foreign.question import USUAL_SIZES
from wirespeed.foreign.shapes import Curve, Log, Point
from wirespeed.job.plan import Plan
from wirespeed.judge.possible import MEMORY, impossible, why_impossible
from wirespeed.judge.series import STAGED, is_collective, is_wrong, on_gpu
from wirespeed.results.contradiction import GIVEN, Contradiction, Quantity
from wirespeed.results.model import COUNTS, OUTPUT_OF, End, Entry, Failure, Head, Record, StepRecord
from wirespeed.results.parts import SHORTEST, Device, Environment, Times
from wirespeed.results.reading import Results
from wirespeed.units import counted

OPERATION, MEMORY_OF, IN_PLACE = "operation", "memory", "in place"
"""Further details: what was measured, between which ends ('D D'), and whether in place ('yes', 'no')."""
_PATTERNS = {("bandwidth", "one"): "stream", ("pingpong", "one"): "pingpong", ("copy", "one"): "copy"}
"""Operations that are a pattern of ours, by what the rate counts."""
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce", "barrier")
_ONE_TEST = ("OSU", "IMB", "nccl", "rccl", "CSV", "MPIBenchmarks")
"""Tools of which the operation tells the test."""
_KINDS = {"H": "pageable", "D": "device", "M": "managed"}


def results_of(log: Log, file: str) -> Results:
    """The figures of all curves; what is no figure of a size is named in a warning."""
    making = _Making(log, file)
    mixed = len({STAGED in curve.placement for curve in log.curves}) > 1
    for curve in log.curves:
        # The name of a path has the setting only where it tells two tables of one text apart.
        making.add(curve if mixed else replace(curve, placement=curve.placement.replace(STAGED, "")))
    return making.results()


@dataclass
class _Making:
    log: Log
    file: str
    runs: dict[tuple[str, int], list[Record]] = field(default_factory=dict)
    """Pattern and ranks -> entries and failures."""
    launches: Counter[tuple[str, int, str, int]] = field(default_factory=Counter)
    sizeless: int = 0
    tools: dict[str, str] = field(default_factory=dict)

    def add(self, curve: Curve) -> None:
        self.tools[curve.tool] = curve.version
        spoilt = any("no figure of this table" in found.seen for found in impossible(curve))
        pattern = pattern_of(curve)
        ranks = curve.ranks or (1 if pattern == "copy" else 2)
        run, definition, memory = self._run(pattern, ranks), entry_definition(curve), _memory(curve)
        details = {OPERATION: curve.operation or curve.name, COUNTS: _counts(curve), MEMORY_OF: _ends(curve)}
        # In place or not: path, details.
        ways = {
            way: (path_of(curve, in_place=way), details | {IN_PLACE: "yes" if way else "no"})
            for way in (False, True)
        }
        points = list(_of_each_size(curve))
        sized = [point for point in points if point.bytes >= 0]
        self.sizeless += len(points) - len(sized)
        records = self.runs.setdefault((pattern, ranks), []) if sized else []
        for point in sized:
            path, about = ways[bool(point.in_place)]
            key = (pattern, ranks, path, point.bytes)
            self.launches[key] += 1
            launch = self.launches[key]
            if is_wrong(point):
                text = f"line {point.line} says so ({point.wrong:.3g}), so that its figure is none"
                wrong = Failure(
                    run=run, launch=launch, path=path, bytes=point.bytes, what="mismatch", text=text
                )
                records.append(wrong)
                continue
            seconds, amount = _figure(curve, point)
            if seconds is None or seconds <= SHORTEST:
                continue
            why = why_impossible(curve, point) or ("most figures of its table are impossible" * spoilt)
            records.append(
                Entry(
                    run=run,
                    launch=launch,
                    pattern=pattern,
                    path=path,
                    memory=memory,
                    bytes=point.bytes,
                    definition=definition,
                    timed=definition.partition(":")[0],
                    bandwidth_bytes=amount,
                    times=Times(median=seconds, min=point.t_min, max=point.t_max),
                    samples=1,
                    iterations=point.repetitions or 0,
                    stopped="fixed",
                    details=about,
                    impossible=[_contradiction(point, seconds, amount, why)] if why else [],
                )
            )

    def _run(self, pattern: str, ranks: int) -> str:
        return hashlib.sha256(f"{self.file} {pattern} {ranks}".encode()).hexdigest()[:12]

    def results(self) -> Results:
        found = Results(self.file)
        tools = ", ".join(f"{tool} {version}".strip() for tool, version in self.tools.items())
        packages = {"tool": tools, **{name: ", ".join(many) for name, many in self.log.versions.items()}}
        models = self.log.topology.get("models", ())
        environment = Environment(
            packages=packages,
            variables=self.log.settings,
            devices=[Device(kind="gpu", name=str(name)) for name in models],
        )
        for (pattern, ranks), records in self.runs.items():
            run = self._run(pattern, ranks)
            made = [record for record in records if isinstance(record, Entry)]
            sizes = tuple(sorted({record.bytes for record in made}))
            steps = {record.path: record.memory for record in made}
            plan = Plan(pattern, sizes=sizes, ranks=ranks, paths=tuple(steps))
            head = Head(run=run, converted=OUTPUT_OF + tools, plan=plan, environment=environment)
            found.records.append(head)
            found.records += [
                StepRecord(run=run, step=at, path=path, memory=memory)
                for at, (path, memory) in enumerate(steps.items())
            ]
            found.records += records
            found.records.append(End(run=run, status="complete", entries=len(made)))
        if self.sizeless:
            found.warnings.append(f"{counted(self.sizeless, 'figure')} without a size left out")
        if self.log.left_out:
            found.warnings.append(self.log.left_out.words(self.log))
        return found


def _of_each_size(curve: Curve) -> Iterator[Point]:
    """Of rows that follow each other in time the last, which has the rate of all."""
    rows = curve.points
    if all(point.overall is not None for point in rows):
        last = {point.bytes: point for point in rows}
        rows = tuple(last.values())
    usual = USUAL_SIZES.get(curve.tool, -1) if all(point.seconds is None for point in rows) else -1
    for point in rows:
        yield point if point.bytes >= 0 else point._replace(bytes=usual)


def _figure(curve: Curve, point: Point) -> tuple[float | None, int | None]:
    """Seconds, and the bytes over them that are the printed rate; None: those of a message."""
    rate = point.rate if point.overall is None else point.overall
    if point.seconds is not None:
        if curve.operation == "pingpong" and curve.direction == "one":
            return point.seconds, None
        return point.seconds, round((rate or 0.0) * point.seconds)
    return (point.bytes / rate if rate else None), None


def pattern_of(curve: Curve) -> str:
    """Our pattern's name where we measure the same; else the tool's own word."""
    if curve.operation in _COLLECTIVES:
        return curve.operation.replace("-", "")
    return _PATTERNS.get((curve.operation, curve.direction), _word(curve.operation or curve.name or "test"))


def path_of(curve: Curve, *, in_place: bool = False) -> str:
    """'osu-mpi-cuda/D-D': tool, test, memory and pair, without the version, which may be compared."""
    test = "" if curve.operation and curve.tool.startswith(_ONE_TEST) else curve.name
    how = curve.placement
    if curve.tool.startswith(("nccl", "rccl")):
        how = STAGED if STAGED in how else ""
    parts = curve.tool.lower(), test, _ends(curve), curve.pair, how, "in place" * in_place
    return "/".join(filter(None, map(_word, parts)))


def _word(text: str) -> str:
    return re.sub(r"[^\w.+=-]+", "-", text).strip("-")[:60]


def _memory(curve: Curve) -> str:
    return " to ".join(dict.fromkeys(_KINDS.get(end, "pageable") for end in _ends(curve).split()))


def _ends(curve: Curve) -> str:
    """Where the text does not say it, the memory that the tool uses unless it is told otherwise."""
    return curve.memory or ("D D" if on_gpu(curve) else "H H")


def _counts(curve: Curve) -> str:
    """What the rate counts; of operations of all ranks that print a time alone, whose time it is."""
    rated = any(point.rate is not None for point in curve.points)
    if curve.operation == "sendrecv" and curve.direction == "bus":
        return "one"
    return "average" if is_collective(curve) and not rated else curve.direction


def _contradiction(point: Point, seconds: float, amount: int | None, why: str) -> Contradiction:
    rate = (point.bytes if amount is None else amount) / seconds
    figure = Quantity(name="bandwidth", unit="B/s", value=min(rate, 1e18))
    return Contradiction(
        rule=GIVEN, figure=figure, other=Quantity(name="any memory", unit="B/s", value=MEMORY), text=why
    )
