"""How a job step, or one size of it, ended: as the front end's diagnosis and the ranks state it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wirespeed.job.messages import Message
from wirespeed.job.status_page import RankState


@dataclass
class Outcome:
    """End of a job step."""

    what: str = "ok"
    """ok, crash, hang, death, error or interrupted."""
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
    stacks: list[dict[str, Any]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


def place_of(message: Message | RankState) -> dict[str, Any]:
    """Rank, host, call, bytes and iteration of a rank, from its own report or from its status page."""
    names = ("rank", "host", "call", "bytes", "iteration")
    if not isinstance(message, RankState):
        return {name: message[name] for name in names}
    place = {name: getattr(message, name) for name in names}
    return place | {"bytes": None, "iteration": None} if message.path in ("start", "end") else place


def stack(message: Message) -> dict[str, Any]:
    """The part of a rank's report that goes into the result file."""
    names = ("rank", "host", "pid", "state", "call", "peer", "native", "python")
    return {name: message.get(name) for name in names}
