"""Trouble on the hosts while a path was measured: which figures, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Protocol

from msgspec.structs import replace

from wirespeed.grouping import grouped, together
from wirespeed.report.facts import figures
from wirespeed.results.launches import with_earlier
from wirespeed.results.model import Entry, Health
from wirespeed.results.parts import Throttled
from wirespeed.results.runs import Run

MAX_PLACES = 2
"""Places that a note names: a link has two ends, and a note has a line."""


class Placed(Protocol):
    """Errors of a part of a host."""

    @property
    def host(self) -> str: ...
    @property
    def place(self) -> str: ...


def of(run: Run, *entries: Entry) -> Health | None:
    """Health around the path of these figures, in all of their launches; None where nothing was read."""
    launches = dict.fromkeys(
        (launch_entry.run, launch_entry.path) for entry in entries for launch_entry in entry.each
    )
    found = [run.health.get(key) for key in launches]
    if not (known := [health for health in found if health]):
        return None
    whole = reduce(with_earlier, known)
    return whole if len(known) == len(found) else replace(whole, counted=[], watched=[])


def is_ill(run: Run, entry: Entry) -> bool:
    """True for a figure taken while clocks were held back, or with new errors."""
    found = of(run, entry) if entry.launches > 1 else run.health.get((entry.run, entry.path))
    return found is not None and not found.good


def notes(run: Run) -> list[str]:
    """'aware: new NVLink replay errors: 12 on GPU 0 link 3', a line for each path and kind."""
    records = run.health.values()
    lines = ((text, record.path) for record in records for text in (*errors(record), *held(record)))
    return [f"{paths}: {text}" for paths, text in together(lines)]


def standing(run: Run) -> list[str]:
    """Errors that were there already, each once: 'n1 GPU 0: memory rows wait to be remapped, ...'."""
    return [*dict.fromkeys(note for record in run.health.values() for note in record.notes)]


def errors(record: Health) -> Iterator[str]:
    """'new NVLink replay errors: 12 on GPU 0 link 3, 4 on GPU 1 link 7'; a line for each kind."""
    several = _several(record)
    for what, found in grouped((error.what, error) for error in record.errors).items():
        yield f"new {what}: {counted({place(error, several): error.count for error in found})}"


def corrected(run: Run) -> list[str]:
    """Errors that links corrected by themselves, a line for each path; the worst may have a bad cable."""
    return [f"{record.path}: {_corrected(record)}" for record in run.health.values() if record.corrected]


def _corrected(record: Health) -> str:
    several = several_hosts(record.corrected)
    links = grouped((place(error, several), error.count) for error in record.corrected)
    counts = {name: sum(each) for name, each in links.items()}
    worst, total = max(counts, key=lambda name: counts[name]), sum(counts.values())
    text = f"links corrected {total} errors by themselves"
    if not record.seconds:
        return text
    each, most = (figures.ratio(many / record.seconds) for many in (total / len(counts), counts[worst]))
    mean = f", {each} on average of {len(counts)} links" if len(counts) > 1 else ""
    return f"{text}; per second at most {most} on {worst}{mean}"


def counted(counts: Mapping[str, int]) -> str:
    """'12 on GPU 0 link 3, 4 on GPU 1 link 7', the most first; of many places the last ones together."""
    ranked = sorted(counts, key=lambda name: -counts[name])
    named = [f"{counts[name]} on {name}" for name in ranked[:MAX_PLACES]]
    if rest := ranked[MAX_PLACES:]:
        named.append(f"{sum(counts[name] for name in rest)} on {len(rest)} more")
    return ", ".join(named)


def held(record: Health) -> Iterator[str]:
    """'the clocks of GPU 0 were held back by its power cap, for 0.31 s'."""
    several = _several(record)
    alike = grouped(((throttled.reason, _when(throttled)), throttled) for throttled in record.throttled)
    for (reason, when), found in alike.items():
        places = ", ".join(place(throttled, several) for throttled in found[:MAX_PLACES])
        if len(found) > MAX_PLACES:
            places += f" and {len(found) - MAX_PLACES} more"
        yield f"the clocks of {places} were held back by {reason}, {when}"


def _when(throttled: Throttled) -> str:
    if throttled.seconds is not None:
        return f"for {figures.ratio(throttled.seconds)} s"
    if throttled.times is not None:
        return f"{throttled.times} time{'s' if throttled.times > 1 else ''}"
    ends = [word for word, was in (("began", throttled.before), ("ended", throttled.after)) if was]
    return f"when the path {' and when it '.join(ends)}" if ends else "for an unknown time"


def _several(record: Health) -> bool:
    return several_hosts((*record.errors, *record.throttled, *record.clocks))


def several_hosts(found: Iterable[Placed]) -> bool:
    """True where a place needs its host's name."""
    return len({placed.host for placed in found}) > 1


def place(placed: Placed, several: bool) -> str:
    """'GPU 0 link 3', of several hosts 'n1 GPU 0 link 3'."""
    return f"{placed.host} {placed.place}" if several else placed.place
