"""What guards a machine does without impossible figures: check, compare, watch and fleet."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support import report_files as made
from support.fake_run import FakeRun
from support.fleet_files import write_fleet
from support.impossible import FALSE, WHY, WIDE
from support.records import entry, make_run

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.fleet.history import read_history
from wirespeed.job.plan import Plan
from wirespeed.report.check.learn import learn
from wirespeed.report.compare.comparison import compare
from wirespeed.report.drift.detection import Drift

SITE = '[[require]]\npath = "host"\n[require.sizes]\n8 = "at most 1 s"\n1K = "at most {}"\n'


@pytest.mark.parametrize(
    ("bound", "more", "code"),
    [("1 s", FALSE, ExitCode.IMPOSSIBLE), ("1 ns", FALSE, ExitCode.IMPOSSIBLE), ("1 s", {}, ExitCode.OK)],
)
def test_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bound: str, more: Any, code: ExitCode
) -> None:
    """Protects an acceptance test: no bound holds of such a figure, whatever else holds or does not."""
    records = [
        made.head(),
        made.entry("host", 8, 1e-9, **more),
        made.entry("host", 1 << 10, 1e-6),
        made.end(),
    ]
    file = made.write(tmp_path / "a.jsonl", *records)
    (tmp_path / "site.toml").write_text(SITE.format(bound))
    assert main(["check", "--require", str(tmp_path / "site.toml"), file]) == code
    out = capsys.readouterr().out
    assert (f"pingpong host at 8 B: no figure: {WHY}" in out) is bool(more)
    assert out.startswith("IMPOSSIBLE") is bool(more) and ("\nFAILED " in out) is (bound == "1 ns")


def test_check_of_an_uncertain_figure(tmp_path: Path) -> None:
    """Protects a strict acceptance test from a bound that only a median meets."""
    file = made.write(
        tmp_path / "a.jsonl", made.head(), made.entry("host", 8, 1e-6, precision=WIDE), made.end()
    )
    (tmp_path / "site.toml").write_text(SITE.split("1K")[0])
    words = ["check", "--require", str(tmp_path / "site.toml"), file]
    assert main(words) == ExitCode.CANNOT_TELL and main([*words, "--strict"]) == ExitCode.WORSE


def test_no_bound_is_learnt_from_it() -> None:
    times = {"median": 1e-6, "low": 6e-7, "high": 2.7e-6, "min": 6e-7}
    wide = entry("host", 512, 1e-6) | {"seconds": times, "precision": 1.05}
    run = make_run(entry("host", 8, 1e-6), entry("host", 64, 1e-9, **FALSE), wide)
    lines = learn([run], ["a.jsonl"], 0.01).splitlines()
    assert [line.split(" = ")[0] for line in lines if line.startswith('"')] == ['"8"']
    assert f"# pingpong, host at 64 B: impossible, which makes no bound: {WHY}" in lines
    assert any('"512"' in line and "wider than ±50 %, which makes no bound" in line for line in lines)


@pytest.mark.parametrize("side", [0, 1])
def test_compare_leaves_it_out(side: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects a verdict on the machine from a figure that says nothing of it, on either side."""
    figures = [[made.entry("host", 8, 1e-6), made.entry("host", 1 << 10, 1e-6)] for _ in range(2)]
    figures[side][0] |= FALSE
    files = [made.write(tmp_path / f"{n}.jsonl", made.head(f"r{n}"), *each) for n, each in enumerate(figures)]
    for file, each in zip(files, figures, strict=True):
        number = files.index(file)
        made.write(Path(file), made.head(f"r{number}"), *({**one, "run": f"r{number}"} for one in each))
    assert main(["compare", *files]) == ExitCode.IMPOSSIBLE
    out = " ".join(capsys.readouterr().out.split())
    assert f"Impossible in {('old', 'new')[side]}, so not compared: pingpong host at 8 B: {WHY}" in out
    assert "Only in" not in out and "no figure any more" not in out
    assert main(["compare", *files, "--format", "json"]) == ExitCode.IMPOSSIBLE
    told = json.loads(capsys.readouterr().out)
    assert [one["bytes"] for one in told["figures"]] == [1 << 10] and not told["harmful"]
    assert told[f"impossible_{('old', 'new')[side]}"][0]["why"] == WHY


def test_compare_of_nothing_else() -> None:
    """Protects from 'nothing in common' where the one figure is impossible."""
    found = compare([make_run(entry("host", 8, 1e-6))], [make_run(entry("host", 8, 1e-6, **FALSE))])
    assert not found.verdicts.figures and not found.harmful and found.impossible[1][0].why == WHY


def test_watch_has_no_verdict_of_it() -> None:
    """Protects a watched machine from being called slower, or lost, by a figure that cannot be."""
    drift = Drift(first=2)
    for more in ({}, {}, FALSE, FALSE):
        drift.add(make_run(entry("host", 8, 1e-6), entry("host", 64, 1e-6, **more)))
    assert not drift.harmed and [one.key.bytes for one in drift.verdicts.figures] == [8]


def test_a_fleet_leaves_it_out(tmp_path: Path) -> None:
    """Protects a node from being judged by it; a warning says which file."""
    write_fleet(tmp_path, nodes=4, days=1, rounds=1)
    before = read_history(str(tmp_path))
    file = min(tmp_path.glob("*.jsonl"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text(
        "".join(json.dumps(one | (FALSE if one["kind"] == "entry" else {})) + "\n" for one in lines)
    )
    after = read_history(str(tmp_path))
    assert len(after.loose) == len(before.loose) - 1 and not before.warnings
    assert after.warnings == [f"{file}: 1 figure that cannot be true, left out ('wirespeed show' says why)"]


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((ExitCode.OK, ExitCode.IMPOSSIBLE), ExitCode.IMPOSSIBLE),
        ((ExitCode.IMPOSSIBLE, ExitCode.FAILED_ENTRY), ExitCode.IMPOSSIBLE),
        ((ExitCode.FAILED_ENTRY, ExitCode.OK), ExitCode.FAILED_ENTRY),
    ],
)
def test_the_code_of_several_plans(
    fake: FakeRun, monkeypatch: pytest.MonkeyPatch, codes: tuple[ExitCode, ...], code: ExitCode
) -> None:
    """Protects `--ranks 2,4`: the gravest code is the command's, and what follows is measured too."""
    left = iter(codes)
    measure = fake.measure

    def coded(plan: Plan, observe: Any) -> ExitCode:
        measure(plan, observe)
        return next(left)

    monkeypatch.setattr(sys.modules["wirespeed.frontend.session"], "measure", coded)
    assert main(["ring", "--ranks", "2,4", "--paths", "host", "--sizes", "8"]) == code
    assert len(fake.plans) == 2
