"""wirespeed compare over measured files; made-up ones are in tests/golden/report/compare.transcript."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]


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
    sides = (f"{ROOT}/results/interleaved/{side}-{pattern}-*.jsonl.gz" for side in ("old", "new"))
    assert main(["compare", *sides, "--format", "json"]) == code
    data = json.loads(capsys.readouterr().out)
    assert {path["path"]: path["verdict"] for path in data["paths"]} == told
    named = [one for one in data["figures"] if one["verdict"] not in ("same", "not_worse", "unsure")]
    assert [(one["path"], one["bytes"], one["verdict"], round(one["time_ratio"], 3)) for one in named] == (
        [("gpu", 8, "better", 0.992)] if pattern == "stream" else []
    )


@pytest.mark.parametrize(("command", "page"), [("compare", "comparing"), ("watch", "checking")])
def test_every_option_is_documented(command: str, page: str, capsys: Captured) -> None:
    """Those of measuring commands are in docs/commands.md."""
    docs = ROOT / "docs"
    text = (docs / f"{page}.md").read_text() + (docs / "commands.md").read_text()
    assert main([command, "--help"]) == 0
    options = re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert len(options) > 4
    assert [name for name in options if f"`{name}" not in text and f" {name}" not in text] == []
