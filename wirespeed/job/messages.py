"""Everything that ranks tell their front end: a record, or a value of one of these kinds.

Named tuples, since every rank pays for them as it starts: 3 ms for all, where frozen dataclasses or importing
msgspec take 15, and annotations as text 6. The front end decodes them strictly, by these annotations
(frontend/rank_messages.py).
"""

from typing import NamedTuple, TypedDict

from wirespeed.job.records import Facts as Facts
from wirespeed.job.records import Found

Row = tuple[str, str, int, int, dict[str, int]]
"""A range: kind, name, begin and end in nanoseconds, and facts that are shown with it."""


class _Mps(TypedDict, total=False):
    mps: str
    """Does NVIDIA's Multi-Process Service run on its host? Missing: no CUDA device."""


class RankPlace(_Mps):
    """Place of a rank, for its job step's record."""

    rank: int
    host: str
    pid: int
    cpus: str
    cpu_quota: float | None
    cpu_model: str
    device: Facts | None
    visible: tuple[str, ...]
    """Identities of all GPUs that it sees."""
    copies: str | None
    """Outcome of reading another rank's memory; None: there is no other on its host."""
    apart: tuple[str, ...]
    """Namespaces (pid, user, ipc) and /dev/shm (shm) that are not those of the first rank of its host."""


class ClockPlace(TypedDict):
    """Rank's clock beside rank 0's, in nanoseconds."""

    same: bool
    ahead: int
    uncertainty: int


class Hello(NamedTuple):
    """All ranks have met."""

    ranks: tuple[RankPlace, ...]
    mpi: dict[str, str]
    """Loaded by rank 0."""
    startup_s: float


class PathStart(NamedTuple):
    """A path begins."""

    place: int
    """Among the paths of the job step, from 0."""


class Accepted(NamedTuple):
    """The path moves bytes at all."""

    details: Facts
    pointers: list[Facts]
    """Device memory of each rank, by the driver."""
    nics: tuple[list[Facts], ...]
    """Named in each rank's log."""


FILLING = "buffers are filled"
"""Said before a size begins, where its memory takes long to get."""


class Progress(NamedTuple):
    """A size begins or goes on."""

    path: str
    bytes: int
    place: int
    """Among the sizes of the path, from 0."""
    of: int
    samples: int = 0
    precision: float | None = None
    phase: int = 0
    phases: int = 1
    doing: str = ""
    """In words, where it is no sampling."""
    seconds: float | None = None
    """The latest batch's median of the slowest team, in the figure's unit of time."""


class Note(NamedTuple):
    """A line for people."""

    text: str


class PathFailure(NamedTuple):
    """The path, or one size of it, has no figure."""

    what: str
    """unavailable, mismatch or error."""
    text: str
    bytes: int | None
    rank: int | None
    """Whose fault it was, where known."""
    fatal: bool
    """Will nothing of the path be measured?"""


class Measured(NamedTuple):
    """The path has all of its figures; what follows counts bytes."""

    late: bool = False
    """Is no time left in which they could be counted?"""


class Done(NamedTuple):
    """The ranks have nothing left to measure."""


class RankRanges(NamedTuple):
    """A rank's ranges of one path."""

    path: str
    rank: int
    host: str
    rows: tuple[Row, ...]
    """On rank 0's clock."""
    dropped: int
    """Number of ranges that found no room."""
    totals: dict[str, int]
    """Nanoseconds of each kind, without those of the ranges inside."""
    clock: ClockPlace
    shared: str
    """Name of rank 0's clock: the same for all processes that read it."""
    now: int
    """On rank 0's clock."""
    shift: int = 0
    """Nanoseconds from rank 0's clock to the front end's, which the front end adds."""


class Picture(NamedTuple):
    """A row of cells of a program's field."""

    path: str
    what: str
    """Drawn quantity."""
    steps: int
    grid: tuple[int, int]
    """Points in x and y."""
    cell: int
    """Points of a cell's side, at most."""
    of: int
    """Rows."""
    row: int
    """From below."""
    cells: str
    """Base64 of 4-byte floats."""


class RankReport(NamedTuple):
    """Last words of a rank's watchdog or crash handler (native/measure/report_line.cpp)."""

    kind: str
    """stuck or crash."""
    rank: int
    pid: int
    host: str
    path: str
    bytes: int
    iteration: int
    call: str | None
    peer: int
    """-1: none."""
    state: str
    fault: str
    native: list[str]
    python: list[str]
    waits: bool = False
    """Does the rank only wait for others, of which it cannot see all?"""
    loaded: str = ""
    """Of a crash: version and path of the library that it happened in."""


class RankError(NamedTuple):
    """A rank ends with an error of its own."""

    rank: int
    text: str
    code: int = 1
    """Exit code."""
    lack: bool = False
    """Is it something that the machine lacks?"""
    python: tuple[str, ...] = ()
    lost: tuple[int, ...] = ()
    """Ranks of its host that had died by then."""


class RankAddresses(NamedTuple):
    """Network addresses of a rank's host, before an MPI joins it."""

    host: str
    addresses: tuple[tuple[str, str], ...]
    """(interface, address), none of loopback."""


Told = (
    Hello
    | PathStart
    | Accepted
    | Progress
    | Note
    | PathFailure
    | Measured
    | Done
    | RankRanges
    | Picture
    | RankReport
    | RankError
    | RankAddresses
)
Message = Told | Found
KINDS: dict[str, type[Told]] = {
    "hello": Hello,
    "turn": PathStart,
    "accepted": Accepted,
    "progress": Progress,
    "note": Note,
    "failure": PathFailure,
    "measured": Measured,
    "done": Done,
    "ranges": RankRanges,
    "picture": Picture,
    "stuck": RankReport,
    "crash": RankReport,
    "error": RankError,
    "addresses": RankAddresses,
}
"""Kinds by the word for them on a line."""
NAMES = {kind: name for name, kind in KINDS.items()}
