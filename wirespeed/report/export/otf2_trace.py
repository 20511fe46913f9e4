"""Ranges as an OTF2 archive, which Vampir, Cube and Score-P's tools open."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.messages import RankRanges
from wirespeed.report.facts.path_ranges import RangeLog, StepRanges

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
