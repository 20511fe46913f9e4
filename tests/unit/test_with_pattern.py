"""What a pattern that runs at the same time (--with) costs: the ratios under the table."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.records import as_read, end, entry, head

from wirespeed.cli.common.measuring import PlanResult, _print_comparison
from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan

LOAD = "stream:host:1M"


def run(name: str, background: str | None, *figures: tuple[int, float]) -> list[dict[str, Any]]:
    """A run, which went on with the one before unless it is 'a'; `figures`: launch and seconds."""
    begin = head(["host"])
    begin["plan"] |= {"background": background, "resume": name != "a"}
    entries = [entry("host", 8, seconds, launch=launch) for launch, seconds in figures]
    return [one | {"run": name} for one in (begin, *entries, end())]


def test_all_launches_count(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the ratios after --resume, which are of every launch and not of the last ones."""
    measured = PlanResult(Plan(background=LOAD), ExitCode.OK, "r.jsonl")
    for name, background, seconds in (("a", None, 1e-6), ("b", LOAD, 2e-6)):
        measured.records += as_read(run(name, background, (1, seconds), (2, seconds)))
    for name, background in (("c", None), ("d", LOAD)):
        measured.records += as_read(run(name, background, (3, 9e-6)))
    _print_comparison(measured)
    assert re.search(r"8 B +2.00x", capsys.readouterr().out)
