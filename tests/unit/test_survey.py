"""A survey's screen of measured machines, and the commands that it prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import report_files as made
from support.fake_facts import MPI
from support.golden import Golden
from support.measured import result
from support.records import console, text_of

from wirespeed.cli.common import called
from wirespeed.cli.measure.survey import BETWEEN_GPUS, Survey
from wirespeed.frontend.machine import Machine
from wirespeed.job.plan import Plan
from wirespeed.limits import Used, ceiling
from wirespeed.report.facts import failures
from wirespeed.report.facts.survey import rows
from wirespeed.report.terminal.survey import print_survey
from wirespeed.results.reading import read
from wirespeed.results.runs import Run, collect

MACHINES = {
    "two H200s": ("copies/h200-x2-copy", "h200-x2-survey"),
    "four H200s": ("h200-x4-copy", "h200-x4-pairs"),
}


def measured(names: tuple[str, ...]) -> list[Run]:
    return [run for name in names for run in collect(read(str(result(name))).records)]


def test_screens(golden: Golden) -> None:
    """Protects the rows, their limits and verdicts, and the answers below, at three widths."""
    shown = {}
    for machine, names in MACHINES.items():
        for width in (80, 100, 200):
            screen = console(width)
            print_survey(screen, measured(names), [])
            assert max(map(len, text_of(screen).splitlines())) <= width
            shown[f"{machine}, {width} columns"] = text_of(screen)
    golden("report/survey", shown)


def test_a_slow_gpu_is_named(tmp_path: Path) -> None:
    """Protects from a median that hides the GPU with the narrow slot."""
    runs = measured(("h200-x4-copy",))
    entry = runs[0].of_path("h2d-pinned")[-1]
    alone = next(team for team in entry.teams if team.name == "rank 2 alone")
    lines = (
        result("h200-x4-copy")
        .read_text()
        .replace(f'"median":{alone.seconds}', f'"median":{2 * alone.seconds}')
    )
    (tmp_path / "r.jsonl").write_text(lines)
    (row,) = [
        row for row in rows(collect(read(str(tmp_path / "r.jsonl")).records)) if row.what == "host to GPU"
    ]
    assert "but GPU 2 2" in row.verdict, row


def test_a_slow_copy_makes_no_message_impossible() -> None:
    """Protects messages from a limit that is a copy of a busy moment, where nobody knows the slot."""
    ranks = [{"rank": n, "host": "n1", "device": {"id": f"{n}", "name": "GPU"}} for n in (0, 1)]
    step = {"transport": "pipelined", "memory": "device", "ranks": ranks}
    found = ceiling(Used("pingpong", step, copies={"to_device": 1e9, "to_host": 1e9}))
    assert found and found.rate == 1e9 and not found.exceeded(1e12, 1 << 30)


def a_survey(gpus: int, budget: float) -> Survey:
    devices = [{"kind": "cuda", "index": index, "id": f"GPU-{index}"} for index in range(gpus)]
    return Survey(Plan(budget=budget), Machine("cuda", devices, [MPI], {}), lambda head: None)


@pytest.mark.parametrize("budget", [15.0, 0.0])
def test_two_gpus_are_asked_what_matters_most_first(budget: float) -> None:
    """Protects the wire between GPUs and GPU-aware MPI from being left out for what nobody asks first."""
    copies, between, aware, memory = a_survey(2, budget).parts()
    assert [plan.paths for plan in (between, aware, memory)] == [BETWEEN_GPUS, ("aware",), ("h2h",)]
    assert between.evidence and aware.evidence and copies.evidence == (budget == 0)
    assert copies.sizes == (256 << 20,) and between.sizes[::2] == aware.sizes == (8, 512 << 20)
    assert 8 < between.sizes[1] < 512 << 20, "MPI between CPUs has a size that it comes to"


@pytest.mark.parametrize(
    ("file", "gpus", "more"),
    [("h200-x2-default", 2, []), ("h200-x2-default", 3, [("pairs", ("gpu", "ipc-write"))])],
)
def test_a_fast_path_needs_no_staging(file: str, gpus: int, more: list[tuple[str, tuple[str, ...]]]) -> None:
    """Protects time from a path through the host, and pairs from all paths but the fastest."""
    survey = a_survey(gpus, 15.0)
    survey.records = [*read(str(result(file))).records]
    assert [(plan.pattern, plan.paths) for plan in survey.parts()][3:-1] == more


def test_gpus_that_do_not_reach_each_other_have_a_path() -> None:
    survey = a_survey(2, 15.0)
    survey.records = [*read(str(result("two-cpus/vm-launch-01"))).records]
    assert [plan.paths for plan in survey.parts()][3:-1] == [("staged-pipelined",)]


def test_what_was_left_out_is_one_line(tmp_path: Path) -> None:
    """Protects a screen from a line for each part."""
    records = []
    for run, path in (("a", "host"), ("b", "aware")):
        head = made.head(run)
        uncounted = {"left_out": [{"path": path, "launch": 1, "sizes": []}]}
        plan = {"plan": {**head["plan"], "budget": 15.0}}
        curve = made.curve(path, 1e-6, 1e10, run)
        records += [head | plan, made.step(path, run), *curve, made.end(run) | uncounted]
    runs = collect(read(made.write(tmp_path / "r.jsonl", *records)).records)
    assert failures.left_out(*runs) == "Left out for --within 15s: the count of bytes of host, aware"


@pytest.mark.parametrize("on_path", [True, False])
def test_commands_are_those_that_ran(on_path: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a list of commands that a shell does not find."""
    script = tmp_path / "a b" / "bin" / "wirespeed"
    script.parent.mkdir(parents=True)
    script.touch(0o755)
    monkeypatch.setenv("PATH", str(script.parent) if on_path else "/usr/bin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert called.wirespeed() == ("wirespeed" if on_path else "'a b/bin/wirespeed'")
    monkeypatch.setattr(sys, "argv", ["/x/wirespeed/__main__.py"])
    monkeypatch.setattr(sys, "executable", "/x/bin/python3.99")
    assert called.wirespeed() == "/x/bin/python3.99 -m wirespeed"
