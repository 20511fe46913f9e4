"""What a report says of wires: verdicts, denied declarations, copies per iteration, impossible figures."""

from __future__ import annotations

import pytest
from support.golden import Golden
from support.records import entry, make_run, shown

from wirespeed.limits import Ceiling
from wirespeed.report.facts.wire_verdicts import beyond
from wirespeed.results.runs import Run

KINDS = ("network", "memory", "nvlink", "pcie")
LAST = [(wire, stated, 1 << 28) for wire in KINDS for stated in (False, True)]
FIRST = [("network", False, 1 << 16), ("network", True, 1 << 16), ("loopback", True, 1 << 16)]


def test_a_reason_fits_the_wire(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a bug's text for what a network's shaper did."""
    told = {}
    for wire, stated, fast in (*LAST, *FIRST):
        limit = Ceiling(1e9, "made", "made", wire, stated)
        monkeypatch.setattr(Run, "ceiling", lambda self, path, limit=limit: limit)
        # By more than 2 % no known link can be surpassed: tests/unit/test_contradictions.py.
        above = 2e9 if stated or wire == "network" else 1.015e9
        sizes = (1 << 16, 1 << 28)
        figures = [entry("host", size, size / (above if size == fast else 0.9e9)) for size in sizes]
        told[f"{wire}{', stated' if stated else ''}: {fast} B"] = "\n".join(beyond(make_run(*figures)))
    golden("report/beyond", told)


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
