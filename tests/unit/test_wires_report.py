"""What a report says of wires: verdicts, denied declarations, copies per iteration, impossible figures."""

from __future__ import annotations

import pytest
from support.records import entry, make_run, shown

from wirespeed.limits import Ceiling
from wirespeed.report.facts.wire_verdicts import beyond
from wirespeed.results.runs import Run

BURST = "a shaper or a buffer lets bursts pass faster than the rate of the link"
TOO_LOW = "the rate given with --link is too low"
WRONG = (
    "the figure or the known rate of the links is a little wrong: a bug in wirespeed, please report it "
    "(--link NAME=RATE supplies the right rate)"
)


@pytest.mark.parametrize(
    ("wire", "stated", "fast", "reason"),
    [
        ("network", False, 1 << 16, BURST),
        ("network", True, 1 << 16, BURST),
        ("network", False, 1 << 28, f"{BURST}, or the driver states less than the real rate"),
        ("network", True, 1 << 28, f"{BURST}, or {TOO_LOW}"),
        ("memory", True, 1 << 28, TOO_LOW),
        ("loopback", True, 1 << 16, TOO_LOW),
        ("nvlink", True, 1 << 16, TOO_LOW),
        ("nvlink", False, 1 << 16, WRONG),
        ("pcie", False, 1 << 28, WRONG),
        ("pcie", True, 1 << 28, TOO_LOW),
    ],
)
def test_a_reason_fits_the_wire(
    monkeypatch: pytest.MonkeyPatch, wire: str, stated: bool, fast: int, reason: str
) -> None:
    """Protects from a bug's text for what a network's shaper did."""
    limit = Ceiling(1e9, "made", "made", wire, stated)
    monkeypatch.setattr(Run, "ceiling", lambda self, path: limit)
    # By more than 2 % no known link can be surpassed: tests/unit/test_contradictions.py.
    above = 2e9 if stated or wire == "network" else 1.015e9
    figures = [entry("host", size, size / (above if size == fast else 0.9e9)) for size in (1 << 16, 1 << 28)]
    (line,) = beyond(make_run(*figures))
    assert line.split(" % of the limit: ")[1] == reason


def test_a_table_of_many_paths_has_the_share_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the percent in the compact table: of bandwidths only, a dash where no limit is known."""
    limits = {"aware": Ceiling(450e9, "made", "made")}
    monkeypatch.setattr(Run, "ceiling", lambda self, path: limits.get(path))
    paths = ("aware", "nccl", "ipc-write", "ipc-read", "gpu", "shmem")
    sizes = (8, 1 << 20, 1 << 24, 1 << 26, 1 << 28, 1 << 29, 1 << 30)
    figures = [entry(path, size, 1e-6 + size / 360e9) for path in paths for size in sizes]
    text = shown(make_run(*figures), 120)
    block = text.split("% of limit")[1].splitlines()
    rows = [line.split() for line in block[1:7]]
    assert rows[0][:2] == ["1", "MiB"] and rows[-1][2] == "80"
    assert all(row[3:] == ["-"] * 5 for row in rows), rows
