"""How a job step, or one size of it, ended: what the front end's diagnosis and the ranks say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wirespeed.job.messages import Message
from wirespeed.job.status_page import RankState


@dataclass
class Outcome:
    """How a job step ended."""

    what: str = "ok"
    """ok, crash, hang, death, error or interrupted."""
    text: str = ""
    rank: int | None = None
    host: str | None = None
    call: str | None = None
    bytes: int | None = None
    iteration: int | None = None
    fault: str = ""
    code: int = 0
    """The exit code that the failing rank asked for."""
    passing: bool = False
    """Nothing was started, and the same once more may well work."""
    stacks: list[dict[str, Any]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def blame(self, one: Message | RankState) -> None:
        """Takes the place from a rank's own report, or from its page."""
        if isinstance(one, RankState):
            self.rank, self.host, self.call = one.rank, one.host, one.call
            self.bytes, self.iteration = one.bytes, one.round
            if one.path in ("start", "end"):
                self.bytes = self.iteration = None
        else:
            self.rank, self.host, self.call = one["rank"], one["host"], one["call"]
            self.bytes, self.iteration = one["bytes"], one["round"]


def stack(message: Message) -> dict[str, Any]:
    """The part of a rank's report that the record keeps."""
    names = ("rank", "host", "pid", "state", "call", "peer", "native", "python")
    return {name: message.get(name) for name in names}
