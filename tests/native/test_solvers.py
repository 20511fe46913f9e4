"""The solvers' kernels as they are and with a planted fault, against numpy and against what is conserved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import jacobi_reference, lbm_reference
from support.kernels import Fault, Workshop
from support.planted import Solvers
from support.simulated import Meeting, Ranks, ThreadRank

from wirespeed.patterns import Shape
from wirespeed.programs import ProgramPattern, Scratch
from wirespeed.programs.conserved import ROUNDING, total
from wirespeed.programs.jacobi import PATTERN as JACOBI
from wirespeed.programs.lbm import PATTERN as LBM
from wirespeed.programs.lbm import STEP_ROUNDINGS, TAU
from wirespeed.programs.lbm_math import VELOCITIES, Layers
from wirespeed.rank.check.field_check import FieldCheck
from wirespeed.rank.check.payload_check import PayloadMismatch

pytestmark = pytest.mark.slow

SEED = 3
TO_REFERENCE = [VELOCITIES.index(each) for each in lbm_reference.VELOCITIES]


@dataclass(frozen=True)
class Case:
    """A small run of a program."""

    program: ProgramPattern
    ranks: int
    options: dict[str, Any]

    def __str__(self) -> str:
        return "-".join((self.program.name, str(self.ranks), *map(str, self.options.values())))


def jacobi(ranks: int, size: str, **options: Any) -> Case:
    return Case(JACOBI, ranks, {"size": size, "columns": 1, **options})


def lbm(ranks: int, size: str, case: str, **options: Any) -> Case:
    return Case(LBM, ranks, {"size": size, "case": case, "columns": 1, **options})


COLUMNS = jacobi(4, "37x23", columns=2)
FIXED = jacobi(2, "37x23", edges="fixed", fp="64")
WAVE = lbm(1, "23x17", "shear-wave")
WAVE_COLUMNS = lbm(4, "26x18", "shear-wave", columns=2)
HEAVY = lbm(1, "25x21", "rayleigh-taylor")
HEAVY_ROWS = lbm(2, "25x22", "rayleigh-taylor")
CASES = (COLUMNS, FIXED, WAVE, WAVE_COLUMNS, HEAVY, HEAVY_ROWS)


@pytest.fixture(scope="module")
def solvers(builds: Path) -> Solvers:
    return Solvers(Workshop(builds))


def is_numpys(job: Ranks) -> bool:
    job.start(SEED)
    check = jacobi_is_numpys if job.program is JACOBI else lbm_is_numpys
    return check(job)


def jacobi_is_numpys(job: Ranks) -> bool:
    """Every bit: both add in one order."""
    periodic, plane = JACOBI.at(job.shape).periodic, JACOBI.at(job.shape).divided
    steps = 2 * JACOBI.at(job.shape).facts.steps_per_iteration
    kind = f"f{int(job.shape.options.get('fp', 32)) // 8}"
    start = jacobi_reference.noise(plane.width, plane.height, SEED, kind)
    expected, _ = jacobi_reference.relaxed(start, steps, periodic)
    job.iterate(2)
    return np.array_equal(jacobi_reference.field(job), expected)


def populations(job: Ranks) -> np.ndarray:
    """The whole grid [37, height, width], in the reference's order."""
    plane = LBM.at(job.shape).divided
    whole = np.empty((37, plane.height, plane.width))
    for rank in range(job.shape.ranks):
        x, y = plane.origin(rank)
        for number, one in enumerate(LBM.at(job.shape).comparisons(rank)):
            for row in range(one.rows):
                place = type(one.own)(one.own.offset + row * one.own_pitch)
                numbers = np.frombuffer(job.read(rank, place, one.row_bytes))
                whole[number, y + row, x : x + plane.nx] = numbers
    return whole[TO_REFERENCE]


def lbm_is_numpys(job: Ranks) -> bool:
    """Within the roundings of both; the start is the equilibrium of its own moments."""
    state = LBM.at(job.shape)._start(SEED)
    layers = isinstance(state, Layers)
    fluid = lbm_reference.Fluid(TAU, state.gravity if isinstance(state, Layers) else (0.0, 0.0), layers)
    begin = populations(job)
    expected, iterations = begin, 2
    for _ in range(2 * iterations):
        expected = fluid.step(expected)
    job.iterate(iterations)
    density = float(begin.sum(axis=0).max())
    bound = 2 * STEP_ROUNDINGS * ROUNDING * density
    in_equilibrium = np.abs(lbm_reference.equilibrium(*lbm_reference.moments(begin)) - begin).max() <= bound
    return bool(in_equilibrium and np.abs(populations(job) - expected).max() <= 2 * iterations * bound)


def violation(job: Ranks) -> str | None:
    """After the checked iterations, as FieldCheck finds it."""
    laws = [job.program.at(job.shape).conserved(rank) for rank in range(job.shape.ranks)]

    def sums() -> list[float]:
        found = []
        for rank, conserved in enumerate(laws):
            assert conserved
            job.launch(rank, [conserved.work(Scratch(0))])
            parts = np.frombuffer(job.read(rank, Scratch(0), 8 * conserved.planes * conserved.blocks))
            found.append(conserved.plane_sums(parts.tolist()))
        return [total(of_ranks) for of_ranks in zip(*found, strict=True)]

    job.start(SEED)
    before = sums()
    job.iterate(job.program.at(job.shape).checked_iterations)
    assert laws[0]
    return laws[0].violation(before, sums())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_solvers_are_numpys(solvers: Solvers, case: Case) -> None:
    """Protects the comparisons below from faults that are not planted; odd sizes, cuts, walls."""
    with solvers.ranks(None, case.program, case.ranks, **case.options) as job:
        assert is_numpys(job)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("size", [None, "260x9", "520x131"])
def test_what_is_conserved_stays(solvers: Solvers, case: Case, size: str | None) -> None:
    """Protects right solvers: rounding stays within the bound, in whole pieces of rows and rests of them."""
    options = case.options | ({"size": size, "scaling": "weak"} if size else {})
    if options.get("edges") == "fixed":
        assert JACOBI.at(Shape(case.ranks, options)).conserved(0) is None
        return
    with solvers.ranks(None, case.program, case.ranks, **options) as job:
        assert violation(job) is None


@dataclass(frozen=True)
class Planted:
    """A fault, what it is run on, and the quantity that it changes, if one is conserved there."""

    case: Case
    fault: Fault
    changes: str = ""


POINT = Fault("jacobi.h", "(T)0.25 * (((west", "(T)0.25001 * (((west")
SIDE = Fault("jacobi.h", "first ? b.west + (u64)y * b.west_step", "first ? b.east + (u64)y * b.east_step")
HALO = Fault("jacobi.h", "y ? from - pitch : b.south + x", "y ? from - pitch : from")
WEIGHT = Fault("lbm.h", "square == 1 ? 0.107306091542219002", "square == 1 ? 0.107306091552219002")
SHORT = Fault("lbm.h", "#define WS_LBM_HALO 3", "#define WS_LBM_HALO 2")
COLUMN = Fault("lbm_fields.h", "layer = (crossing - base) % depth;", "layer = (crossing - base) % depth % 2;")
WALL = Fault(
    "lbm.h",
    "up_mirror = ws_lbm_place(mirror), down_mirror = ws_lbm_place(opposite)",
    "up_mirror = ws_lbm_place(opposite), down_mirror = ws_lbm_place(mirror)",
)
PERIODIC = Fault("lbm.h", "y = wall ? -1 - y : y + ny;", "y = wall ? ny - 1 : y + ny;")
PLANTED = {
    "wrong-weight-jacobi": Planted(COLUMNS, POINT, "the sum of u"),
    "wrong-weight-jacobi-fixed": Planted(FIXED, POINT),
    "halo-short-jacobi": Planted(COLUMNS, HALO, "the sum of u"),
    "halo-short-jacobi-fixed": Planted(FIXED, HALO),
    "boundary-swapped-jacobi": Planted(COLUMNS, SIDE, "the sum of u"),
    "boundary-swapped-jacobi-fixed": Planted(FIXED, SIDE),
    "wrong-weight-lbm": Planted(WAVE, WEIGHT, "mass"),
    "wrong-weight-lbm-walls": Planted(HEAVY, WEIGHT, "mass"),
    "halo-short-lbm": Planted(WAVE, SHORT, "mass"),
    "halo-short-lbm-walls": Planted(HEAVY, SHORT, "mass"),
    "halo-short-lbm-columns": Planted(WAVE_COLUMNS, COLUMN, "mass"),
    "boundary-swapped-lbm": Planted(HEAVY, WALL, "mass"),
    "boundary-swapped-lbm-rows": Planted(HEAVY_ROWS, PERIODIC, "mass"),
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=list(PLANTED))
def test_a_planted_fault_is_seen(solvers: Solvers, planted: Planted) -> None:
    """Protects from a kernel that is wrong wherever it runs, the reference's included, at every size."""
    case = planted.case
    with solvers.ranks(planted.fault, case.program, case.ranks, **case.options) as job:
        assert not is_numpys(job)
        if planted.changes:
            text = violation(job)
            assert text and text.startswith(f"{planted.changes} changed by ")


@pytest.mark.parametrize(
    ("case", "fault", "says"),
    [
        (jacobi(1, "37x23"), POINT, "wrong data: the sum of u changed by "),
        (WAVE, WEIGHT, "wrong data: mass changed by "),
        (HEAVY, WEIGHT, "wrong data: mass changed by "),
    ],
    ids=["jacobi", "lbm", "lbm-walls"],
)
def test_a_run_refuses_a_solver_whose_reference_is_as_wrong(
    solvers: Solvers, case: Case, fault: Fault, says: str
) -> None:
    """Protects figures: every bit is the reference's, and the run still ends with wrong data."""
    for planted in (None, fault):
        with solvers.ranks(planted, case.program, 1, **case.options) as job:
            rank: Any = ThreadRank(job, 0, Meeting(1))
            context: Any = SimpleNamespace(comm=rank, shape=job.shape)
            check = FieldCheck(context, case.program.at(job.shape), rank, lambda: None)
            if not planted:
                assert check.checked_iteration(rank) == 1.0
                continue
            with pytest.raises(PayloadMismatch) as raised:
                check.checked_iteration(rank)
            assert str(raised.value).startswith(says)
