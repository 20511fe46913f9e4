"""wirespeed compare --measure: sides that are measured until the verdicts are decided."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from support.records import entry, head, make_run, step

from wirespeed.cli.common.sides import LOOKS, MeasuredSide, measure_until_decided, planned_like, variables
from wirespeed.errors import WirespeedError
from wirespeed.frontend.bound import Bound
from wirespeed.job.plan import Plan
from wirespeed.judge.verdict import WORSE
from wirespeed.report.cannot_tell import FEW_LAUNCHES, OLD_IS_FIXED
from wirespeed.report.compare.comparison import Comparison, compare
from wirespeed.results.runs import Run

SIZES = (8, 64, 1024)


@dataclass
class FakeSide(MeasuredSide):
    """Launches with made-up times."""

    noise: dict[str, float] = field(default_factory=dict)
    """Standard deviation between launches, by path."""
    slower: float = 1.0
    log: list[str] = field(default_factory=list)
    dice: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    made: list[Run] = field(default_factory=list)

    @property
    def runs(self) -> list[Run]:
        return self.made

    def measure(self, paths: object, seconds: float) -> None:
        self.launches += 1
        chosen = [path for path in self.noise if not paths or path in paths]  # type: ignore[operator]
        self.log.append(f"{self.name}{self.launches}: {' '.join(chosen)}")
        records = []
        for path in chosen:
            effect = float(np.exp(self.dice.normal(0, self.noise[path]))) * self.slower
            records += [entry(path, size, 1e-6 * effect, 0.002) for size in SIZES]
        name = f"{self.name}{self.launches}"
        parts = (head(), *map(step, chosen), *records)
        self.made.append(make_run(*({**part, "run": name} for part in parts)))


def _measured(old: FakeSide, new: FakeSide, bound: Bound | None = None) -> Comparison:
    def judged(share: float) -> Comparison:
        return compare(old.runs, new.runs, share_of_alarms=share)

    found, interrupted = measure_until_decided([old, new], judged, bound, lambda text: None)
    assert not interrupted
    return found


def _sides(noise: dict[str, float], slower: float = 1.0, seed: int = 5) -> tuple[FakeSide, FakeSide]:
    log: list[str] = []
    dice = np.random.default_rng(seed)
    plans = [Plan(paths=tuple(noise))]
    first = FakeSide("a", plans, "a", noise=noise, log=log, dice=dice)
    return first, FakeSide("b", plans, "b", noise=noise, slower=slower, log=log, dice=dice)


def test_launches_go_by_turns_and_end_when_all_is_decided() -> None:
    old, new = _sides({"aware": 0.003}, slower=1.2)
    found = _measured(old, new)
    assert [group.what for group in found.verdicts.groups] == [WORSE]
    order = [line[:2] for line in old.log]
    assert order == ["a1", "b1", "b2", "a2", "a3", "b3"], "neither side is always the later one"


def test_only_what_is_open_is_measured_again() -> None:
    """Protects the time of a user one of whose paths is noisy."""
    old, new = _sides({"aware": 0.003, "host": 0.2}, seed=4)
    _measured(old, new)
    assert old.launches == new.launches == LOOKS[1]
    assert old.log[5:7] == ["b3: aware host", "b4: host"]


def test_of_an_old_file_no_more_launches_are_asked_for() -> None:
    """Protects from advice to measure what has been replaced."""
    old, new = _sides({"host": 0.3}, seed=2)
    for side, launches in ((old, 1), (new, 3)):
        for _ in range(launches):
            side.measure((), 0.0)
    found = compare(old.runs, new.runs, fixed_old=True)
    assert {unjudged.reason for unjudged in found.unjudged} == {OLD_IS_FIXED}
    assert {unjudged.reason for unjudged in compare(old.runs, new.runs).unjudged} == {FEW_LAUNCHES}


def test_a_suspicion_is_measured_on() -> None:
    """Protects a small change of one path from being called none after three launches."""
    old, new = _sides({"aware": 0.01}, slower=1.03, seed=5)
    found = _measured(old, new)
    assert [group.what for group in found.verdicts.groups] == [WORSE] and old.launches == LOOKS[1]


def test_a_launch_that_does_not_fit_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = _sides({"host": 0.2})
    _measured(old, new, Bound.from_now(0.1))
    assert old.log == ["a1: host", "b1: host"]
    assert capsys.readouterr().err == "launch 2 is left out for --within 0.1s\n"


def test_what_the_old_side_measured_is_the_plan() -> None:
    """One plan for each kind of run, of the paths and sizes that have figures, for one launch's time."""
    first = head()
    first["plan"] |= {"paths": ["a*"], "launches": 5, "budget": 300.0, "mpi": "/opt/mpi"}
    runs = [
        make_run(
            {**first, "run": name},
            {**step("aware"), "run": name},
            {**entry("aware", size, 1e-6), "run": name},
        )
        for name, size in (("1", 8), ("2", 64))
    ]
    (plan,) = planned_like(runs, "old.jsonl")
    assert (plan.paths, plan.sizes, plan.budget, plan.mpi) == (("aware",), (8, 64), 60.0, "/opt/mpi")
    with pytest.raises(WirespeedError, match="it has no figure"):
        planned_like([make_run(head())], "old.jsonl")


def test_variables_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "x.env"
    file.write_text("# a comment\n\nexport A=1\n B=\"two words\" \nC='x'\nD=a b = c\nE=\n")
    assert variables(str(file)) == {"A": "1", "B": "two words", "C": "x", "D": "a b = c", "E": ""}
    for text, wanted in (("A\n", "line 1: write NAME=VALUE"), ("A=1\nB='x\n", "line 2: no closing quot")):
        file.write_text(text)
        with pytest.raises(WirespeedError, match=wanted):
            variables(str(file))


def test_a_side_has_its_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """They must be there before its process opens any library, and in no other process."""
    seen = []

    class Process:
        returncode = 2

        def __init__(self, command: list[str], env: dict[str, str], stderr: IO[str], **_: object) -> None:
            seen.append((command[3], command[4:], env.get("NCCL_ALGO")))
            stderr.write("wirespeed: no such path\n")

        def poll(self) -> int:
            return 2

    monkeypatch.setattr(subprocess, "Popen", Process)
    side = MeasuredSide("b.env", [Plan(budget=60.0)], "r.jsonl", {"NCCL_ALGO": "Ring"})
    with pytest.raises(WirespeedError, match=r"b\.env: no such path"):
        side.measure((), 10.0)
    assert seen == [("10.0", sys.argv, "Ring")]
