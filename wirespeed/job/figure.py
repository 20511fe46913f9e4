"""A figure, as ranks make it and tell it.

Members are those of an entry of the result file (results/model.py), but for its run, step, launch and moment.
They are dictionaries, since ranks gather and send them as JSON; their types cost a rank nothing.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from wirespeed.statistics.samples import Summary, Times

LARGEST = (1 << 63) - 1
"""No count and no time is larger."""


class Interval(TypedDict):
    """Seconds of something that is compared with a figure."""

    median: float
    low: float | None
    high: float | None
    min: float | None


class Rates(TypedDict):
    """Bytes per second."""

    median: float | None
    low: float | None
    high: float | None


class Derived(TypedDict):
    """Another figure of the same samples."""

    name: str
    unit: str
    amount: float
    median: float | None


class Checked(TypedDict, total=False):
    """Data that were compared, byte by byte."""

    iterations: int
    batches: int
    of_batches: int
    seconds: float
    bytes: int
    rerun_steps: int
    wrong: int
    conserved: list[str]


class Cores(TypedDict):
    """CPUs of the rank that waited most for one."""

    waited: float | None
    rank: int
    preempted: int
    by: str | None


class BatchClock(TypedDict):
    """The host's clock around each batch, against the sum of its samples."""

    of: str
    batches: int
    long: int
    short: int
    host_s: float
    stamped_s: float


class Start(TypedDict):
    """Beginning of the samples that a barrier precedes."""

    by: str
    samples: int
    skew_s: float | None
    skew_max_s: float | None
    why: str | None


class TeamFigure(TypedDict):
    """One team's figure."""

    name: str
    first: int
    ranks: int
    seconds: Interval
    waited: float | None


class Baseline(TypedDict):
    """The same bytes moved in a simpler way."""

    name: str
    seconds: Interval


class Constant(TypedDict):
    """A constant of physics beside theory."""

    name: str
    unit: str
    measured: float
    theory: float


class Converged(TypedDict):
    """Steps of a program until its norm was small enough."""

    until: float
    norm: float
    steps: int
    reached: bool
    runs: int
    seconds: Interval


class ProgramTimes(TypedDict, total=False):
    """Times that a program's steps are compared with, and how it was divided."""

    grid: tuple[int, int]
    block: tuple[int, int]
    ranks: tuple[int, int]
    steps_per_iteration: int
    bytes_per_site: int
    flops_per_site: int
    compute: Interval
    compute_waited: float | None
    copy: Interval
    copied_bytes: int
    constant: Constant | None
    converged: Converged | None


class _Extras(TypedDict, total=False):
    program: ProgramTimes
    baseline: Baseline
    prepare_s: float


class Figure(Summary, _Extras):
    """A path at a size."""

    kind: Literal["entry"]
    pattern: str
    path: str
    memory: str
    bytes: int
    timed: str
    definition: str
    bandwidth_bytes: int
    bytes_per_second: Rates
    derived: list[Derived]
    iterations_per_sample: int
    iterations: int
    stopped: str
    checked: Checked
    details: dict[str, object]
    cores: Cores
    clock: BatchClock | None
    start: Start | None
    teams: list[TeamFigure]
    elapsed_s: float


def interval(times: Times) -> Interval:
    """Without ends, where the step of the clock leaves the lower one open."""
    low, high = (times["low"], times["high"]) if times["low"] else (None, None)
    return Interval(median=times["median"], low=low, high=high, min=times["min"])


def rate(amount: float, seconds: float | None) -> float | None:
    """Bytes or messages per second; None where no time is known, or none that leaves a number."""
    found = amount / seconds if seconds else LARGEST
    return found if found < LARGEST else None


def in_unit(unit: str, amount: float, seconds: float | None) -> float | None:
    """A derived figure: its amount over the time in GB/s or messages/s, or a factor of the time in s."""
    if unit == "s":
        return None if seconds is None else seconds * amount
    found = rate(amount, seconds)
    return found / 1e9 if found is not None and unit == "GB/s" else found
