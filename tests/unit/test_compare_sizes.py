"""wirespeed compare: single sizes, few launches, and what would have been found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.compare_files import SIZES, Compare, comparing, write
from support.records import entry

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode

Captured = pytest.CaptureFixture[str]
RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def compare(capsys: Captured) -> Compare:
    return comparing(capsys)


def test_launches_that_are_left_out(tmp_path: Path, compare: Compare) -> None:
    """Protects from the fewest launches of any size, said of each."""
    cores = {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}
    wide = [entry("host", size, 1e-6 + size * 1e-12, 1.5) for size in (8, 1 << 20)]
    waited = [entry("host", 1024, 2e-6, 0.002, cores=cores)]
    for n, more in enumerate(([], [], wide, waited)):
        write(tmp_path / "old" / f"{n}.jsonl", f"o{n}", jitter=0.002)
        write(tmp_path / "new" / f"{n}.jsonl", f"n{n}", jitter=0.002, more=more)
    code, out, _ = compare(tmp_path / "old", tmp_path / "new")
    assert code == ExitCode.OK
    assert "launches of each figure: 4 old, 3 to 4 new" in out
    assert "launches left out: pingpong host at 8 B and 1 MiB: its interval is wider than ±100 %" in out
    assert "launches left out: pingpong host at 1 KiB: ranks waited for CPUs (&)" in out
    assert "left out" not in compare(tmp_path / "old", tmp_path / "old")[1]


def test_twice_the_time_is_never_no_change(tmp_path: Path, compare: Compare, capsys: Captured) -> None:
    """Protects from "no change" of a size whose own interval has room for more than twice the time."""
    wide = [entry("host", 1024, factor * (1e-6 + 1024e-12), 0.4) for factor in (1, 2)]
    old, new = (write(tmp_path / n, n, k, more=[wide[k - 1]]) for n, k in (("a", 1), ("b", 2)))
    code, out, _ = compare(old, new, "--all")
    assert code == ExitCode.WORSE
    assert "worse at 5 of 6 sizes, 8 B to 256 MiB" in out and "cannot tell at 1 of 6 sizes, 1 KiB" in out
    assert re.search(r"1 KiB 1\.00 us 2\.00 us 2\.00 .* cannot tell", out) and "no change" not in out
    assert main(["compare", str(old), str(new), "--format", "json"]) == ExitCode.WORSE
    data = json.loads(capsys.readouterr().out)
    assert [figure["verdict"] for figure in data["figures"] if figure["bytes"] == 1024] == ["unsure"]


def test_a_path_stands_though_one_of_its_sizes_cannot_be_told(
    tmp_path: Path, compare: Compare, capsys: Captured
) -> None:
    """Protects equal runs from an alarm, and a noisy size from "no change"."""
    for n, (before, after) in enumerate([(0.8, 1.3), (1.0, 0.9), (1.3, 1.1), (0.9, 1.0), (1.1, 0.8)]):
        for side, factor in (("old", before), ("new", after)):
            noisy = entry("host", 1024, factor * (1e-6 + 1024e-12), 0.002)
            write(tmp_path / side / f"{n}.jsonl", f"{side}{n}", jitter=0.002, more=[noisy])
    sides = tmp_path / "old", tmp_path / "new"
    code, out, _ = compare(*sides)
    assert code == ExitCode.OK and compare(*sides, "--strict")[0] == ExitCode.OK
    assert "pingpong host: no change seen as a whole, time x" in out
    assert "); cannot tell of 1 of 6 sizes alone" in out and "its path's verdict stands" in out
    assert "1 KiB" not in out
    rows = compare(*sides, "--all")[1].split("verdict")[1]
    assert rows.count("no change seen") == 5 and rows.count("cannot tell") == 2, "one row, and the legend"
    assert main(["compare", *map(str, sides), "--format", "json"]) == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert data["paths"][0]["verdict"] == "same" and data["cannot_tell"] == []


def test_less_time_is_not_worse_where_it_may_be_chance(tmp_path: Path, compare: Compare) -> None:
    """Protects from "no change" of 20 % less time; as it is certainly not more, it passes."""
    code, out, _ = compare(write(tmp_path / "a", "a"), write(tmp_path / "b", "b", 0.8), "--all")
    assert code == ExitCode.OK
    assert "pingpong host: not worse at all 8 B to 256 MiB" in out and "no change" not in out


@pytest.mark.parametrize(
    ("launches", "aware", "host", "told"),
    [
        (
            3,
            0.002,
            0.02,
            "a whole path by 0.462 % (aware) to 1.94 % (host); of a single size by 1.07 % (aware)",
        ),
        (
            1,
            0.002,
            0.002,
            "a whole path by 62.5 %; of a single size only when it takes 4.1 times as long",
        ),
        (1, 0.002, 0.1, "of a single size only when it takes 4.1 (aware) to 7.5 times as long (host)"),
        (
            1,
            0.002,
            0.5,
            "only when it takes 4.1 times as long (aware), not even when it takes 10 times as",
        ),
        (1, 0.5, 0.5, "of a single size not even when it takes 10 times as long"),
    ],
)
def test_what_would_have_been_found(
    launches: int, aware: float, host: float, told: str, tmp_path: Path, compare: Compare
) -> None:
    """Protects from 1.22e+05 %."""
    of = {"aware": aware, "host": host}
    more = [entry(path, size, 1e-6, of[path]) for path in of for size in SIZES]
    for n in range(launches):
        for side in ("old", "new"):
            write(tmp_path / side / f"{n}.jsonl", f"{side}{n}", paths=("host", "aware"), more=more)
    _, out, _ = compare(tmp_path / "old", tmp_path / "new")
    assert told in out and "e+" not in out


@pytest.mark.parametrize(
    ("pattern", "code", "told"),
    [
        ("halo", ExitCode.CANNOT_TELL, {"gpu": "same", "ipc-write": "unsure"}),
        (
            "ring",
            ExitCode.CANNOT_TELL,
            {"aware": "unsure", "gpu": "unsure", "ipc-write": "unsure", "nccl-stream": "not_worse"},
        ),
        (
            "pingpong",
            ExitCode.CANNOT_TELL,
            {"gpu": "same", "host": "unsure", "ipc-write": "unsure", "nccl-stream": "same"},
        ),
        ("stream", ExitCode.OK, {"gpu": "same", "ipc-write": "same"}),
    ],
)
def test_the_interleaved_runs(pattern: str, code: int, told: dict[str, str], capsys: Captured) -> None:
    """Protects results/README.md, which says this of them."""
    sides = (f"{RESULTS}/interleaved/{side}-{pattern}-*.jsonl.gz" for side in ("old", "new"))
    assert main(["compare", *sides, "--format", "json"]) == code
    data = json.loads(capsys.readouterr().out)
    assert {path["path"]: path["verdict"] for path in data["paths"]} == told
    named = [one for one in data["figures"] if one["verdict"] not in ("same", "not_worse", "unsure")]
    assert [(one["path"], one["bytes"], one["verdict"], round(one["time_ratio"], 3)) for one in named] == (
        [("gpu", 8, "better", 0.992)] if pattern == "stream" else []
    )


@pytest.mark.parametrize(("slower", "code"), [(1.25, ExitCode.CANNOT_TELL), (1.3, ExitCode.WORSE)])
def test_what_one_launch_a_side_names(slower: float, code: int, tmp_path: Path, compare: Compare) -> None:
    """Protects docs/comparing.md, which says this of one path."""
    assert compare(write(tmp_path / "a", "a"), write(tmp_path / "b", "b", slower))[0] == code
