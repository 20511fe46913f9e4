"""The two lines that a reader sees first, and the rows of a long sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.impossible import FALSE
from support.records import SIZES, as_read, end, entry, failure, full_run, head, make_run, shown, step

from wirespeed.cli.common.reading import read_runs
from wirespeed.report.facts.shown_sizes import MOST, shown_sizes
from wirespeed.report.facts.trust import headline, trust
from wirespeed.results.runs import collect, joined

RESULTS = Path(__file__).parents[2] / "results"
CHECKED: dict[str, Any] = {"checked": {"iterations": 3, "bytes": 24}}
WAITED: dict[str, Any] = {"cores": {"waited": 0.4, "rank": 0, "preempted": 9, "shared": None}}


def test_best_figures_of_each_memory() -> None:
    """Protects the answer to "how fast is it": the least time and the highest rate, with their paths."""
    run = make_run(
        *(entry("host", 8, 3e-7), entry("host", 1 << 20, 1e-4)),
        *(
            entry("gpu", 8, 9e-7),
            entry("aware", 8, 2e-6),
            entry("gpu", 1 << 20, 9e-6),
            entry("aware", 1 << 20, 8e-6),
        ),
    )
    assert headline(run) == (
        "GPU data: one way 0.90 us at 8 B by gpu, 131 GB/s at 1 MiB by aware; "
        "CPU data: one way 0.30 us at 8 B by host, 10.5 GB/s at 1 MiB by host"
    )


def test_a_figure_in_doubt_is_not_the_best() -> None:
    """Protects from the luckiest figure: one that is uncertain, or cannot be true, is not told."""
    assert headline(make_run(entry("host", 8, 1e-6), entry("host", 16, 1e-9, 1.5))).startswith(
        "one way 1.00 us"
    )
    assert headline(make_run()) == ""


def test_a_doubtful_figure_keeps_its_mark() -> None:
    """Protects the first line from a figure that looks surer than in the table."""
    assert headline(make_run(entry("host", 8, 1e-6, **WAITED))).startswith("one way &1.00 us")


def test_a_figure_of_a_busy_machine_is_not_the_best() -> None:
    """Protects "best" from what other processes made, and from the lower of two speeds."""
    busy, wide = entry("host", 8, 8e-8, **WAITED), entry("host", 16, 5e-7, 0.9, stopped="max-time")
    sound = entry("host", 32, 6e-7, stopped="max-time")
    assert headline(make_run(busy, wide, sound)).startswith("one way ~0.60 us at 32 B by host")
    few = {**entry("host", 64, 1e-7), "precision": None}
    assert headline(make_run(few, sound)).startswith("one way ~0.60 us")
    fast = entry("host", 1 << 20, 1e-5, **WAITED)
    assert "105 GB/s" not in headline(make_run(fast, entry("host", 1 << 21, 1e-3)))


def test_sound_figures_are_trusted() -> None:
    assert trust(make_run(entry("host", 8, 1e-6, **CHECKED))) == (
        True,
        "yes, 1 figure, all data compared, no interval wider than ±0.4 %",
    )


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([failure("host", 16, "mismatch", "byte 3")], "wrong bytes arrived (host)"),
        ([entry("host", 16, 1e-6, checked={})], "data were compared"),
        ([entry("host", 16, 1e-6, **WAITED)], "1 of 2 figures is &: measure again when nothing else runs"),
        ([entry("host", 16, 1e-6, 0.2)], "1 of 2 figures is not within ±10 %: more --max-time"),
        ([entry("host", 16, 1e-6, **CHECKED, **FALSE)], "1 of 2 figures is impossible"),
        (
            [failure("aware", None, "crash", "signal 11"), failure("gpu", 8, "crash", "signal 11")],
            "aware, gpu: crashed: read the lines in red below",
        ),
        ([failure("aware", 16, "hang", "MPI_Recv")], "aware: hung: read the line in red below"),
        ([failure("aware", 16, "death", "killed")], "aware: a rank died: read the line in red"),
        (
            [entry("host", 16, 1e-6, **CHECKED, iterations_per_sample=1, start={"skew_s": 6e-8})],
            "1 of 2 figures is partly how late ranks start: compare larger sizes",
        ),
        (
            [step("host"), entry("host", 16, 1e-6, **CHECKED, step=1)],
            "host: one column, several launches: compare sizes of one launch",
        ),
        (
            [step("gpu", ranks=[{"rank": rank, "host": "n1", "device": {"id": "a"}} for rank in range(2)])],
            "ranks share GPUs: no figure is that of a whole one; give each rank its own",
        ),
        (
            [{"kind": "health", "run": "r", "step": 0, "path": "host", "notes": ["n1 GPU 0: rows"]}],
            "a GPU's memory is not well",
        ),
    ],
)
def test_each_doubt_is_told_with_what_to_do(records: list[dict[str, Any]], words: str) -> None:
    """Protects from "yes" beside a figure that is wrong, contended, wide or impossible."""
    good, text = trust(make_run(entry("host", 8, 1e-6, **CHECKED), *records))
    assert not good and words in text


def test_a_run_that_did_not_end() -> None:
    """Protects from "yes" for a table of which the rest is missing."""
    records = [head(), entry("host", 8, 1e-6), end() | {"status": "interrupted"}]
    assert "--resume" in trust(joined(collect(as_read(records))))[1]


def test_a_long_sweep_shows_powers_of_four_and_what_changes() -> None:
    """Protects a screen of 45 lines, and in it every size at which another answer holds."""
    run = full_run(["host", "staged"])
    few = shown_sizes(run)
    assert len(run.sizes) == len(SIZES) == 31 and len(few) == MOST
    assert few[:3] == [1, 4, 16] and few[-1] == 1 << 30
    run = make_run(
        *(entry("aware", size, 1e-6) for size in SIZES),
        *(entry("gpu", size, 2e-6 if size < 1 << 13 else 5e-7) for size in SIZES if size != 2),
        failure("gpu", 2, "mismatch", "byte 1"),
    )
    assert {2, 1 << 13} < set(shown_sizes(run))
    odd = make_run(*(entry("host", 3 * size, 1e-6) for size in SIZES))
    assert shown_sizes(odd) == odd.sizes


def test_nine_paths_fit_a_screen() -> None:
    """Protects the first screen of a default run; every size is there for who asks."""
    (run,) = read_runs(str(RESULTS / "default" / "h200-x2-nine-paths.jsonl"))
    short, whole = shown(run, 150, all_sizes=False), shown(run, 150)
    assert len(short.splitlines()) <= 45 < len(whole.splitlines())
    assert "16 of 31 sizes (--all-sizes)" in " ".join(short.split()) and "all-sizes" not in whole
    assert sum("128 KiB" in line for line in whole.splitlines()) > sum(
        "128 KiB" in line for line in short.splitlines()
    )
