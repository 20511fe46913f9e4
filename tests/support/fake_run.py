"""wirespeed.frontend.session without a machine, for tests of the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from support.records import entry

from wirespeed.errors import ExitCode
from wirespeed.job.messages import Progress
from wirespeed.job.plan import Plan
from wirespeed.results.model import Event, StepStart
from wirespeed.results.reading import record_of

Observer = Callable[[Event], None]
DEFAULT_OUT = "wirespeed-new.jsonl"
"""Where the recorder writes without --out."""


class FakeRun:
    """wirespeed.frontend.session without a machine: notes the plan, replays what it was told to."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.code = ExitCode.OK
        self.error: BaseException | None = None
        self.silent = False
        self.more: list[dict[str, Any]] = []
        """Records that it tells after its figures."""
        self.begins: Callable[[Plan], object] = lambda plan: None
        """Called before a plan is measured; may raise."""
        self.changed: Callable[[Event], Event] = lambda event: event
        """What it tells instead of an event."""

    @property
    def plan(self) -> Plan:
        return self.plans[-1]

    def measure(self, plan: Plan, observe: Observer, bound: object = None) -> ExitCode:
        self.begins(plan)
        self.plans.append(plan)

        def record(line: dict[str, Any]) -> None:
            found = record_of(line)
            assert found is not None
            observe(self.changed(found))

        if not self.silent:
            known = {**plan.to_dict(), "out": plan.out or DEFAULT_OUT}
            record({"kind": "run", "run": "r", "plan": known, "environment": {"host": "n1"}})
            observe(StepStart("host", 0, 0, 1))
            for index, size in enumerate(plan.sizes[:4]):
                observe(Progress("host", size, index, 4))
                record(entry("host", size, 1e-6))
            for line in self.more:
                record(line)
        if self.error:
            raise self.error
        if not self.silent:
            record({"kind": "end", "run": "r", "status": "complete"})
        return self.code

    def discover(self, plan: Plan) -> Any:
        return SimpleNamespace(
            kind="host",
            devices=[],
            mpis=[
                SimpleNamespace(
                    title="Open MPI 5.0.11",
                    source="wheel",
                    prefix="/mpi",
                    mpiexec=Path("/mpi/bin/mpiexec"),
                    environment=dict,
                )
            ],
            why_no_gpu={"cuda": "libcuda.so.1 not found"},
            availability=lambda path: "no GPU" if path.needs_device else None,
            lacks=lambda path: "no GPU" if path.needs_device else None,
        )


def one_line(text: str) -> str:
    """The only line of a text."""
    assert text.endswith("\n") and text.count("\n") == 1, text
    return text[:-1]
