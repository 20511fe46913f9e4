"""Description that a program gives of itself, beyond what every pattern says.

A program's iteration is a period of time steps. A step's transfers bring the halos of the present field,
its work computes the next one: what needs no halo meanwhile, the edges after the transfers; or all of it in
one launch that a gate orders. The next step's transfers send the edges of the field that this one computed.

Nothing is overwritten while another rank or processor still needs it:

- Two copies of the field, and of all that is packed, take turns. A step overwrites what was sent in the step
  before: its edges wait for the transfers of this step, and a neighbour that sends them has received what was
  sent in the step before.
- A halo is received into the copy that the step before last read; a neighbour sends it when it has this
  rank's edges of the step before, which follow that reading.
- Step s leaves parts of its norm; step s + 1 adds them up; their sum travels with the transfers of step
  s + 3, which a gate lets go when step s + 2 has done its edges, hence after all of step s + 1; step s + 4
  adds up what all ranks sent. Slots take turns after four steps or more: step s + 5 overwrites the sum that
  was sent in step s + 3, and runs after the transfers of step s + 4; what arrives in step s + 7 follows this
  rank's edges of step s + 5, hence all of step s + 4.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import COMPUTES, Checking, Kind, Option, RankRule, Shown, SizeRule, Timing
from wirespeed.patterns.steps import Derived, Figure, Place, Transfer, Work
from wirespeed.programs.conserved import Conservation
from wirespeed.programs.plane import Plane, divisions, parse_grid, smallest_halo

LINE = 128
"""Bytes of a line of memory."""
A_GPU_EACH = "a program needs a GPU for each rank, or every step contains the driver's time slices"
MAX_RANKS_OF_A_NORM = 64
"""Each rank sends its sum to each other one."""
NORM_STEPS_LATER = (1, 3, 4)
"""When a step's norm is summed on a rank, sent to all, and summed over all (native/kernels/fields.h)."""
SIZE = "Points in x and y, as in 4096x4096: of a rank's block if scaling is weak, of all ranks' if strong."


def to_lines(bytes_: int) -> int:
    """As many bytes or more, in whole lines."""
    return -(-bytes_ // LINE) * LINE


@dataclass(frozen=True)
class Scratch(Place):
    """So many bytes behind the start of the rank's other buffer, which only checks use."""


@dataclass(frozen=True)
class FieldComparison:
    """Rows of bytes of the program's buffer, and those of the reference that they must equal."""

    own: Place
    own_pitch: int
    reference: Scratch
    reference_pitch: int
    row_bytes: int
    rows: int


@dataclass(frozen=True)
class NormCheck:
    """A sum over all ranks, as the program has it; and this rank's part of it, as the reference has it."""

    own: Place
    reference: Scratch
    parts: int = 1
    """Numbers that lie there, whose sum it is."""


@dataclass(frozen=True)
class Values:
    """Numbers of each point of a rank's block, for people: where `work` leaves them. All in bytes."""

    place: Place
    real: int
    """Bytes of a number."""
    pitch: int
    """From one row to the next."""
    planes: int = 1
    """Numbers of a point, each in a plane of its own."""
    plane: int = 0
    """From one plane to the next."""
    work: tuple[Work, ...] = ()


@dataclass(frozen=True)
class Sampling:
    """When a constant of physics is taken from the field."""

    iterations: int
    """From the initial state to the first sample, and from each sample to the next."""
    samples: int
    part: Callable[[int, Sequence[bytes]], complex]
    """Contribution of rows to a sample, from the rank's row of this number on; all ranks' add up to it."""
    constant: Callable[[Sequence[complex]], Constant]
    """The constant that the samples show. Raises ValueError where they say nothing."""


@dataclass(frozen=True)
class Convergence:
    """Steps that go on until a norm is small enough."""

    until: float
    start: Sequence[Work]
    """Makes the field that they begin with."""
    total: Place
    """The latest sum of squared changes of all ranks, a double, once `first` iterations are done."""
    points: int
    """Of all ranks: the norm is the root of the sum over this number."""
    first: int
    most: int
    """Iterations that are done at most."""


@dataclass(frozen=True)
class Constant:
    """A constant of physics, as the field has it and by theory."""

    name: str
    unit: str
    measured: float
    theory: float


@dataclass(frozen=True)
class ProgramFacts:
    """Facts in the record of a program besides its times."""

    grid: tuple[int, int]
    block: tuple[int, int]
    ranks: tuple[int, int]
    """In x and y."""
    steps_per_iteration: int
    bytes_per_site: int
    """Read from and written to memory in a step at least."""
    flops_per_site: int

    @classmethod
    def of(cls, plane: Plane, *, steps: int, bytes_: int, flops: int) -> ProgramFacts:
        """Of a plane's division; steps of an iteration, bytes and operations of a site."""
        grid, block = (plane.width, plane.height), (plane.nx, plane.ny)
        return cls(grid, block, (plane.columns, plane.rows), steps, bytes_, flops)


def options(
    steps: tuple[int, int] = (1000, 200),
    size: tuple[str, str] = ("4096x4096", "1024x1024"),
    scaling: str = "weak",
) -> tuple[Option, ...]:
    """Options that all programs have; default sizes and numbers of steps on GPUs and CPUs."""
    least = f"Time steps to measure at least. Default: {steps[0]}, on CPUs {steps[1]}."
    return (
        Option("size", SIZE, None, metavar="WxH", by_machine=size),
        Option(
            "scaling", "weak: --size is a rank's; strong: all ranks'.", scaling, choices=("weak", "strong")
        ),
        Option("steps", least, None, by_machine=steps),
        Option(
            "columns", "Ranks in x. Default: for the smallest halo, or 1 where halos in x are costly.", None
        ),
        Option(
            "overlap",
            "Compute what needs no halo while halos travel; yes,no measures both.",
            "yes",
            choices=("yes", "no"),
            many=True,
        ),
    )


class ProgramPattern(Pattern):
    """A program as a pattern: the time of a step, and how its field is checked.

    One buffer has all that the program needs; the other one is the checks' alone.
    """

    rank_rule = RankRule(None)
    kind = Kind(in_place=True, program=True)
    checking = Checking("field", no_soak=COMPUTES)
    shown = Shown("program", by_size=False)
    prefers_rows = False
    """By default only y is cut, as long as blocks are as thick as the halo."""
    halo = 1
    """Points that a block needs of its neighbours' in each direction."""

    @property
    def timing(self) -> Timing:
        steps = 0 if self.refuse() else self.facts.steps_per_iteration
        return Timing(slowest=True, goes_on=True, least_iterations=steps and -(-int(self["steps"]) // steps))

    def damage(self, rank: int) -> tuple[int, Place]:
        """For tests: a place behind all else, and one of what it computes."""
        return self.aside, self.comparisons(rank)[0].own

    @property
    def plane(self) -> Plane | str:
        """Division of the plane; or why it cannot be divided."""
        word, strong = str(self["size"]), self["scaling"] == "strong"
        width, height = parse_grid(word)
        ways, columns = divisions(self.ranks), self["columns"]
        if columns is not None:
            ways = [way for way in ways if way[0] == int(columns)]
            if not ways:
                return f"--columns {columns}: {self.ranks} ranks do not fill rows of {columns}"
        fitting = [way for way in ways if not strong or (width % way[0] == 0 and height % way[1] == 0)]
        if not fitting:
            return (
                f"--size {word}: {self.ranks} ranks do not divide it into equal blocks; write a width or "
                f"height that is a multiple of {self.ranks}"
            )
        sizes = [
            (way, width // way[0] if strong else width, height // way[1] if strong else height)
            for way in fitting
        ]
        # divisions() has one column first.
        thick = sizes[0][2] >= self.halo and sizes[0][0][0] == 1
        (columns, rows), nx, ny = sizes[0] if self.prefers_rows and thick else smallest_halo(sizes)
        if min(nx, ny) < self.halo:
            return (
                f"--size {word}: a rank's block is {nx} x {ny} points, thinner than the halo of {self.halo}; "
                "write a larger size or start fewer ranks"
            )
        return Plane(columns, rows, nx, ny, self.periodic, self.walled)

    @property
    def divided(self) -> Plane:
        """The plane of a job that is not refused."""
        found = self.plane
        if isinstance(found, str):
            raise ValueError(found)
        return found

    def refuse(self) -> str | None:
        found = self.plane
        return found if isinstance(found, str) else None

    @property
    def size_rule(self) -> SizeRule:
        """One size: a rank's block of the field."""
        if self.refuse():
            return SizeRule(fixed=())
        nx, ny = (facts := self.facts).block
        return SizeRule(fixed=(nx * ny * facts.bytes_per_site // 2,))

    def extent(self, rank: int, size: int) -> int:
        messages = [receive.bytes for step in self.steps(rank, size) for receive in step.receives]
        return max(self.aside + LINE + max(messages, default=0), self.verdict(rank).offset + LINE)

    @property
    def aside(self) -> int:
        """Place behind all else where tests of the check put a line and a message."""
        return to_lines(self.room)

    def verdict(self, rank: int) -> Scratch:
        """Place where a comparison leaves its outcome."""
        return Scratch(to_lines(self.scratch_room(rank)))

    def figure(self, size: int) -> Figure:
        facts, plane = self.facts, self.divided
        sites = plane.width * plane.height
        moved = plane.nx * plane.ny * facts.bytes_per_site
        who = "the rank has" if self.ranks == 1 else f"the slowest of {self.ranks} ranks has"
        definition = (
            f"a step: until {who} its {plane.nx} x {plane.ny} points; "
            "GB/s of one rank's memory, each number read and written once"
        )
        derived = (
            Derived("site updates", sites, "sites/s"),
            Derived("operations", sites * facts.flops_per_site, "flop/s"),
        )
        return Figure(facts.steps_per_iteration, moved, definition, derived)

    @property
    def periodic(self) -> bool:
        """Do opposite sides of the plane meet?"""
        return bool(self.shape.options.get("edges", "periodic") == "periodic")

    @property
    def walled(self) -> bool:
        """Do walls lie below and above?"""
        return False

    @property
    @abstractmethod
    def room(self) -> int:
        """Bytes of the program's buffer."""

    @abstractmethod
    def scratch_room(self, rank: int) -> int:
        """Bytes that reference() needs."""

    @property
    @abstractmethod
    def facts(self) -> ProgramFacts:
        """Facts for the record."""

    @abstractmethod
    def start(self, rank: int, seed: int) -> list[Work]:
        """Fills the field and all halos that no transfer brings, as a function of the place in the plane."""

    @abstractmethod
    def reference(self, rank: int, seed: int) -> list[Work]:
        """The same field after the checked iterations, by this rank alone, with all that can reach it."""

    @property
    def checked_iterations(self) -> int:
        """Iterations from start() after which the field is that of reference()."""
        return 1

    @abstractmethod
    def comparisons(self, rank: int) -> list[FieldComparison]:
        """Pairs of places that must be equal."""

    @abstractmethod
    def place(self, rank: int, comparison: int, row: int, byte: int) -> str:
        """In words, where the field is wrong: "point (17, 4) of 64 x 64"."""

    def norms(self, rank: int) -> list[NormCheck]:
        """Sums over all ranks that must be those of the reference."""
        return []

    def conserved(self, rank: int) -> Conservation | None:
        """Sums that the checked iterations must not change but by rounding; None: nothing is conserved."""
        return None

    @abstractmethod
    def values(self, rank: int) -> Values:
        """Values that a picture or a constant is made of, after any iteration."""

    @property
    @abstractmethod
    def drawn(self) -> str:
        """Name of what the picture shows: "temperature"."""

    @abstractmethod
    def cells(self, rows: Sequence[bytes], edges: Sequence[int]) -> bytes:
        """Cells of some rows in a picture: the mean between each two edges in x, as 32-bit floats.

        `rows`: of each plane of the values, so many numbers without gaps.
        """

    def sampling(self, rank: int) -> Sampling | None:
        """Measurement of a constant of physics from the field; None: there is none."""
        return None

    def convergence(self, rank: int) -> Convergence | None:
        """What is iterated until it converges, if that was asked for."""
        return None

    @abstractmethod
    def copied(self, rank: int) -> Transfer:
        """One copy of the field, whose rate is the roofline: from this buffer into the other one."""


def as_program(pattern: Pattern) -> ProgramPattern:
    """Casts to ProgramPattern. Precondition: pattern.kind.program."""
    assert isinstance(pattern, ProgramPattern)
    return pattern
