"""What a report says of many ranks: the slowest team, the matrix, the limit, a placement that misleads."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from support.records import as_read, entry, make_run, step

from wirespeed import load
from wirespeed.cli.main import main
from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts import slowest_teams
from wirespeed.report.page import read_sources
from wirespeed.report.page.notes import machine_names
from wirespeed.results.runs import Run, collect

RESULTS = Path(__file__).parents[2] / "results"


def test_every_export_tells_configurations_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects a spreadsheet from rows that differ in ranks and groups alone."""
    file = str(next(RESULTS.glob("h200-x4-groups.jsonl*")))
    assert main(["show", file, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(row["ranks"], row["group"]) for row in rows} == {("2", "1"), ("4", "1"), ("4", "2")}
    keys = [tuple(row[name] for name in ("pattern", "path", "bytes", "ranks", "group")) for row in rows]
    assert len(set(keys)) == len(rows)
    for row in rows:
        assert float(row["both_ways_Bps"]) == pytest.approx(2 * float(row["bandwidth_Bps"]))
    table = load(file).table()
    assert table["group"].tolist() == [int(row["group"]) for row in rows]
    assert main(["show", file, "--format", "reframe"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert "both_ways_GBps=1339.95296 mark=~ trusted=no options=group=2,ranks=4" in last
    assert main(["show", file, "--format", "prometheus"]) == 0
    last = [line for line in capsys.readouterr().out.splitlines() if "wirespeed_further{" in line][-1]
    assert 'options="group=2,ranks=4",trusted="no",figure="both ways",unit="GB/s"} 1339.95' in last


@pytest.mark.parametrize("width", ["80", "100"])
def test_the_limits_table_keeps_ranks_and_groups(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects three rows "groups aware" of different figures; the address of the source goes first."""
    monkeypatch.setenv("COLUMNS", width)
    files = [str(next(RESULTS.glob(f"{name}.jsonl*"))) for name in ("h200-x4-groups", "h200-x2-stream-both")]
    assert main(["systems", *files]) == 0
    here = capsys.readouterr().out.split("Measured here")[1]
    rows = [line.split() for line in here.splitlines() if "groups aware " in line]
    assert [(row[6], row[7]) for row in rows] == [("2", "1"), ("4", "1"), ("4", "2")]
    assert "stream both ways aware" in here


def test_markdown_has_the_matrix() -> None:
    """Protects a wiki's copy of the report: every pair of ranks, with its unit, at every size."""
    text = markdown(*read_sources([str(RESULTS / "h200-x4-pairs.jsonl")]))
    block = text.split("gpu, 64 MiB: GB/s one way; all 6 within 2 % of the median:\n\n")[1].split("\n\n")[0]
    assert block.splitlines() == [
        "| rank | 0 | 1 | 2 | 3 |",
        "| ---: | ---: | ---: | ---: | ---: |",
        "| 0 | . | 364 | 365 | 364 |",
        "| 1 | 364 | . | 365 | 364 |",
        "| 2 | 365 | 365 | . | 364 |",
        "| 3 | 364 | 364 | 364 | . |",
    ]
    assert text.count("| rank | 0 | 1 | 2 | 3 |") == 6


def test_machines_that_call_themselves_alike_are_told_apart() -> None:
    """Protects a report of several machines from saying one: virtual machines often have the same name."""

    def on(host: str, model: str, *gpus: str) -> Run:
        devices = [
            {"kind": "cuda", "index": n, "name": "NVIDIA H200", "id": gpu} for n, gpu in enumerate(gpus)
        ]
        environment = {"host": host, "cpu": {"model": model}, "devices": devices}
        return collect(as_read([{"kind": "run", "run": "r", "environment": environment}]))[0]

    runs = [on("vm", "a", "1", "2"), on("vm", "a", "3", "4"), on("vm", "a"), on("vm", "b"), on("n1", "a")]
    assert machine_names(runs) == ["vm (1)", "vm (2)", "vm (1)", "vm (3)", "n1"]
    # A run may see some of the GPUs only, or none.
    assert machine_names([runs[0], runs[2], on("vm", "a", "2"), on("vm", "")]) == ["vm"] * 4


def test_a_slow_group_keeps_the_mark_of_its_figure() -> None:
    """Protects a group that waited for CPUs from standing as slow without a word."""
    teams = [
        {
            "name": f"group {n}",
            "first": n,
            "ranks": 1,
            "seconds": dict.fromkeys(("median", "low", "high", "min"), s),
        }
        for n, s in enumerate((1e-3, 1.5e-3))
    ]
    ranks = [{"rank": n, "host": "n1"} for n in range(2)]
    waited: dict[str, Any] = {"cores": {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}}
    for more, figure in (({}, "group 1: 1.50 ms"), (waited, "group 1: &1.50 ms")):
        slow = entry("aware", 1 << 20, 1.5e-3, teams=teams, **more) | {"pattern": "groups"}
        ((_, _, words),) = slowest_teams.lines(make_run(step("aware", ranks=ranks), slow))
        assert figure in words
