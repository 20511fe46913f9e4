"""Errors that links corrected by themselves: told to readers who ask, and never a mark or an alarm."""

from __future__ import annotations

from typing import Any

from support.records import console, entry, make_run, shown, text_of

from wirespeed.report.check.health import judge
from wirespeed.report.check.learn import learn
from wirespeed.report.drift.detection import Drift
from wirespeed.report.drift.terminal import print_summary, summaries
from wirespeed.report.export.prometheus import to_prometheus
from wirespeed.report.facts import health as facts
from wirespeed.results.runs import Run


def lanes(count: int, place: str = "GPU 0 link 3", what: str = "NVLink ECC errors") -> dict[str, Any]:
    return {"host": "n1", "place": place, "what": what, "count": count}


def measured(*launches: list[dict[str, Any]]) -> Run:
    """A figure, and what links corrected around each launch of its path, in 2 s."""
    known = {"seconds": 2.0, "counted": ["NVLink replay errors"], "watched": ["n1 GPU 0"]}
    records = [{"kind": "health", "run": "r", "path": "gpu", "corrected": one, **known} for one in launches]
    return make_run(entry("gpu", 8, 1e-6, 0.002), *records)


def test_the_worst_link_has_a_line() -> None:
    """Protects from a bad cable that nobody sees: its link corrects more than its neighbours."""
    run = measured([lanes(6, what="NVLink CRC errors of data"), lanes(14), lanes(5, "GPU 1 link 0")])
    line = (
        "gpu: links corrected 25 errors by themselves; per second at most 10.0 on GPU 0 link 3, "
        "6.25 on average of 2 links"
    )
    assert facts.corrected(run) == [line]
    assert "gpu: links corrected 25 errors" in shown(run, explain=True)
    assert facts.corrected(measured([])) == []


def test_launches_are_added_up() -> None:
    (line,) = facts.corrected(measured([lanes(12)], [lanes(3)]))
    assert line.endswith("corrected 15 errors by themselves; per second at most 3.75 on GPU 0 link 3")


def test_a_healthy_run_looks_as_ever() -> None:
    """Protects marks and notes, which nobody heeds if every healthy GPU has them."""
    assert shown(measured([lanes(2000)])) == shown(measured([]))


def test_no_rule_is_broken() -> None:
    run = measured([lanes(2000)])
    assert judge("new_errors", 0, run, "gpu") == (True, "no new errors (NVLink replay errors)")
    assert "new_errors = 0" in learn([run], ["r.jsonl"], 0.01).text
    errors = [line for line in to_prometheus([run]).splitlines() if line.startswith("wirespeed_new_errors")]
    assert [line.rsplit(" ", 1)[1] for line in errors] == ["0"]


def test_watching_does_not_count_them() -> None:
    drift = Drift(2)
    drift.add(measured([lanes(2000)]))
    screen = console(100)
    print_summary(screen, drift)
    assert [one.errors for one in summaries(drift)] == [0] and not drift.harmed
    assert "NVLink" not in text_of(screen)
