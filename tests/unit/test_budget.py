"""Words about a budget that a run cannot keep, before it begins."""

from __future__ import annotations

import pytest

from wirespeed.frontend import budget
from wirespeed.frontend.starter import PathLaunch
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.units import parse_sizes


def launches(sizes: str, *paths: str) -> list[PathLaunch]:
    return [PathLaunch(find_path(path), 1, parse_sizes(sizes)) for path in paths]


@pytest.mark.parametrize(
    ("seconds", "sizes", "text"),
    [
        # 14.9 s on two idle CPUs.
        (10.0, "1:1G", "a budget of 10 s: this takes about 13 s, however coarse"),
        (60.0, "1:1G", None),
        (10.0, "1:64M", None),
        (0.0, "1:1G", None),
        (0.5, "8", "a budget of 0.5 s: this takes about 5 s"),
    ],
)
def test_what_a_budget_cannot_hold_is_said(seconds: float, sizes: str, text: str | None) -> None:
    said = budget.too_small(Plan(budget=seconds), launches(sizes, "host"))
    assert said is None if text is None else said and said.startswith(text)


def test_the_default_budget_is_kept_by_the_default_paths() -> None:
    """Protects from a line that is not true: these nine took 41 to 50 s on two H200s."""
    moved = ("host", "staged", "staged-pipelined", "aware", "aware-nogdr")
    names = (*moved, "nccl", "nccl-stream", "ipc-write", "gpu")
    assert budget.too_small(Plan(budget=60.0), launches("1:1G", *names)) is None


def test_what_gpus_move_takes_no_time_by_its_bytes() -> None:
    ipc, host = (budget.least_seconds(Plan(), launches("1G", path)) for path in ("ipc-write", "host"))
    assert host > ipc + 2
