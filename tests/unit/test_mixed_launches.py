"""Columns of a table that are of several launches: after --resume, or after a hang."""

from __future__ import annotations

from support.records import as_read, end, entry, head, make_run, shown, step

from wirespeed.report.facts.spoiled import mixed
from wirespeed.results.runs import collect, joined


def test_a_resumed_run_says_which_sizes_belong_together() -> None:
    """Protects from reading a step in a curve as the path's: other processes measured the rest."""
    first = [head(), step("host"), *(entry("host", size, 1e-6) for size in (8, 64))]
    later = [head(), step("host"), *(entry("host", size, 2e-6) for size in (512, 4096)), end()]
    run = joined(collect(as_read([*first, *({**one, "run": "later"} for one in later)])))
    (line,) = mixed(run).values()
    assert line.startswith("host: one column, 2 launches (--resume): 8 B to 64 B, then 512 B to 4 KiB; ")
    assert "one column, 2 launches" in " ".join(shown(run).split())


def test_sizes_after_a_fault() -> None:
    """Protects the same where the ranks of one run were started anew."""
    run = make_run(step("host"), entry("host", 8, 1e-6), entry("host", 512, 1e-6, step=1))
    assert [*mixed(run).values()] == [
        "host: one column, 2 launches (the ranks were started anew after a fault): 8 B, then 512 B; launches "
        "differ, which no interval here includes: compare sizes of one launch"
    ]


def test_a_run_that_was_resumed_after_a_fault() -> None:
    """Protects from --resume as the reason of all splits: the first one was a killed rank's."""
    first = [head(), step("host"), entry("host", 8, 1e-6), entry("host", 512, 1e-6, step=1)]
    later = [head(), step("host"), entry("host", 4096, 2e-6), end()]
    run = joined(collect(as_read([*first, *({**one, "run": "later"} for one in later)])))
    assert mixed(run)["host"].startswith(
        "host: one column, 3 launches (the ranks were started anew after a fault, and --resume): "
        "8 B, then 512 B, then 4 KiB; "
    )


def test_launches_that_were_asked_for_are_no_mixture() -> None:
    """Protects from an alarm: each launch has all sizes, and a path of its own its own processes."""
    each = [
        entry(path, size, 1e-6, launch=launch, step=2 * launch + (path == "staged"))
        for launch in (1, 2, 3)
        for path in ("host", "staged")
        for size in (8, 64)
    ]
    assert not mixed(make_run(*each))
