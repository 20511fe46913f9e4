"""Sums over a field, and what they say of the steps between."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.simulated import ranks_of

from wirespeed.host.core import core
from wirespeed.patterns import Place
from wirespeed.programs import Scratch
from wirespeed.programs.conserved import ROUNDING, Conservation, ConservedSum
from wirespeed.programs.jacobi import PATTERN

MASS, FLOW = ConservedSum("mass", (1.0, 1.0)), ConservedSum("flow", (1.0, -1.0))


@pytest.mark.parametrize(("kind", "memory"), [("host", "pageable"), ("emulated", "device")])
@pytest.mark.parametrize(("width", "rows", "planes"), [(1, 1, 1), (256, 3, 2), (700, 5, 3), (3, 1500, 1)])
@pytest.mark.parametrize("real", [4, 8])
def test_sums_are_exact_but_for_rounding(
    kind: str, memory: str, width: int, rows: int, planes: int, real: int
) -> None:
    """Protects the bound, and every number's part in the sums; what lies between rows has none."""
    pitch, opened = width + 5, core()
    values = np.full((planes, rows, pitch), np.nan, f"f{real}")
    values[:, :, :width] = 1 + np.random.default_rng(1).random((planes, rows, width))
    names = tuple(ConservedSum(str(plane), (1.0,) * planes) for plane in range(planes))
    law = Conservation(names, Place(0), real, width, rows, pitch, 0.0, rows * pitch)
    device = opened.open_device(kind, 0)
    with ranks_of(opened, device, memory, PATTERN, 1, size="512x512") as job:
        job.write(0, Place(0), values.tobytes())
        job.launch(0, [law.work(Scratch(0))])
        parts = np.frombuffer(job.read(0, Scratch(0), 8 * planes * law.blocks))
    opened.lib.ws_device_close(device)
    exact = [math.fsum(map(float, plane[:, :width].ravel())) for plane in values]
    assert law.plane_sums(parts.tolist()) == pytest.approx(exact, rel=272 * ROUNDING, abs=0)


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ((3.0, 1.0), None),
        ((2.0, 2.0), "flow changed by -2 of 4; rounding changes it by 0.04 at most"),
        ((3.03, 1.0), None),
        ((3.05, 1.0), "mass changed by 0.05 of 4; rounding changes it by 0.04 at most"),
        ((math.nan, 1.0), "mass changed by nan"),
        ((math.inf, -math.inf), "mass changed by nan"),
    ],
)
def test_only_rounding_may_change_a_quantity(after: tuple[float, float], says: str | None) -> None:
    """Protects figures from fields that lost something or are no numbers, and right fields from refusal."""
    law = Conservation((MASS, FLOW), Place(0), 8, 4, 4, 4, 0.01)
    found = law.violation((3.0, 1.0), after)
    assert found is None if says is None else found and found.startswith(says)
