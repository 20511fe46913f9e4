"""What a run does inside and outside a user's launcher alike: completing its plan, keeping its records."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from wirespeed.errors import WirespeedError
from wirespeed.frontend.shared_cpus import sharing
from wirespeed.host.core import core
from wirespeed.host.process import span
from wirespeed.job.messages import Message
from wirespeed.job.outcome import Outcome
from wirespeed.job.path_selection import select
from wirespeed.job.plan import Plan
from wirespeed.paths import TransferPath
from wirespeed.patterns import Option, Shape, find_pattern
from wirespeed.results.environment import numa_nodes
from wirespeed.results.recorder import Observer, Recorder


def completed(plan: Plan, ranks: int) -> Plan:
    """The plan for this many ranks, with its pattern's own sizes. Raises WirespeedError if that refuses."""
    pattern, shape = find_pattern(plan.pattern), Shape(ranks, dict(plan.options))
    fixed = pattern.fixed_sizes(shape)
    if refusal := pattern.refuse(shape):
        raise WirespeedError(refusal)
    if not plan.hosts:
        for option in pattern.options:
            _check_node(option, shape.options.get(option.key))
    return dataclasses.replace(plan, ranks=ranks, sizes=plan.sizes if fixed is None else fixed)


def _check_node(option: Option, node: int | None) -> None:
    """Raises WirespeedError for a NUMA node that this host does not have."""
    there = numa_nodes()
    if option.each_node and node is not None and there and node not in there:
        raise WirespeedError(
            f"--{option.name} {node}: there is no such NUMA node here; there are: {span(there)}"
        )


def chosen_paths(plan: Plan, kind: str) -> list[TransferPath]:
    """The plan's paths on a machine with this kind of device; at least one. Raises WirespeedError."""
    intra_rank = find_pattern(plan.pattern).intra_rank
    return select(plan.paths, kind != "host", intra_rank) or select(plan.paths, intra_rank=intra_rank)


def begin(recorder: Recorder, devices: Iterable[Message]) -> None:
    """Writes the run's first record."""
    lib = core().lib
    clock = {"cost_s": lib.ws_clock_cost(), "resolution_s": lib.ws_clock_resolution()}
    recorder.begin(sys.argv, devices, clock)


def step_start(path: TransferPath, done: int, total: int) -> Message:
    """What observers are told as a path begins."""
    return {"kind": "step-start", "path": path.name, "steps_done": done, "steps_total": total}


@dataclass
class StepRecorder:
    """One job step, as far as it has come: what rank 0 tells of it goes into the result file."""

    number: int
    path: TransferPath
    recorder: Recorder
    observe: Observer
    job: Message
    """What its record says of the ranks and of what they loaded."""
    accepted: bool = False
    """The ranks have met, and the path moves bytes at all."""
    counting: bool = False
    """All figures are there."""

    def take(self, message: Message) -> Outcome | None:
        """Records one message of rank 0; a failure of the whole path comes back."""
        match message["kind"]:
            case "hello":
                self.job |= {"ranks": message["ranks"], "startup_s": message["startup_s"]}
                self.job["mpi"] |= message["mpi"]
            case "accepted":
                self.accepted = True
                self.recorder.started(self.number, self.path, {**self.job, "details": message["details"]})
            case "entry" | "health" | "evidence" | "wires" as kind:
                self.counting = kind != "entry"
                if not self.counting:
                    message["cores"]["shared"] = sharing(self.job["ranks"])
                self.recorder.take(message, self.number)
            case "failure":
                outcome = Outcome(message["what"], message["text"], message["rank"], bytes=message["bytes"])
                if message["fatal"]:
                    return outcome
                self.fail(outcome)
            case "progress" | "note":
                self.observe(message)
        return None

    def fail(self, outcome: Outcome, remedy: str | None = None) -> None:
        """Records what gave no figure, under this step if the path was measured at all."""
        self.recorder.fail(self.path, outcome, self.number if self.accepted else None, remedy)
