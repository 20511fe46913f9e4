"""End of a job step, or of one size of it, as the front end's diagnosis and the ranks state it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from wirespeed.job.cause import Cause, kind_of
from wirespeed.job.messages import Facts, RankReport
from wirespeed.job.status_page import RankState


@dataclass
class Outcome:
    """End of a job step."""

    what: str = "ok"
    """Meaning for the run: ok, unavailable, crash, hang, death, mismatch, error, interrupted, or late."""
    text: str = ""
    rank: int | None = None
    host: str | None = None
    call: str | None = None
    bytes: int | None = None
    iteration: int | None = None
    launch: int = 1
    fault: str = ""
    code: int = 0
    """Exit code that the failing rank asks for."""
    passing: bool = False
    """Nothing was started, and a second attempt may well work."""
    stacks: list[Facts] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    cause: Cause = field(default_factory=Cause)
    """What happened; of kinds that `what` does not tell apart by itself, whoever knows names them."""

    def __post_init__(self) -> None:
        if not self.cause.kind:
            self.cause = replace(self.cause, kind=kind_of(self.what))


def place_of(report: RankReport | RankState) -> Facts:
    """Rank, host, call, bytes and iteration of a rank, from its own report or from its status page."""
    names = ("rank", "host", "call", "bytes", "iteration")
    place = {name: getattr(report, name) for name in names}
    between = report.path in ("start", "end")
    return place | {"bytes": None, "iteration": None} if between else place


def with_call(report: RankReport) -> RankReport:
    """The report with the MPI call that its stack shows, where the rank itself has not said one."""
    frames = (re.match(r"P?(MPI_\w+)", frame) for frame in reversed(report.native))
    return (
        report if report.call else report._replace(call=next((found[1] for found in frames if found), None))
    )


def stack(report: RankReport) -> Facts:
    """The part of a rank's report that goes into the result file."""
    names = ("rank", "host", "pid", "state", "call", "peer", "native", "python")
    return {name: getattr(report, name) for name in names}
