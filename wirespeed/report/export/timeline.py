"""Ranges as a Trace Event file, which https://ui.perfetto.dev and chrome://tracing open.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Or as an OTF2
archive, which Vampir, Cube and Score-P's tools open.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wirespeed._version import __version__
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.messages import Facts, RankRanges
from wirespeed.results.model import Event, StepEnd, StepStart
from wirespeed.results.whole_file import write_whole

FRONT_END = 1
"""Process and thread of the job steps; hosts are processes from 2 on, ranks threads from 2 on."""


def write_timeline(file: str, log: RangeLog) -> None:
    """Writes what the log has. Raises WirespeedError."""
    write_whole(file, json.dumps(trace(log.steps), separators=(",", ":")))


def trace(steps: Sequence[StepRanges]) -> Facts:
    """The whole file; its times are microseconds since the first range began."""
    zero = min((step.first for step in steps), default=0)
    told = [message for step in steps for message in step.ranks]
    hosts = list(dict.fromkeys(message.host for message in told))
    events = [*_names(hosts, told)]
    for step in steps:
        facts: Facts = {"path": step.path, "launch": step.launch}
        if not step.ranks:
            facts["ranges"] = "none: the ranks ended before they could tell them"
        span = step.begin - zero, step.end - zero
        events.append(_event("job step", step.path, span, (FRONT_END, FRONT_END), facts))
        for message in step.ranks:
            place = 2 + hosts.index(message.host), 2 + message.rank
            for kind, name, begin, end, facts in sorted(message.rows, key=lambda row: (row[2], -row[3])):
                shift = message.shift - zero
                events.append(_event(kind, name, (begin + shift, end + shift), place, facts))
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "program": f"wirespeed {__version__}",
            "clock": "microseconds since the first range began, on the front end's monotonic clock",
            "clocks": [_clock(step, message) for step in steps for message in step.ranks],
            "dropped ranges": sum(message.dropped for message in told),
        },
    }


def _event(kind: str, name: str, span: tuple[int, int], place: tuple[int, int], facts: Facts) -> Facts:
    """`span`: nanoseconds since the first range began; `place`: process and thread."""
    begin, end = span
    times = {"ts": begin / 1000, "dur": (end - begin) / 1000}
    return {"ph": "X", "cat": kind, "name": name, **times, "pid": place[0], "tid": place[1], "args": facts}


def _names(hosts: Sequence[str], told: Sequence[RankRanges]) -> Iterator[Facts]:
    """What the viewer calls processes and threads, and their order."""

    def name(what: str, process: int, thread: int, text: str) -> Facts:
        return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": text}}

    yield name("process_name", FRONT_END, FRONT_END, "wirespeed")
    yield name("thread_name", FRONT_END, FRONT_END, "job steps")
    for number, host in enumerate(hosts):
        yield name("process_name", 2 + number, 2, f"ranks on {host}")
    for rank, host in dict.fromkeys((message.rank, message.host) for message in told):
        process, thread = 2 + hosts.index(host), 2 + rank
        yield name("thread_name", process, thread, f"rank {rank}")
        order = {"name": "thread_sort_index", "args": {"sort_index": rank}}
        yield {"ph": "M", "pid": process, "tid": thread, **order}


def _clock(step: StepRanges, message: RankRanges) -> Facts:
    """How a rank's clock was brought onto the front end's."""
    of = message.clock
    how = "the same clock as rank 0's"
    if not of["same"]:
        how = "by exchanges of messages with rank 0; the fastest one's half round trip is the uncertainty"
    found: Facts = {"path": step.path, "rank": message.rank, "host": message.host, "how": how}
    found |= {"ahead of rank 0 (s)": of["ahead"] / 1e9, "uncertainty (s)": of["uncertainty"] / 1e9}
    if message.shift:
        found["rank 0 against the front end"] = (
            "by one message's arrival: all ranks of this path may be late by the time that it took"
        )
    return found


ENDING = ".otf2"
"""Of the folder that is the archive."""
PER_SECOND = 10**9


def refuse_archive(folder: str) -> None:
    """Raises WirespeedError where the archive cannot be written there."""
    if find_spec("otf2") is None:
        raise WirespeedError(
            f"--timeline {folder}: an OTF2 archive needs the package otf2, which is missing: "
            f"{sys.executable} -m pip install otf2",
            ExitCode.UNAVAILABLE,
        )
    if Path(folder).exists():
        raise WirespeedError(f"--timeline {folder}: this folder exists; name another one, or remove it")


def write_archive(folder: str, log: RangeLog) -> None:
    """A folder with a location for each rank; its times are nanoseconds since the first range began."""
    import otf2

    zero = min((step.first for step in log.steps), default=0)
    by_rank: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for step in log.steps:
        for message in step.ranks:
            spans = by_rank.setdefault((message.host, message.rank), [])
            spans += _spans(step, message, zero)
    with otf2.writer.open(folder, timer_resolution=PER_SECOND) as trace:
        known: Any = trace.definitions
        machine = known.system_tree_node("wirespeed")
        hosts = {host: known.system_tree_node(host, parent=machine) for host, _ in by_rank}
        for (host, rank), spans in by_rank.items():
            group = known.location_group(f"rank {rank}", system_tree_parent=hosts[host])
            writer = trace.event_writer(f"rank {rank}", group=group)
            regions = {name: known.region(name) for name in dict.fromkeys(name for _, _, name in spans)}
            for time, name, enters in _events(spans):
                (writer.enter if enters else writer.leave)(time, regions[name])


def _spans(step: StepRanges, message: RankRanges, zero: int) -> Iterator[tuple[int, int, str]]:
    for kind, name, begin, end, _ in message.rows:
        shift = message.shift - zero
        yield int(begin) + shift, int(end) + shift, f"{kind}: {name}" if name and name != kind else kind


def _events(spans: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, str, bool]]:
    """(time, name, does it begin?) in order: ranges that contain each other begin and end in turn."""
    open_now: list[tuple[int, str]] = []
    for begin, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_now and open_now[-1][0] <= begin:
            yield (*open_now.pop(), False)
        # A clock that was read late may let a range outlast the one around it.
        end = min([end, *(outer for outer, _ in open_now)])
        yield begin, name, True
        open_now.append((max(begin, end), name))
    while open_now:
        yield (*open_now.pop(), False)


@dataclass
class StepRanges:
    """A path's ranges, on the front end's clock, in nanoseconds."""

    path: str
    launch: int
    begin: int
    end: int
    ranks: list[RankRanges] = field(default_factory=list)
    """As rank/path/path_run.py tells them; none of a path that ended before it could."""

    @property
    def first(self) -> int:
        """When it began; inside a launcher, ranks start before their first job step."""
        begins = [row[2] + told.shift for told in self.ranks for row in told.rows]
        return min(self.begin, *map(int, begins)) if begins else self.begin


class RangeLog:
    """Takes the events of one run, or of several."""

    def __init__(self) -> None:
        self.steps: list[StepRanges] = []

    def take(self, event: Event) -> bool:
        """Returns whether the event was one for nobody else."""
        if isinstance(event, StepStart):
            self.steps.append(StepRanges(event.path, event.launch, event.at, event.at))
        elif isinstance(event, StepEnd) and self.steps:
            self.steps[-1].end = event.at
        elif isinstance(event, RankRanges) and self.steps:
            self.steps[-1].ranks.append(event)
        return isinstance(event, (StepEnd, RankRanges))
