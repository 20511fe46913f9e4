"""Ranks share a GPU only where somebody asks for it; what needs more GPUs than there are is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi

pytestmark = pytest.mark.slow(after=2)

FAST = ("--device", "emulated", "--max-time", "0.005", "--no-evidence")
ONE = {"WIRESPEED_EMULATED": "count=1"}
NEEDS = "needs two GPUs; --ranks-per-gpu 2 measures two ranks that take turns on one"


def measured(measure: Measure, command: str, *words: str, **how: Any) -> Done:
    return measure(command, "--sizes 8", *words, *FAST, environment=ONE, **how)


def test_what_needs_a_second_gpu_is_one_line(measure: Measure) -> None:
    """Protects from time slices of a driver that pass for a path between GPUs."""
    done = measured(measure, "pingpong").ok()
    assert {entry["path"] for entry in done.entries} == {"host"}
    assert {(failure["what"], failure["text"]) for failure in done.failures} == {("unavailable", NEEDS)}
    assert " ".join(done.out.split()).count(NEEDS) == 1
    assert "share" not in done.out, "CPU memory is shared by nobody"


def test_nothing_left(measure: Measure) -> None:
    """Protects from a table without a figure."""
    done = measured(measure, "pingpong", "--paths", "gpu,aware")
    assert (done.code, done.err) == (3, f"wirespeed: gpu: {NEEDS}\n")
    assert not measure.out.exists()


def test_what_was_asked_for_is_called_so(measure: Measure) -> None:
    """Protects who reads the result from taking it for one of two GPUs."""
    done = measured(measure, "pingpong", "--paths", "staged", "--ranks-per-gpu", "2")
    assert done.code == 0 and {entry["path"] for entry in done.entries} == {"staged"}
    assert "2 ranks that take turns on each GPU" in done.out.splitlines()[0]


def test_copies_by_one_rank_for_each_gpu(tmp_path: Path) -> None:
    """Protects the default of copies, and of lists between a GPU and its host."""
    for command in ("copy", "offload"):
        words = (command, "--paths", "h2d-pinned", *(("--block", "4K") * (command == "offload")))
        done = measured(Measure(tmp_path / f"{command}.jsonl"), *words)
        assert done.code == 0 and [run["plan"]["ranks"] for run in done.of("run")] == [1], done.err


def test_of_a_list_of_ranks_what_can_be_is_measured(measure: Measure) -> None:
    """Protects `--ranks 1,2` on one GPU: 1 has its figures, 2 the line of what it needs."""
    done = measured(measure, "copy", "--paths", "h2d-pinned", "--ranks", "1,2")
    assert done.code == 0 and [run["plan"]["ranks"] for run in done.of("run")] == [1]
    assert f"ranks 2 is left out: h2d-pinned: {NEEDS}\n" in done.err


def test_a_file_that_shared_is_gone_on_with(measure: Measure) -> None:
    """Protects files of earlier versions: ranks shared GPUs unasked, and the file does not say more."""
    measured(measure, "pingpong", "--paths", "staged", "--between", "0,0")
    lines = [json.loads(line) for line in measure.out.read_text().splitlines()]
    lines[0]["plan"]["between"] = []
    measure.out.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = measured(measure, "pingpong", "--paths", "staged", "--sizes", "8,64", "--resume")
    assert done.code == 0 and [entry["bytes"] for entry in done.entries] == [8, 64], done.err


def test_bounds_that_were_learnt_so(tmp_path: Path) -> None:
    """Protects acceptance tests of a machine whose only GPU two ranks shared."""
    site = '[[require]]\npath = "staged"\nsizes = {8 = "at most 1 s"}\n'
    (tmp_path / "site.toml").write_text(site)
    words = ("--measure", "--device", "emulated", "--out", tmp_path / "r.jsonl")
    done = wirespeed("check", "--require", tmp_path / "site.toml", *words, environment=ONE)
    # A busy machine may leave the interval too wide for a verdict.
    assert done.code in (0, 8) and '"kind":"entry"' in (tmp_path / "r.jsonl").read_text(), done.err


def test_inside_a_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects a job whose ranks somebody else has placed: only they know where they are."""
    done = measured(measure, "pingpong", inside=mpi)
    assert done.code == 0 and {entry["path"] for entry in done.entries} == {"host"}, done.err
    assert {failure["text"] for failure in done.failures} == {NEEDS}
