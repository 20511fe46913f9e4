"""Builds records from messages; writes each into the result file, then passes it to the observer."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec import structs

from wirespeed._version import __version__
from wirespeed.errors import ExitCode
from wirespeed.host.variables import shareable
from wirespeed.job.messages import Facts, Note, RankPlace
from wirespeed.job.outcome import Outcome
from wirespeed.job.plan import Plan
from wirespeed.paths import TransferPath
from wirespeed.results.decoding import fitted
from wirespeed.results.environment import environment
from wirespeed.results.model import (
    End,
    Entry,
    Event,
    Failure,
    Fresh,
    Head,
    LeftOut,
    RankRecord,
    Record,
    StepRecord,
)
from wirespeed.results.runs import Run, collect, resumed
from wirespeed.results.soak import Soak
from wirespeed.results.store import Store
from wirespeed.units import format_size

Observer = Callable[[Event], None]


@dataclass(frozen=True)
class StepJob:
    """Processes of a job step: how they were started, and what they are."""

    variables: Mapping[str, str]
    launcher: str = ""
    allocator: str = "driver"
    mpi: Facts | None = None
    """What is known of it; None: without MPI."""
    ranks: Sequence[RankPlace] = ()
    startup_s: float = 0.0
    """Until all ranks had joined; 0: they had measured another path before."""


class Recorder:
    """One run: its result file, and what went into it."""

    def __init__(self, plan: Plan, observe: Observer) -> None:
        """Opens the file. Raises WirespeedError when it cannot be written."""
        self.run = secrets.token_hex(6)
        self._store = Store(plan.out, resume=plan.resume)
        self._plan, self._observe = replace(plan, out=str(self.file)), observe
        self.before = self._store.before
        """Content that the file had already, on resume."""
        self._done = self._store.done(plan) if plan.resume else set()
        self._entries = self._failures = 0
        self._measured = Run(self.run, others=collect(self.before.records))
        self._measured.others.append(self._measured)

    @property
    def file(self) -> Path:
        """Place of the records."""
        return self._store.path

    @property
    def resumed(self) -> bool:
        """Does the file hold figures of this very plan?"""
        return bool(self._done)

    def missing_sizes(self, path: TransferPath, launch: int = 1) -> tuple[int, ...]:
        """Sizes of the plan that the file has no figure of, from this launch."""
        pattern, sizes = self._plan.pattern, self._plan.sizes
        return tuple(size for size in sizes if (pattern, path.name, size, launch) not in self._done)

    def begin(self, command: Sequence[str], devices: Iterable[Facts], clock: Mapping[str, float]) -> None:
        """The run's first record."""
        self.write(head(self.run, self._plan, command, devices, clock))

    def started(self, number: int, path: TransferPath, job: StepJob, **found: Any) -> None:
        """A job step whose path moves bytes; `found`: further members of its record."""
        self.write(step(self.run, number, path, job, **found))

    def take(self, record: RankRecord, number: int, launch: int = 1) -> None:
        """Writes what the ranks of job step `number` have found."""
        of_launch = {"launch": launch} if isinstance(record, Entry | Soak | Fresh) else {}
        record = structs.replace(record, run=self.run, step=number, at=now(), **of_launch)
        if isinstance(record, Entry):
            self._entries += 1
            record = self._measured.judged(record, so_far=True)
        self.write(record)

    def fail(
        self, path: TransferPath, outcome: Outcome, number: int | None, remedy: str | None = None
    ) -> None:
        """A path, or one size of it, that gave no figure."""
        self._failures += outcome.what != "unavailable"
        self.write(failure(self.run, path, outcome, number, remedy))

    def end(self, status: str, left_out: Sequence[LeftOut] = ()) -> ExitCode:
        """Writes the last record and closes the file; what became of the run."""
        try:
            self.write(
                End(
                    run=self.run,
                    ended=now(),
                    status=status,
                    entries=self._entries,
                    failures=self._failures,
                    impossible=[
                        f"{entry.path} at {format_size(entry.bytes)}: {entry.why_impossible}"
                        for entry in self._measured.impossible.values()
                    ],
                    left_out=list(left_out),
                )
            )
        finally:
            self._store.close()
        if slow := self._store.slow():
            self._observe(Note(slow))
        if status == "interrupted":
            return ExitCode.INTERRUPTED
        # Judged again: limits and the figures of one rank may have come later.
        if any(run.impossible for run in resumed(self._measured.others)):
            return ExitCode.IMPOSSIBLE
        if self._failures or any(soak.wrong.total for soak in self._measured.soaks.values()):
            return ExitCode.FAILED_ENTRY
        return ExitCode.OK if self._entries or self._done or self._measured.soaks else ExitCode.UNAVAILABLE

    def close(self) -> None:
        """Without a last record; a file that got no line goes away."""
        self._store.close()

    def write(self, record: Record) -> None:
        """First into the file, then to the observer: what was shown is never lost."""
        self._store.append(record)
        self._measured.add(record)
        self._observe(record)


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def head(
    run: str, plan: Plan, command: Sequence[str], devices: Iterable[Facts], clock: Mapping[str, float]
) -> Head:
    """The first record of a run. `command`: sys.argv; `clock`: cost_s and resolution_s."""
    words = [Path(word).name.replace("__main__.py", "wirespeed") for word in command[:1]]
    return fitted(
        Head,
        {
            "wirespeed": __version__,
            "run": run,
            "started": now(),
            "command": [*words, *command[1:]],
            "plan": plan.to_dict(),
            "environment": environment(devices),
            "clock": clock,
        },
    )


def step(run: str, number: int, path: TransferPath, job: StepJob, **found: Any) -> StepRecord:
    """A path's job step; `found`: launch, details and pointers."""
    return fitted(
        StepRecord,
        {
            **vars(job),
            **found,
            "run": run,
            "step": number,
            "path": path.name,
            "transport": path.transport,
            "memory": path.memory,
            "into": path.into or path.memory,
            "variables": shareable(job.variables),
            "without": path.switch.without or None,
        },
    )


def failure(
    run: str, path: TransferPath, outcome: Outcome, number: int | None, remedy: str | None = None
) -> Failure:
    """A path, or one size of it, that gave no figure."""
    text = " ".join(outcome.text.split())
    place = {"run": run, "step": number, "path": path.name, "remedy": remedy, "at": now()}
    told: Failure = fitted(Failure, {**vars(outcome), **place, "text": text, "cause": {}})
    return structs.replace(told, cause=outcome.cause)
