"""wirespeed compare over measured files; made-up ones are in tests/golden/report/compare.transcript."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("pattern", "code", "untold"),
    [
        ("halo", ExitCode.OK, []),
        ("ring", ExitCode.OK, []),
        ("pingpong", ExitCode.CANNOT_TELL, [("ipc-write", 8)]),
        ("stream", ExitCode.CANNOT_TELL, [("ipc-write", 8)]),
    ],
)
def test_the_interleaved_runs(
    pattern: str, code: int, untold: list[tuple[str, int]], capsys: Captured
) -> None:
    """Protects results/README.md, which says this of them."""
    sides = (f"{ROOT}/results/interleaved/{side}-{pattern}-*.jsonl.gz" for side in ("old", "new"))
    assert main(["compare", *sides, "--format", "json"]) == code
    data = json.loads(capsys.readouterr().out)
    groups = [(one["path"], one["bytes"][0], one["verdict"]) for one in data["groups"]]
    assert [place[:2] for place in groups if place[2] == "unsure"] == untold
    named = [place for place in groups if place[2] not in ("not_worse", "unsure")]
    assert named == ([("gpu", 8, "better")] if pattern == "stream" else [])
    assert data["order"] == "", "they took turns"
