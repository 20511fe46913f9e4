"""The two lines that a reader sees first, and the rows of a long sweep."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.impossible import FALSE
from support.measured import name_of, result
from support.records import (
    SIZES,
    as_read,
    console,
    end,
    entry,
    failure,
    full_run,
    head,
    make_run,
    shown,
    step,
    text_of,
)
from support.selection import by_turns

from wirespeed.cli.common.reading import read_runs
from wirespeed.report.console.console import say
from wirespeed.report.facts.outcome import best_words
from wirespeed.report.facts.trust import headline, trust
from wirespeed.report.terminal.run_summary import MAX_ROWS, shown_sizes
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


def test_an_operation_without_bytes_has_a_best_time() -> None:
    """Protects a barrier's page from "No message was measured"."""
    assert headline(make_run(entry("host", 0, 1e-6))) == "one way 1.00 us at 0 B by host"


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


def test_the_best_latency_is_a_short_messages() -> None:
    """Protects from "one way 3.28 ms at 8 MiB", where all figures of short messages are in doubt."""
    busy, long = entry("host", 8, 1e-6, **WAITED), entry("host", 8 << 20, 3e-3)
    assert headline(make_run(busy, long)) == "one way &1.00 us at 8 B by host, 2.80 GB/s at 8 MiB by host"
    assert headline(make_run(long)).startswith("one way 3.00 ms at 8 MiB")
    vague = entry("host", 8, 1e-6, 1.5, stopped="max-time", **WAITED)
    assert headline(make_run(vague, long)).startswith("one way &1.00 us at 8 B"), "however wide it is"
    parts = [entry("host", size, time, bandwidth_bytes=1 << 30) for size, time in ((8, 3e-3), (8192, 1e-3))]
    assert headline(make_run(*parts)).startswith("one way 1.00 ms at 8 KiB"), "all move as many bytes"


def test_the_best_of_a_path_and_of_all_are_chosen_alike() -> None:
    """Protects from "12.5 GB/s by host" above "host: 12.6 GB/s", and from a mark that one of them lacks."""
    near = entry("host", 2 << 20, 1.68e-4, 0.01), entry("host", 16 << 20, 1.33e-3, 0.04, stopped="max-time")
    lucky, busy = entry("host", 1 << 20, 7e-5, 0.5, stopped="max-time"), entry("host", 4096, 1e-7, **WAITED)
    run = make_run(entry("host", 8, 1e-6), *near, lucky, busy)
    assert headline(run).endswith(f"{best_words(run, 'host')} by host") and "~12.6 GB/s" in headline(run)
    assert best_words(make_run(busy), "host") == "&41.0 GB/s at 4 KiB"


def test_a_path_s_bandwidth_is_not_that_of_its_shortest_message() -> None:
    """Protects from "gpu 0.0139 GB/s at 8 B", where ranks waited for CPUs at all longer messages."""
    busy = (entry("host", size, size / 1e9, **WAITED) for size in (1 << 16, 1 << 22))
    run = make_run(entry("host", 8, 1e-6), *busy)
    assert best_words(run, "host") == "&1.00 GB/s at 64 KiB"
    assert headline(run) == "one way 1.00 us at 8 B by host, &1.00 GB/s at 64 KiB by host"


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
    assert len(run.sizes) == len(SIZES) == 31 and len(few) == MAX_ROWS
    assert few[:3] == [1, 4, 16] and few[-1] == 1 << 30
    run = make_run(
        *(entry("aware", size, 1e-6) for size in SIZES),
        *(entry("gpu", size, 2e-6 if size < 1 << 13 else 5e-7) for size in SIZES if size != 2),
        failure("gpu", 2, "mismatch", "byte 1"),
    )
    assert {2, 1 << 13} < set(shown_sizes(run))
    odd = make_run(*(entry("host", 3 * size, 1e-6) for size in SIZES))
    assert shown_sizes(odd) == odd.sizes


NINE = (
    "host",
    "staged",
    "staged-pipelined",
    "aware",
    "aware-nogdr",
    "nccl",
    "nccl-stream",
    "ipc-write",
    "gpu",
)
DEFAULT = [
    by_turns(name) if name[-1:].isdigit() and not name.endswith("1") else name
    for name in sorted(map(name_of, (RESULTS / "default").glob("*.jsonl*")))
]


@pytest.mark.slow
@pytest.mark.parametrize("file", DEFAULT)
def test_nine_paths_fit_a_screen(file: str) -> None:
    """Protects the first screen of a default run; every size, path and word is there for who asks."""
    (run,) = read_runs(str(result(f"default/{file}")))
    whole = shown(run, 100, explain=True)
    assert "all-sizes" not in whole and " ..." not in whole
    for width in (80, 100, 150):
        short = shown(run, width, all_sizes=False)
        assert len(short.splitlines()) <= 45 < len(whole.splitlines())
        assert max(map(len, short.splitlines())) <= width
        if len(run.sizes) == len(SIZES):
            assert "of 31 sizes (--all-sizes); --explain says more" in " ".join(short.split())
    # What cannot be has its lines, which cost sizes.
    if len(run.sizes) == len(SIZES) and not run.impossible:
        # Powers of four, and a size where something changes.
        assert re.search("1[67] of 31 sizes", short)
        # Where notes leave room, each path has a line of its own.
        assert ("GB/s by size" in short) == (len(short.splitlines()) > 40), short


@pytest.mark.parametrize("width", [80, 100, 150])
def test_a_screen_has_room_for_doubts(width: int) -> None:
    """Protects the same where ranks waited for CPUs and paths broke: each note is there, on one line."""
    broken = [
        failure("aware", 1 << 20, "crash", "signal 11 " + "in a function of a library " * 9),
        failure("shmem", None, "unavailable", "no NVSHMEM " + "in this long list of folders " * 9),
        failure("gpu", 16, "hang", "rank 1 waits in a kernel " * 9),
    ]
    figures = [
        entry(path, size, 1e-6 + size / 1e10, **CHECKED, **(WAITED if size < 64 else {}))
        for path in NINE
        for size in SIZES
        if (path, size) not in {("aware", 1 << 20), ("gpu", 16)}
    ]
    lines = shown(make_run(*figures, *broken), width, all_sizes=False).splitlines()
    assert len(lines) <= 45
    for beginning in (
        "trust: no",
        "& ranks waited",
        "aware at 1 MiB: crashed",
        "shmem: not",
        "gpu at 16 B: hung",
    ):
        assert sum(line.startswith(beginning) for line in lines) == 1


def test_a_note_that_is_cut_says_so() -> None:
    """Protects from a sentence that ends in its middle, and from dots where nothing is missing."""
    for most, words in ((1, 7), (2, 15), (None, 40)):
        screen = console(40)
        say(screen, "word " * 40, most=most)
        text = text_of(screen)
        assert text.count("word") == words and text.endswith(" ...\n") == bool(most)
        assert max(map(len, text.splitlines())) <= 40
    screen = console(40)
    say(screen, "word", most=1)
    assert text_of(screen) == "word\n"
