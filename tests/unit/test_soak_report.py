"""What is said of a soak: its words, its table, and the rule that requires one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.records import as_read

from wirespeed.errors import WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.job.soaking import refuse
from wirespeed.patterns import Shape
from wirespeed.report.page.answers import answers
from wirespeed.report.sources import ReportRun
from wirespeed.results.model import Head
from wirespeed.results.runs import Run, collect


def run(*found: dict[str, Any], lacking: tuple[int, ...] = ()) -> Run:
    """A run of `pingpong --soak 60` over host. `lacking`: sizes that came to no soak."""
    name = "0123456789ab"
    common = {
        "kind": "soak",
        "run": name,
        "pattern": "pingpong",
        "path": "host",
        "bytes": 8,
        "complete": True,
        "asked_s": 60.0,
        "elapsed_s": 60.0,
        "messages": 60_000,
        "messages_per_s": 1000.0,
        "timed_messages_per_s": 1100.0,
    }
    sizes = tuple(dict.fromkeys(each.get("bytes", 8) for each in found))
    head = Head(run=name, plan=Plan(pattern="pingpong", soak=60.0, sizes=sizes + lacking))
    return collect([head, *as_read([common | each for each in found])])[0]


@pytest.mark.parametrize("pattern", ["ring", "copy", "rma", "allreduce", "jacobi"])
def test_what_changes_on_its_way_has_none(pattern: str) -> None:
    """Protects the meaning of a soak."""
    with pytest.raises(WirespeedError, match="--soak checks messages that arrive as they were sent"):
        refuse(Plan(pattern=pattern, soak=1.0), Shape(2))


def test_collectives_that_move_bytes_have_one() -> None:
    """Protects operations without sums, and from algorithms that forward what arrives."""
    options = (("algorithm", "direct"),)
    for name in ("broadcast", "allgather", "alltoall"):
        refuse(Plan(pattern=name, soak=1.0, options=options), Shape(2))
        for plan in (
            Plan(pattern=name, soak=1.0, options=(("algorithm", "library,best"),)),
            Plan(pattern=name, soak=1.0, options=options, paths=("host:ring",)),
        ):
            with pytest.raises(WirespeedError, match="take --algorithm direct"):
                refuse(plan, Shape(2))
    with pytest.raises(WirespeedError, match="barrier moves no bytes"):
        refuse(Plan(pattern="barrier", soak=1.0), Shape(2))


@pytest.mark.parametrize("wrong", [0, 3])
def test_a_page_of_soaks_says_what_they_found(tmp_path: Path, wrong: int) -> None:
    """Protects from "No message was measured" above 50,000 messages that were checked."""
    made = run({"messages": 50_000, "wrong": {"lost": wrong}})
    one = ReportRun(0, "a.jsonl", made, "a", "pingpong")
    (found,) = answers([one], [])
    said = "3 of 50,000 messages are wrong" if wrong else "50,000 messages, none is wrong"
    assert found.sentences[0].text == f"A soak checked messages of host: {said}."
    assert found.tiles[0].value == "50,000" and found.tiles[0].level == ("bad" if wrong else "good")
