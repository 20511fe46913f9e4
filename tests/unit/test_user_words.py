"""Words that users met and misunderstood, or that came to them as a stack trace."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from support.command import captured
from support.fleet_files import START, write_run
from support.records import end, entry, head, step

import wirespeed
from wirespeed.errors import ExitCode
from wirespeed.report.export.matplotlib_figure import name_of
from wirespeed.report.page import read_sources
from wirespeed.report.sources import measured

CTRL_C = """
import os, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Interrupt())
from wirespeed.cli.start import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module",
    ["signal", "wirespeed.interrupts", "contextlib", "wirespeed.errors", "wirespeed.cli.main", "click"],
)
def test_ctrl_c_while_modules_are_imported(module: str) -> None:
    """Protects from a KeyboardInterrupt's traceback in the first 0.15 s."""
    command = [sys.executable, "-c", CTRL_C.replace("{module}", module), "--help"]
    done = captured(command, timeout=60)
    assert done.returncode == ExitCode.INTERRUPTED and done.stderr == ""


def test_results_are_shown_in_a_line(tmp_path: Path) -> None:
    """Protects `print(wirespeed.load(FILE))` from 30,000 characters."""
    write_run(tmp_path / "r.jsonl", START, ["a", "b"], 1e-5, random.Random(1))
    assert repr(wirespeed.load(tmp_path / "r.jsonl")).endswith("r.jsonl: 4 records, 1 run, 0 warnings>")


def test_a_run_of_one_rank_is_named_so(tmp_path: Path) -> None:
    """Protects a figure's labels from "compute (1 ranks)"."""
    lines = []
    for ranks in (1, 2):
        records = [head(("compute",)), step("compute"), entry("compute", 8, 1e-3), end()]
        records[0]["plan"] |= {"ranks": ranks}
        lines += [json.dumps(record | {"run": f"r{ranks}"}) for record in records]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    sources, _ = read_sources([str(tmp_path / "a.jsonl")])
    labels = [name_of((one, "compute"), named=True) for one in measured(sources)]
    assert sorted(labels) == ["compute (1 rank)", "compute (2 ranks)"]
