"""When the front end judges a job step: ranks of other hosts that report late, and a file on a slow disk."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from wirespeed.frontend.job_step import JobStep
from wirespeed.job.messages import Message

BEGIN = """
import time
from wirespeed.job.messages import send
send({"kind": "hello", "ranks": [{"rank": rank, "host": f"n{rank}", "pid": rank} for rank in range(4)]})
"""
LATE = """
for rank in (0, 1, 2):
    said = {"host": f"n{rank}", "path": "host", "call": "", "state": "no progress", "fault": ""}
    numbers = {"rank": rank, "pid": rank, "bytes": 8, "iteration": 5, "peer": -1}
    send({"kind": "stuck", **said, **numbers, "native": [], "python": []})
    time.sleep(2.2)
time.sleep(600)
"""
GOES_ON = """
send({"kind": "entry"})
time.sleep(6)
send({"kind": "done"})
"""


def step(program: str, folder: Path) -> JobStep:
    """A launcher that says what ranks of four other hosts would say."""
    return JobStep([sys.executable, "-c", BEGIN + program], os.environ, folder, 4, 60)


def test_ranks_that_report_one_after_the_other(tmp_path: Path) -> None:
    """Protects a rank whose report is under way from the blame for the one that does not answer."""
    watched = step(LATE, tmp_path)
    assert [message["kind"] for message in watched.messages()] == ["hello"]
    assert watched.outcome.rank == 3, watched.outcome.text
    assert "does not answer" in watched.outcome.text


def test_a_record_that_takes_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects ranks of other hosts from being said to hang while the front end waits for a slow disk."""
    watched = step(GOES_ON, tmp_path)
    messages: list[Message] = []
    for message in watched.messages():
        messages.append(message)
        if message["kind"] == "entry":
            monkeypatch.setattr(JobStep, "_limit", lambda _, states: 3.5)
            time.sleep(4.5)
    assert watched.outcome.what == "ok", watched.outcome.text
    assert [message["kind"] for message in messages] == ["hello", "entry", "done"]
