"""One message size on one path: every part of the pattern, and the entry that comes of them."""

from __future__ import annotations

import time
from typing import Any

from wirespeed.job.messages import Message
from wirespeed.paths import Path
from wirespeed.rank.context import Setting
from wirespeed.rank.payload_check import Payload
from wirespeed.rank.sampler import OnePart, Sampled
from wirespeed.rank.teams import Member, Squad
from wirespeed.rank.wire_counting import CountedRuns


class OneSize:
    """One message size: all parts one after the other; the slowest team of all is the figure."""

    def __init__(
        self,
        setting: Setting,
        path: Path,
        transport: Any,
        buffers: Any,
        size: int,
        place: tuple[int, int],
    ) -> None:
        """`place`: (index, number) of this size among all."""
        self._set, self._path, self._size, self._place = setting, path, size, place
        self._transport, self._buffers = transport, buffers
        self._payload = Payload(setting.core, setting.world, setting.device, path.memory, path.into)
        self._parts = setting.pattern.parts(setting.shape)
        self._part = 0
        self._members: list[Member] = []
        self._slowest: tuple[Sampled, dict[str, Any]] | None = None
        self._began = time.monotonic()

    def try_only(self) -> None:
        """Two checked rounds of the first part: does this path move these bytes at all?"""
        self._open(0).try_only()

    def count(self, runs: CountedRuns) -> None:
        """Tells which wires carry the bytes of the part that the figure is of, or of the first one."""
        part = self._set.pattern.headline(self._set.shape) or 0
        if found := self._open(part).counted(runs):
            self._set.tell(found)

    def measure(self) -> None:
        """Measures every part; rank 0 tells the entry."""
        parts = range(self._parts)
        headline = self._set.pattern.headline(self._set.shape)
        if self._set.headline_only and headline is not None:
            parts = range(headline, headline + 1)
        for part in parts:
            self._part = part
            world, set_ = self._set.world, self._set
            if part:
                self._progress(0, None, 0.0)
            squad = Squad(world, set_.pattern, set_.shape, part)
            try:
                sampled = self._open(part).measure(squad)
                self._take(squad, sampled)
            finally:
                squad.close()
        if self._set.world.rank == 0:
            self._set.tell(self._entry())

    def _open(self, part: int) -> OnePart:
        return OnePart(
            self._set,
            self._transport,
            self._buffers,
            self._size,
            part,
            self._payload,
            self._progress,
        )

    def _take(self, squad: Squad, sampled: Sampled) -> None:
        """Adds the part's teams; keeps the summary of the slowest one so far. All ranks together."""
        found = squad.members(sampled.samples)
        leader = -1
        if found:
            slowest = max(found, key=lambda member: member.time)
            headline = self._set.pattern.headline(self._set.shape)
            if headline is None:
                before = max((member.time for member in self._members), default=-1.0)
                leader = slowest.first if slowest.time > before else -1
            elif headline == self._part:
                leader = slowest.first
            self._members += found
        leader = self._set.world.share(leader)
        if leader >= 0:
            self._slowest = sampled, squad.summary_of(sampled.samples, leader)

    def _progress(self, samples: int, precision: float | None, elapsed: float) -> None:
        index, total = self._place
        self._set.tell(
            {
                "kind": "progress",
                "path": self._path.name,
                "bytes": self._size,
                "index": index,
                "of": total,
                "part": self._part,
                "parts": self._parts,
                "samples": samples,
                "precision": precision,
                "elapsed_s": elapsed,
            }
        )

    def _entry(self) -> Message:
        assert self._slowest
        sampled, summary = self._slowest
        several = len(self._members) > 1
        figure = self._set.pattern.figure(self._set.shape, self._size)
        return {
            "kind": "entry",
            "pattern": self._set.pattern.name,
            "path": self._path.name,
            "memory": self._path.memory,
            "bytes": self._size,
            "definition": figure.definition,
            "bandwidth_bytes": figure.bytes,
            "derived": [{"name": one.name, "unit": one.unit, "amount": one.amount} for one in figure.derived],
            **summary,
            "iterations_per_sample": sampled.rounds_per_sample,
            "stopped": sampled.stopped,
            "checked": {"iterations": self._payload.rounds, "bytes": self._payload.bytes},
            "details": sampled.details or {},
            "teams": [member.to_dict() for member in self._members] if several else [],
            "elapsed_s": time.monotonic() - self._began,
        }
