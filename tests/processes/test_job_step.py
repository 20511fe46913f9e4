"""When the front end judges a job step: ranks of other hosts that report late, and a file on a slow disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wirespeed.frontend import job_step
from wirespeed.frontend.job_step import JobStep
from wirespeed.frontend.rank_messages import Received
from wirespeed.job.messages import Done, Hello, Measured, RankReport
from wirespeed.job.status_page import RankState

BEGIN = """
import time
from wirespeed.job.message_lines import send
from wirespeed.job.messages import Done, Hello, Measured, RankReport
from support.rank_messages import rank_place
send(Hello([rank_place(rank) for rank in range(4)], {}, 0.1))
"""
LATE = """
for rank in (0, 1, 2):
    send(RankReport("stuck", rank, rank, f"n{rank}", "host", 8, 5, "", -1, "no progress", "", [], []))
    time.sleep(2.2)
time.sleep(600)
"""
GOES_ON = """
send(Measured())
time.sleep(6)
send(Done())
"""


def step(program: str, folder: Path) -> JobStep:
    """A launcher that says what ranks of four other hosts would say."""
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    return JobStep([sys.executable, "-c", BEGIN + program], variables, folder, 4, 60)


@pytest.mark.slow
def test_ranks_that_report_one_after_the_other(tmp_path: Path) -> None:
    """Protects a rank whose report is under way from the blame for the one that does not answer."""
    watched = step(LATE, tmp_path)
    assert [type(message) for message in watched.messages()] == [Hello]
    assert watched.outcome.rank == 3, watched.outcome.text
    assert "does not answer" in watched.outcome.text


@pytest.mark.slow
def test_a_silent_rank_beside_starved_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the name of a stopped rank where the others wait for CPUs: they do not wait for that alone."""
    monkeypatch.setattr(job_step, "LONG_GRACE", 3.0)
    monkeypatch.setattr(JobStep, "_starved", lambda *_: 0.95)
    monkeypatch.setattr(JobStep, "_least_limit", lambda *_: 60.0)
    watched = step(LATE.replace("600", "20"), tmp_path)
    assert [type(message) for message in watched.messages()] == [Hello]
    assert (watched.outcome.what, watched.outcome.rank) == ("hang", 3), watched.outcome.text


@pytest.mark.slow
def test_a_record_that_takes_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects ranks of other hosts from being said to hang while the front end waits for a slow disk."""
    watched = step(GOES_ON, tmp_path)
    messages: list[Received] = []
    for message in watched.messages():
        messages.append(message)
        if isinstance(message, Measured):
            monkeypatch.setattr(JobStep, "_limit", lambda _, states: 3.5)
            time.sleep(4.5)
    assert watched.outcome.what == "ok", watched.outcome.text
    assert [type(message) for message in messages] == [Hello, Measured, Done]


ENDLESS = """
import sys
sys.stdout.write("x" * (5 << 20))
sys.stdout.flush()
time.sleep(0.5)
print(flush=True)
send(Done())
"""


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the front end's memory from a library that prints without end; what follows is read."""
    watched, longest = step(ENDLESS, tmp_path), [0]

    def lengths(self: JobStep, states: list[RankState]) -> None:
        longest[0] = max(longest[0], *map(len, self._partial.values()))

    monkeypatch.setattr(JobStep, "_follow", lengths)
    assert [type(message) for message in watched.messages()] == [Hello, Done]
    assert 0 < longest[0] <= job_step.LONGEST_LINE


CRASH = """
import os
call, state = "ucp_tag_send_nbx", "killed by SIGABRT"
send(RankReport("crash", 0, 1, "n0", "ucx-host", 8, 5, call, 1, state, "", [], []))
time.sleep(0.5)
os._exit(134)
"""


@pytest.mark.parametrize("first", [1, 0], ids=["killed", "aborted"])
def test_a_killed_rank_comes_before_its_peer_that_aborts(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the name of a killed rank: the last words of its peer may be read before its end is seen."""
    here = os.uname().nodename
    with subprocess.Popen(["true"]) as gone:
        pid = gone.pid
    states = [
        RankState(rank, here, pid, "ucx-host", 8, 5, 1, 60.0, "ucp_tag_send_nbx", 1 - rank, 0, "", "")
        for rank in (0, 1)
    ]
    watched = step(CRASH, tmp_path)
    note_crash = JobStep._note_crash

    def crashed(self: JobStep, report: RankReport) -> None:
        note_crash(self, report)
        self._closed += [states[first], states[1 - first]]
        self._died([states[first]])

    monkeypatch.setattr(JobStep, "_note_crash", crashed)
    monkeypatch.setattr(job_step, "read_pages", lambda _: states)
    monkeypatch.setattr(JobStep, "_follow", lambda *_: None)
    assert [type(message) for message in watched.messages()] == [Hello]
    expected = ("death", 1) if first else ("crash", 0)
    assert (watched.outcome.what, watched.outcome.rank) == expected, watched.outcome.text


STUCK = """
time.sleep(2)
send(RankReport("stuck", 0, 1, "n", "host", 1 << 27, 5, "MPI_Recv", 1, "no progress", "", [], []))
time.sleep(6)
send(Done())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("share", "what"), [(0.9, "ok"), (0.0, "hang")], ids=["starved", "hung"])
def test_a_rank_that_gets_no_cpu_does_not_hang(
    share: float, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects all larger sizes of a path on a busy machine, where its ranks go on late."""
    here = os.uname().nodename
    with subprocess.Popen(["sleep", "60"]) as rank:
        place = (here, rank.pid, "host", 1 << 27, 5, 1, 2.0, "MPI_Recv", 1, 0, "", "R")
        states = [RankState(number, *place) for number in range(4)]
        began = time.monotonic()
        monkeypatch.setattr(job_step, "waited_for_cpu", lambda _: share * (time.monotonic() - began))
        monkeypatch.setattr(job_step, "read_pages", lambda _: states)
        monkeypatch.setattr(job_step, "LONG_GRACE", 1.0)
        monkeypatch.setattr(JobStep, "_follow", lambda *_: None)
        watched = step(STUCK, tmp_path)
        list(watched.messages())
    assert watched.outcome.what == what, watched.outcome.text


WAITS = """
send(RankReport("stuck", 3, 3, "n3", "host", 8, 5, "MPI_Barrier", -1, "no progress", "", [], [], waits=True))
time.sleep(5)
send(Done())
"""
LATE_REPORT = """
send(RankReport("stuck", 3, 3, "n3", "host", 8, 5, "MPI_Barrier", -1, "no progress", "", [], []))
send(Done())
time.sleep(5)
"""


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("program", [WAITS, LATE_REPORT], ids=["others work", "all is done"])
def test_a_rank_that_only_waits_does_not_hang(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a figure that takes long from a rank that has no part in it, and does nothing meanwhile."""
    monkeypatch.setattr(job_step, "GRACE", 0.5)
    monkeypatch.setattr(job_step, "LONG_GRACE", 0.5)
    watched = step(program, tmp_path)
    assert [type(message) for message in watched.messages()] == [Hello, Done]
    assert watched.outcome.what == "ok", watched.outcome.text
