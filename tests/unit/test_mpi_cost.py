"""What MPI adds to UCX's own time: said where the MPI is known to have run over the same UCX."""

from __future__ import annotations

from typing import Any

import pytest
from support.records import entry, make_run, shown, step

from wirespeed.report.facts.contrasts import costs, difference, unknown_costs
from wirespeed.results.runs import Run

LIBRARY = "/opt/mpi/libmpi.so.40"


def measured(host: dict[str, Any], bare: dict[str, Any], *entries: dict[str, Any]) -> Run:
    mpi = {"vendor": "openmpi", "version": "5.0.11", "library": LIBRARY}
    figures = entries or (entry("host", 8, 2.5e-7, 0.004), entry("ucx-host", 8, 2e-7, 0.005))
    both = {"host": host, "ucx-host": bare}
    return make_run(*(step(path, **{"mpi": mpi, **more}) for path, more in both.items()), *figures)


OVER_UCX = {"details": {"abi": "openmpi", "pml": "ucx"}}
NETMOD = {"variables": {"MPIR_CVAR_CH4_NETMOD": "ucx"}}


@pytest.mark.parametrize("width", [60, 100, 140])
def test_the_difference_and_its_interval(width: int) -> None:
    """Protects the column: 250 ns less 200 ns, and half-widths of 1 ns each added as squares."""
    run = measured(OVER_UCX, {})
    ((cost,), none) = costs(run), unknown_costs(run)
    assert not none
    added = cost.added(run, 8)
    assert added and added.certain
    assert [added.seconds, added.half] == pytest.approx([5e-8, 2**0.5 * 1e-9])
    text = shown(run, width)
    assert "MPI adds" in text and "50 ns" in text and "±1 ns" in text
    assert "MPI adds: host - ucx-host, the same UCX without MPI" in " ".join(text.split())


def test_noise_is_no_cost() -> None:
    """Protects from reading noise as MPI's time, and from an interval that nobody measured."""
    noisy = entry("host", 8, 2.01e-7, 0.02), entry("ucx-host", 8, 2e-7, 0.02)
    run = measured(OVER_UCX, {}, *noisy)
    text = shown(run, 140)
    assert "1 ns≈" in text and "≈ no more than the 95 % interval" in text
    skewed = entry("host", 8, 3e-7)
    skewed["seconds"]["high"] = 1e-3
    skewed["precision"] = (1e-3 - skewed["seconds"]["low"]) / 2 / 3e-7
    text = shown(measured(OVER_UCX, {}, skewed, noisy[1]), 140)
    assert "100 ns≈" in text and "±1.00 ms" in text
    run = measured(OVER_UCX, {}, *(one | {"precision": None} for one in noisy))
    assert "1 ns?" in shown(run, 140)


@pytest.mark.parametrize(
    ("host", "bare", "why"),
    [
        ({"details": {"pml": "ob1"}}, {}, "Open MPI moved bytes by ob1, not UCX (OMPI_MCA_pml=ucx)"),
        ({}, {}, "the MPI (openmpi) does not say that it moved bytes by UCX"),
        (NETMOD, NETMOD, "does not say that it moved bytes by UCX"),
        (OVER_UCX, {"variables": {"UCX_TLS": "tcp"}}, "measured with different variables"),
        (OVER_UCX, {"mpi": {"vendor": "mpich", "version": "5", "library": "/x"}}, "different MPIs"),
    ],
)
def test_another_difference_is_not_called_so(host: dict[str, Any], bare: dict[str, Any], why: str) -> None:
    """Protects from blaming MPI for what another library, or another MPI, took."""
    run = measured(host, bare)
    assert not costs(run)
    text = " ".join(shown(run, 140).split())
    assert "host - ucx-host is not what MPI adds: " in text and why in text


def test_an_mpich_that_uses_ucx_alone() -> None:
    """Protects the variables that make MPICH take UCX within a host, too."""
    mpich = {"variables": {**NETMOD["variables"], "MPIR_CVAR_NOLOCAL": "1"}}
    run = measured(mpich, mpich)
    assert costs(run) and not unknown_costs(run)


def test_a_path_alone_has_no_cost() -> None:
    """Protects from a difference with nothing."""
    run = make_run(step("host", **OVER_UCX), entry("host", 8, 1e-6))
    assert not costs(run) and not unknown_costs(run)
    run = measured(OVER_UCX, {}, entry("host", 8, 1e-6), entry("ucx-host", 16, 1e-6))
    assert [cost.added(run, 8) for cost in costs(run)] == [None]


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.2e-8, "32 ns"), (-1e-7, "-100 ns"), (1.2e-6, "1.20 us"), (-1e-12, "0 ns")]
)
def test_differences_in_words(seconds: float, text: str) -> None:
    """Protects signs and units."""
    assert difference(seconds) == text
