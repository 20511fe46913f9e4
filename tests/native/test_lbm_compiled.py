"""What a compiler for GPUs makes of the lattice Boltzmann step; no GPU is needed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.nvrtc import Compiled, compiled

from wirespeed.host.core import core
from wirespeed.programs import lbm_math


@pytest.fixture(scope="module")
def step(nvrtc: Path) -> Compiled:
    source = core().text(core().lib.ws_kernel_source(b"ws_lbm_step"))
    return compiled(nvrtc, source, "--gpu-architecture=sm_90", "--fmad=false", "--ptxas-options=-v")


def test_populations_stay_in_registers(step: Compiled) -> None:
    """Protects the rate on GPUs: populations in slow memory, or fewer threads at a time, would halve it."""
    facts = re.search(r"properties for ws_lbm_step\n(.*)\n.*Used (\d+) registers", step.log)
    assert facts, step.log
    assert "0 bytes spill stores, 0 bytes spill loads" in facts[1]
    assert int(facts[2]) <= 168


def test_operations_are_as_stated(step: Compiled) -> None:
    """Protects GFLOP/s: the stated operations are those that are compiled, in the text's two copies."""
    text = step.assembly[step.assembly.index(".entry ws_lbm_step(") :].split(".entry")[1]
    found = re.findall(r"\b(fma|add|sub|mul|div|rcp)\.\S*f64\s", text)
    count = sum(2 if each == "fma" else 1 for each in found) / 2
    assert count == pytest.approx(lbm_math.OPERATIONS_PER_SITE, rel=0.02)
