"""The two lines that a reader sees first, and the rows of a long sweep."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.measured import name_of, result
from support.records import SIZES, console, entry, failure, make_run, shown, text_of
from support.selection import slow_case

from wirespeed.cli.common.reading import read_runs
from wirespeed.report.console.console import say

RESULTS = Path(__file__).parents[2] / "results"
CHECKED: dict[str, Any] = {"checked": {"iterations": 3, "bytes": 24}}
WAITED: dict[str, Any] = {"cores": {"waited": 0.4, "rank": 0, "preempted": 9, "shared": None}}


NINE = (
    *("host", "staged", "staged-pipelined", "aware", "aware-nogdr"),
    *("nccl", "nccl-stream", "ipc-write", "gpu"),
)
DEFAULT = [
    slow_case(name) if name[-1:].isdigit() and not name.endswith("1") else name
    for name in sorted(map(name_of, (RESULTS / "default").glob("*.jsonl*")))
]


@pytest.mark.parametrize("file", DEFAULT)
def test_nine_paths_fit_a_screen(file: str) -> None:
    """Protects the first screen of a default run; every size, path and word is there for who asks."""
    (run,) = read_runs(str(result(f"default/{file}")))
    whole = shown(run, 100, explain=True)
    assert "all-sizes" not in whole and " ..." not in whole
    for width in (80, 100, 150):
        short = shown(run, width, all_sizes=False)
        # What is never cut takes more of a narrow one.
        most = 50 if width == 80 and run.impossible else 45
        assert len(short.splitlines()) <= most < len(whole.splitlines())
        assert max(map(len, short.splitlines())) <= width
        if len(run.sizes) == len(SIZES):
            assert "of 31 sizes (--all-sizes); --explain says more" in " ".join(short.split())
    # What cannot be has its lines, which cost sizes.
    if len(run.sizes) == len(SIZES) and not run.impossible:
        # Powers of four, and a size where something changes.
        assert re.search("1[67] of 31 sizes", short)
        # Where notes leave room, each path has a line of its own.
        assert "GB/s by size" in short or len(short.splitlines()) + len(NINE) > most, short


@pytest.mark.parametrize("width", [80, 100, 150])
def test_a_screen_has_room_for_doubts(width: int) -> None:
    """Protects the same where ranks waited for CPUs and paths broke: each warning is there, and whole."""
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
    # What is never cut takes 20 lines of the narrow one.
    assert len(lines) <= (50 if width == 80 else 45)
    assert ("rank 1 waits in a kernel " * 9).strip() in " ".join(" ".join(lines).split())
    failed = ("aware at 1 MiB: crashed", "shmem: not", "gpu at 16 B: hung")
    for beginning in ("trust: no", "& ranks waited", *failed):
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
    say(screen, "sentences " * 8, most=1)
    assert text_of(screen) == f"word\n{' '.join(['sentences'] * 3)} ...\n"
