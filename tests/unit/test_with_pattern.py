"""What a pattern that runs at the same time (--with) costs: the ratios under the table."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from support.records import as_read, end, entry, head

from wirespeed.cli.common.measuring import PlanResult, _print_comparison
from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan
from wirespeed.report.export.formats import FORMATS
from wirespeed.results.runs import collect, resumed

LOAD = "stream:host:1M"


def run(name: str, background: str | None, *figures: tuple[int, float]) -> list[dict[str, Any]]:
    """A run, which went on with the one before unless it is 'a'; `figures`: launch and seconds."""
    begin = head(["host"])
    begin["plan"] |= {"background": background, "resume": name != "a"}
    entries = [entry("host", 8, seconds, launch=launch) for launch, seconds in figures]
    return [one | {"run": name} for one in (begin, *entries, end())]


def test_each_is_held_against_the_same_alone() -> None:
    """Protects the ratios of a second --with in one file from being those to the first."""
    records = [*run("a", None, (1, 1e-6)), *run("b", LOAD, (1, 4e-6)), *run("c", "ring:host:1M", (1, 2e-6))]
    stream = io.StringIO()
    FORMATS["table"](resumed(collect(as_read(records))), stream, None)
    found = re.findall(r"while (\w+)\S* is running:.*\n.*\n.*\n.* ([0-9.]+)x", stream.getvalue())
    assert found == [("stream", "4"), ("ring", "2")]


def test_all_launches_count(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the ratios after --resume, which are of every launch and not of the last ones."""
    measured = PlanResult(Plan(background=LOAD), ExitCode.OK, "r.jsonl")
    for name, background, seconds in (("a", None, 1e-6), ("b", LOAD, 2e-6)):
        measured.records += as_read(run(name, background, (1, seconds), (2, seconds)))
    for name, background in (("c", None), ("d", LOAD)):
        measured.records += as_read(run(name, background, (3, 9e-6)))
    _print_comparison(measured)
    assert re.search(r"8 B +2x", capsys.readouterr().out)


@pytest.mark.parametrize(("slowest", "shown"), [(3e-6, "1x≈"), (1.1e-6, "1.9x\n")])
def test_two_launches_have_a_range_alone(slowest: float, shown: str) -> None:
    """Protects from a ratio that looks certain because there is no interval that could say otherwise."""
    alone, crowded = run("a", None, (1, 1e-6), (2, slowest)), run("b", LOAD, (1, 2e-6), (2, 2e-6))
    stream = io.StringIO()
    FORMATS["table"](resumed(collect(as_read([*alone, *crowded]))), stream, None)
    assert shown in stream.getvalue()
