"""What ranks find, as they tell it: records of the result file, but for their run, step, launch and moment.

results/model.py and results/parts.py say what the members mean; a test holds these against those. They are
dictionaries, since ranks gather and send them as JSON: their types cost a rank nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from wirespeed.statistics.samples import Summary, Times

Facts = dict[str, Any]
"""What a library or a driver says: JSON."""
LARGEST = (1 << 63) - 1
"""No count and no time is larger."""


class Interval(TypedDict):
    median: float
    low: float | None
    high: float | None
    min: float | None


class Rates(TypedDict):
    median: float | None
    low: float | None
    high: float | None


class Derived(TypedDict):
    name: str
    unit: str
    amount: float
    median: float | None


class Checked(TypedDict, total=False):
    iterations: int
    batches: int
    of_batches: int
    seconds: float
    bytes: int
    rerun_steps: int
    wrong: int
    conserved: list[str]


class Cores(TypedDict):
    waited: float | None
    rank: int
    preempted: int
    by: str | None


class BatchClock(TypedDict):
    of: str
    batches: int
    long: int
    short: int
    host_s: float
    stamped_s: float


class Start(TypedDict):
    by: str
    samples: int
    skew_s: float | None
    skew_max_s: float | None
    why: str | None


class TeamFigure(TypedDict):
    name: str
    first: int
    ranks: int
    seconds: Interval
    waited: float | None


class Baseline(TypedDict):
    name: str
    seconds: Interval


class Constant(TypedDict):
    name: str
    unit: str
    measured: float
    theory: float


class Converged(TypedDict):
    until: float
    norm: float
    steps: int
    reached: bool
    runs: int
    seconds: Interval


class ProgramTimes(TypedDict, total=False):
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


class Wires(TypedDict):
    kind: Literal["wires"]
    path: str
    wires: list[Facts]


class UsedNics(TypedDict):
    rank: int


class Evidence(TypedDict):
    kind: Literal["evidence"]
    pattern: str
    path: str
    bytes: int
    verdict: str
    text: str
    suspicious: str | None
    shares: Mapping[str, float]
    uncertainties: Mapping[str, float]
    iterations: int
    payload_bytes: int
    wires: list[Facts]
    copies: list[Facts]
    nics: list[UsedNics]
    """Of the ranks whose bytes left their host; the front end finds out by which."""
    unread_sources: list[str]


class Health(TypedDict):
    kind: Literal["health"]
    path: str
    seconds: float
    reading_s: float
    errors: list[Facts]
    corrected: list[Facts]
    throttled: list[Facts]
    clocks: list[Facts]
    counted: list[str]
    watched: list[str]
    notes: list[str]
    lacks: list[str]


class Fresh(TypedDict):
    kind: Literal["fresh"]
    pattern: str
    path: str
    memory: str
    bytes: int
    messages: int
    seconds: float
    known_s: float


class Soak(TypedDict):
    kind: Literal["soak"]
    pattern: str
    path: str
    memory: str
    bytes: int
    complete: bool
    fresh: int | None
    asked_s: float
    elapsed_s: float
    iterations: int
    messages: int
    wrong: dict[str, int]
    first: Facts | None
    messages_per_s: float | None
    timed_messages_per_s: float | None
    planted: int | None
    details: dict[str, str]
    uncovered: dict[str, str]


Found = Figure | Wires | Evidence | Health | Fresh | Soak


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
