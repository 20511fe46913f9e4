"""Arguments that cannot be measured, or not on this machine: one line, before a file is written."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support import transcripts
from support.command import captured
from support.golden import GOLDEN, Golden


def test_refused(golden: Golden, tmp_path: Path) -> None:
    """Protects users from stack traces, and from a run that measures something else: see the transcript."""
    file = GOLDEN / "ranks/refused.transcript"
    # In a process of its own, whose emulated GPUs no other test has declared.
    command = [sys.executable, transcripts.__file__, str(file)]
    environment = {**os.environ, "PYTHONPATH": str(GOLDEN.parent)}
    golden.compare(file, captured(command, cwd=tmp_path, env=environment, ok=True).stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pingpong --device cpu --between 0,99999", "this process may not run on CPU 99999"),
        ("copy --node 7999", "--node 7999: there is no such NUMA node here"),
    ],
)
def test_what_this_machine_has_not(words: str, said: str) -> None:
    assert said in transcripts.told(["wirespeed", *words.split()], {})
