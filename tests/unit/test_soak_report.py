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
from wirespeed.report.check.evaluate import FAILED, KEPT, MISSING, check
from wirespeed.report.check.requirements import read_requirements
from wirespeed.report.facts import soaks
from wirespeed.report.page.answers import answers
from wirespeed.report.sources import ReportRun
from wirespeed.results.model import Head
from wirespeed.results.runs import Run, collect

FIRST = {
    "rank": 1,
    "sender": 0,
    "kind": "stale",
    "iteration": 19,
    "offset": 4096,
    "lag": 2,
    "expected": "0x13",
    "found": "0x12",
}


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


def test_the_last_record_of_a_size_counts() -> None:
    """Protects counts from being added twice: each record has all that the size had until then."""
    made = run({"messages": 10, "complete": False}, {"messages": 50_000})
    assert [one.messages for one in soaks.soaks(made)] == [50_000]
    assert soaks.verdict(made) == (
        "data check: passed (50,000 messages, every byte on its way by its receiver)",
        True,
    )
    assert soaks.notes(made) == []


def test_wrong_messages_are_named() -> None:
    """Protects the reader from a verdict without the kinds and the place of the first one."""
    made = run({"wrong": {"late": 1, "stale": 3}, "first": FIRST})
    (one,) = soaks.soaks(made)
    assert soaks.wrong_words(one) == "1 late, 3 stale"
    where = "rank 1 from rank 0, iteration 19, byte 4,096"
    assert soaks.first_words(one) == f"{where}: stale by 2 iterations, 0x12 instead of 0x13"
    assert soaks.verdict(made) == ("data check: failed, 4 of 60,000 messages are wrong: host", False)


def test_what_a_soak_leaves_open_is_said() -> None:
    """Protects from a clean verdict on few messages, on slow ones, and on a soak that was ended early."""
    made = run(
        {"bytes": 8, "timed_messages_per_s": 2000.0},
        {"bytes": 64, "messages": 6000, "messages_per_s": 100.0, "timed_messages_per_s": 110.0},
        {"bytes": 512, "complete": False, "elapsed_s": 12.0},
    )
    slow, few, ended = soaks.notes(made)
    assert slow == "host at 8 B: its checks held messages back, to 50 % of the timed rate"
    # 3 x 10,000 messages at 100 a second.
    assert few.endswith("is found with 95 % probability by --soak 300s")
    assert ended == "host at 512 B: ended after 12 s of 60 s"


@pytest.mark.parametrize(
    ("found", "what"),
    [
        ([{"messages": 30_000}], KEPT),
        ([{"messages": 29_999}], FAILED),
        ([{"messages": 90_000}, {"bytes": 64, "messages": 10}], FAILED),
        ([{"messages": 90_000, "wrong": {"lost": 1}}], FAILED),
        ([{"path": "gpu"}], MISSING),
    ],
)
def test_a_rule_can_require_it(found: list[dict[str, Any]], what: str, tmp_path: Path) -> None:
    """Protects an acceptance test: enough messages at each size, none wrong, and nothing is not enough."""
    file = tmp_path / "site.toml"
    file.write_text('[[require]]\npath = "host"\nsoak = 30_000\n')
    (finding,) = check(read_requirements(str(file)), [run(*found)])
    assert (finding.what, finding.requirement.line) == (what, 3)


def test_a_soak_that_lost_sizes_keeps_no_rule(tmp_path: Path) -> None:
    """Protects from "none wrong" about sizes at which the path crashed before it had a message."""
    file = tmp_path / "site.toml"
    file.write_text('[[require]]\npath = "host"\nsoak = 30_000\n')
    made = run({"messages": 90_000}, lacking=(65536, 1 << 20))
    (finding,) = check(read_requirements(str(file)), [made])
    assert finding.what == MISSING and "no soak at 64 KiB, 1 MiB" in finding.text
    text, right = soaks.verdict(made) or ("", False)
    assert right and text.endswith("; no soak of host at 64 KiB, 1 MiB")


@pytest.mark.parametrize("value", ["0", "-1", "true", '"30K"'])
def test_a_rule_that_requires_nothing_is_refused(value: str, tmp_path: Path) -> None:
    """Protects from a rule that any soak would keep."""
    file = tmp_path / "site.toml"
    file.write_text(f'[[require]]\npath = "host"\nsoak = {value}\n')
    with pytest.raises(WirespeedError, match=r"line 3: soak = .*as in soak = 30_000"):
        read_requirements(str(file))


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
