"""The records of a result file: a line is one of these. Readers, writers and schema.json all come from here.

A member without a default is required. A line that lacks it, or of which any member is invalid, is left out;
members and kinds that this version does not know are passed over. `field(name=...)`: the member has another
name in the file. The notes under members are the schema's.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, get_args

from msgspec import UNSET, Meta, UnsetType, field, structs

from wirespeed.job.cause import Cause
from wirespeed.job.messages import Note, Picture, Progress, RankRanges
from wirespeed.job.plan import Plan
from wirespeed.results.contradiction import BatchClock, Contradiction
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.parts import (
    SHORTEST,
    Amount,
    Baseline,
    Checked,
    Clock,
    ClockRates,
    Copies,
    Cores,
    CountedWire,
    DerivedFigure,
    Environment,
    Fact,
    LoadedMpi,
    Moment,
    NewErrors,
    Pointer,
    ProgramTimes,
    Rank,
    RankNics,
    Rates,
    RecordedHistogram,
    RecordPart,
    RunRecord,
    Share,
    Stack,
    Start,
    TeamFigure,
    Texts,
    Throttled,
    Timed,
    Times,
    Whole,
    Wire,
    one_of,
)
from wirespeed.results.soak import Soak
from wirespeed.statistics.stopping import INTERRUPTED

SCHEMA = 2
OUTPUT_OF = "output of "
"""Beginning of Head.converted where another tool measured the figures."""
COUNTS = "counts"
"""Detail of an entry that another tool measured: which bytes its rate counts."""
FAR = 0.1
"""A figure whose interval is wider than ± this share of its median may be far off."""
ROUNDING = 1e-3
"""Share of a median by which the ends of its interval and its precision may disagree."""


VERDICTS = (
    *("direct", "staged", "network", "loopback", "shared memory", "pcie", "copied", "inside", "mixed"),
    "unknown",
)


class Head(RunRecord, frozen=True, kw_only=True, tag="run"):
    """Begins a run: what was asked for, and where."""

    schema: Annotated[int, Meta(extra_json_schema={"const": SCHEMA})] = SCHEMA
    """Version of this schema."""
    converted: str | UnsetType = UNSET
    """Origin of a converted file, such as "from schema 1" or "output of OSU MPI 7.2"."""
    wirespeed: str = ""
    """Version of the program."""
    started: Moment = ""
    command: list[str] = []
    """The command line."""
    plan: Plan = field(default_factory=lambda: Plan(pattern="", sizes=(), ranks=0))
    """Every option, as understood."""
    environment: Environment = field(default_factory=Environment)
    clock: Clock | None = None


class LeftOut(RecordPart, frozen=True, kw_only=True):
    """Something of a path for which there was no time."""

    path: str
    launch: Fact = 1
    sizes: list[Whole] = []
    """Without a figure; empty: their bytes were not counted."""


class End(RunRecord, frozen=True, kw_only=True, tag="end"):
    """Ends a run. A run without it was killed."""

    ended: Moment = ""
    status: Annotated[str, one_of("complete", "interrupted")] = ""
    entries: Whole = 0
    failures: Whole = 0
    impossible: list[str] = []
    """The figures that cannot be true by all that the run says, and why."""
    left_out: list[LeftOut] = []
    """What the bound of the command (--within) left no time for."""


class StepRecord(RunRecord, frozen=True, kw_only=True, tag="step"):
    """Begins one path: which MPI, which ranks, where."""

    step: Whole
    """Counts from 0 within the run."""
    launch: Fact = 1
    path: str
    transport: str = ""
    memory: str = ""
    into: str = ""
    """Memory of the receive buffer; missing: the send buffer's."""
    mpi: LoadedMpi | None = None
    """null: without MPI."""
    launcher: str = ""
    variables: Texts = {}
    """Set for this step."""
    ranks: tuple[Rank, ...] = ()
    startup_s: Amount = 0.0
    """From the first instruction of rank 0 until all had joined; 0: they had measured another path before."""
    allocator: str = "driver"
    """Who handed out the device memory."""
    pointers: list[Pointer] = []
    """Device memory of each rank; empty for memory of the host."""
    details: dict[str, Any] = {}
    """Choices of the transport."""
    without: str | None = None
    """The path that this one is with something switched off, by variables; null: none."""

    @property
    def on_gpus(self) -> bool:
        """Does GPU memory hold a buffer?"""
        return not {self.memory, self.into or self.memory} <= {"", "pageable", "pinned"}


class Entry(RunRecord, Timed, frozen=True, kw_only=True, tag="entry"):
    """One figure: a path at a size."""

    step: Whole = 0
    launch: Fact = 1
    """Counts from 1: with --launches every path is measured several times, with new processes each time."""
    pattern: str
    path: str
    memory: str = ""
    bytes: Whole
    """Size of one message."""
    timed: str = ""
    """Name of the seconds: one way, slowest group, ...: the beginning of the definition."""
    definition: str = ""
    """Meaning of the time, and which bytes its rate counts."""
    bandwidth_bytes: Whole | None = None
    """Bytes used for the bandwidth; null: those of one message."""
    times: Times = field(name="seconds")
    bytes_per_second: Rates = field(default_factory=Rates)
    derived: list[DerivedFigure] = []
    """Other figures of the same samples."""
    confidence: Annotated[float, Meta(gt=0, lt=1)] | None = None
    """Confidence level of the interval."""
    precision: Amount | None = None
    """Half the interval's width as a share of the median; null without an interval."""
    samples: Whole = 0
    batches: Whole = 0
    iterations_per_sample: Whole = 0
    iterations: Whole = 0
    stopped: Annotated[str, one_of("precision", "max-time", "fixed", INTERRUPTED)] = ""
    """precision: as precise as asked for; max-time: the time was over first; fixed: a fixed count;
    interrupted: the run was to end."""
    histogram: RecordedHistogram | None = None
    checked: Checked = field(default_factory=Checked)
    details: dict[str, Any] = {}
    """Choices of the transport for this size."""
    program: ProgramTimes | UnsetType = UNSET
    """Times that a program's steps are compared with."""
    baseline: Baseline | UnsetType = UNSET
    """Simpler way to move the bytes of a list of blocks, for comparison."""
    prepare_s: Amount | UnsetType = UNSET
    """Most seconds that a rank spends on such a list, once for all iterations."""
    cores: Cores | None = None
    """CPUs that the ranks had meanwhile; null: not known."""
    start: Start | None = None
    """Beginning of samples, where a barrier precedes each; null: none does."""
    teams: list[TeamFigure] = []
    """The figure of each team, where there are several; the entry's own is that of the slowest."""
    elapsed_s: Amount | None = None
    """Spent on this entry in all."""
    clock: BatchClock | None = None
    """null: nobody compared the samples with the host's clock."""
    impossible: list[Contradiction] = []
    """Why the figure cannot be true, as far as was known when it was written: the `end` record knows all."""
    at: Moment = ""

    def __hash__(self) -> int:
        return hash((self.run, self.path, self.bytes, self.at))

    @property
    def each(self) -> tuple[Entry, ...]:
        """The figure of every launch."""
        return (self,)

    @property
    def launches(self) -> int:
        return len(self.each)

    @property
    def foreign(self) -> bool:
        """Is it another tool's?"""
        return COUNTS in self.details

    @property
    def baseline_s(self) -> float | None:
        """Seconds of the same bytes moved in a simpler way; None where nothing was measured beside it."""
        return self.baseline.seconds if self.baseline else None

    @property
    def has_time(self) -> bool:
        """Is this a time that can be reckoned with, in an interval that holds it, as wide as told?"""
        median, times = self.seconds, self.times
        if min(self.low, self.high, median) <= SHORTEST:
            return False
        below, above = (end / median - 1 if end is not None else 0.0 for end in (times.low, times.high))
        if below > ROUNDING or above < -ROUNDING:
            return False
        half = (above - below) / 2
        return self.precision is None or abs(half - self.precision) <= ROUNDING * max(1.0, half)

    @property
    def uncertain(self) -> bool:
        """Is the interval wider than ±100 %?"""
        return self.precision is not None and self.precision > 1

    @property
    def reckoned_s(self) -> float:
        """Seconds by which figures compete: the end of a wide interval, since that figure may be lucky."""
        wide = self.precision is None or self.precision > FAR
        return max(self.high, self.seconds) if wide else self.seconds

    @property
    def is_mean(self) -> bool:
        """Is it one elapsed time over a fixed count of iterations, not a sample of each?"""
        return self.stopped == "fixed" and not (self.iterations_per_sample == 1 and self.samples > 1)

    @property
    def sure(self) -> bool:
        """Is it the path's own speed, and known to some extent?"""
        return not (self.contended or self.uncertain)

    @property
    def why_impossible(self) -> str:
        """In a line; '': nothing contradicts the figure."""
        return "; ".join(contradiction.text for contradiction in self.impossible)

    @property
    def waited(self) -> float | None:
        """Share of the timed seconds in which a rank had no CPU, of the one that waited most."""
        return self.cores.waited if self.cores else None

    @property
    def contended(self) -> bool:
        """Did ranks wait for CPUs while it was timed? Then it is no sure figure of the path."""
        return self.cores is not None and self.cores.contended

    def contended_team(self, team: TeamFigure) -> bool:
        """The same of one team: a rank that waits spoils no other team's figure."""
        if self.cores is None or team.waited is None:
            return self.contended
        return structs.replace(self.cores, waited=team.waited).contended

    @property
    def skew(self) -> float:
        """Distance between the ranks' beginnings of a sample, as a share of its time; 0: not known."""
        known = self.start.skew_s if self.start and self.start.skew_s and self.iterations_per_sample else 0.0
        return known / self.iterations_per_sample / self.seconds if known and not self.impossible else 0.0

    @property
    def memory_domain(self) -> str:
        """Place of the data: CPU, GPU or both. Only paths between GPUs, or between CPUs, compete."""
        if " to " in self.memory:
            return "CPU and GPU"
        return "CPU" if self.memory in ("pageable", "pinned") else "GPU"

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.amount / self.seconds

    @property
    def amount(self) -> int:
        """Bytes used for the bandwidth."""
        return self.bytes if self.bandwidth_bytes is None else self.bandwidth_bytes

    @property
    def moves(self) -> bool:
        """Does a bandwidth follow from it? Not from a load's time: its bytes are those around the word."""
        return not self.bytes or self.amount > 0

    def with_time(self, seconds: float, low: float, high: float, precision: float | None) -> Entry:
        """The same with another time, and without what followed from its own."""
        times = Times(median=seconds, low=low, high=high)
        return structs.replace(
            self, times=times, precision=precision, teams=[], derived=[], clock=None, impossible=[]
        )


class Failure(RunRecord, frozen=True, kw_only=True, tag="failure"):
    """A path, or one size of it, that gave no figure."""

    step: Whole | None = None
    """null: there was none."""
    launch: Fact = 1
    path: str
    bytes: Whole | None = None
    """null: the whole path."""
    what: Annotated[str, one_of("unavailable", "crash", "hang", "death", "mismatch", "error", "interrupted")]
    cause: Cause = Cause()
    """What happened, in values; `text` says it to people."""
    text: str = ""
    """One line."""
    remedy: str | None = None
    """Action that would help."""
    rank: int | None = None
    """Whose fault it was, where known."""
    host: str | None = None
    call: str | None = None
    """The MPI or GPU call it sat in."""
    iteration: int | None = None
    stacks: list[Stack] = []
    """Place of each rank in its code."""
    log: list[str] = []
    """The last lines of the launcher's output."""
    at: Moment = ""

    @property
    def whole_path(self) -> bool:
        """Does it leave nothing of the path to measure?"""
        return self.bytes is None or self.what == "unavailable"

    @property
    def ended_processes(self) -> bool:
        """Did its processes end, so that other sizes of its path may have no figure either?"""
        return self.what in ("crash", "death", "hang")


class Wires(RunRecord, frozen=True, kw_only=True, tag="wires"):
    """Wires that a path's ranks can use, by their drivers, before bytes are counted."""

    step: Whole = 0
    path: str
    wires: list[Wire] = []
    at: Moment = ""


class Evidence(RunRecord, frozen=True, kw_only=True, tag="evidence"):
    """Wires that an entry's bytes travelled over: counted in further iterations, never timed."""

    step: Whole = 0
    pattern: str = ""
    path: str
    bytes: Whole
    """Size of one message."""
    verdict: Annotated[str, one_of(*VERDICTS)]
    text: str
    """The verdict in words."""
    suspicious: str | None = None
    """Promise of the path that its wires deny."""
    shares: dict[str, Share] = {}
    """Traffic of each kind of wire, as a share of the payload that had to pass it if nothing else did; of
    both directions the lesser."""
    uncertainties: dict[str, Share] = {}
    """Part of each share that the counters' steps and other traffic leave open."""
    iterations: Whole = 0
    """Iterations counted."""
    payload_bytes: Whole = 0
    """Bytes that all ranks sent in them."""
    wires: list[CountedWire] = []
    copies: list[Copies] = []
    """Copies that the driver of each rank's GPU made; empty without a counter."""
    nics: list[RankNics] = []
    """By which each rank's bytes left its host; empty where all ranks are on one host."""
    nics_differ: str | None = None
    """Contradiction between the libraries' logs and the counters."""
    unread_sources: list[str] = []
    """Counters that did not answer, and why."""
    at: Moment = ""

    def copies_of(self, kind: str) -> list[int]:
        """Each rank's copies of a kind: in an iteration, or (setup_...) outside; empty: not counted."""
        of = 1 if kind.startswith("setup_") else max(self.iterations, 1)
        return [round(getattr(rank, kind).count / of) for rank in self.copies]


class Health(RunRecord, frozen=True, kw_only=True, tag="health"):
    """Counts of hosts from before a path's first timed iteration until after its last."""

    step: Whole = 0
    path: str
    seconds: Amount = 0.0
    """Between the two readings."""
    reading_s: Amount = 0.0
    """One reading took at most."""
    errors: list[NewErrors] = []
    corrected: list[NewErrors] = []
    """Errors that links corrected by themselves, without sending anything again: no fault."""
    throttled: list[Throttled] = []
    clocks: list[ClockRates] = []
    counted: list[str] = []
    """Kinds of errors that were counted before and after; of one that is not among `errors` there were none.
    None where a host counts nothing."""
    watched: list[str] = []
    """Host and place whose clocks are known to be held back or not; none where a host tells of none."""
    notes: list[str] = []
    """Faults that were there already."""
    lacks: list[str] = []
    """Readings that are missing, and why."""
    at: Moment = ""

    @property
    def good(self) -> bool:
        """Nothing new went wrong, and nothing held clocks back."""
        return not self.errors and not self.throttled


class Doctor(RecordPart, frozen=True, kw_only=True, tag_field="kind", tag="doctor"):
    """Findings of `wirespeed doctor --out`."""

    at: Moment = ""
    facts: dict[str, Any] = {}
    """Facts about the machine."""
    findings: list[RecordedFinding] = []
    fastest: list[dict[str, Any]] = []
    """Best path by size."""


class Fresh(RunRecord, frozen=True, kw_only=True, tag="fresh"):
    """Messages of one size, each from memory that was allocated for it, all of them checked and right."""

    step: Whole = 0
    launch: Fact = 1
    pattern: str = ""
    path: str
    memory: str = ""
    bytes: Whole
    """Size of one message."""
    messages: Whole = 0
    """Allocations, each of both buffers of every rank."""
    seconds: Amount = 0.0
    """Median of the first message from new memory, by the definition of the figure of this path and size."""
    known_s: Amount = 0.0
    """Median of the message after it, from the same memory."""
    at: Moment = ""


class StepStart(NamedTuple):
    """A path begins."""

    path: str
    at: int
    """Nanoseconds of the front end's monotonic clock."""
    done: int
    """Paths that are over."""
    total: int
    launch: int = 1
    launches: int = 1


class StepEnd(NamedTuple):
    """A path's job step is over."""

    at: int
    """As in StepStart."""


Record = Head | StepRecord | Entry | Health | Wires | Evidence | Failure | Soak | Fresh | Doctor | End
RankRecord = Entry | Wires | Evidence | Health | Soak | Fresh
"""Records of what ranks find."""
Event = Record | Progress | Note | Picture | RankRanges | StepStart | StepEnd
"""A record, or what is of interest at the moment alone."""
KINDS: dict[str, type[Record]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Record)}
OF_RANKS: dict[str, type[RankRecord]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(RankRecord)
}
