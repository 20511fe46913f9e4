"""Ctrl-C on a terminal, wherever the command is."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import ctrl_c
import pytest
from support.selection import slow_case

pytestmark = pytest.mark.slow(after=1)

# Ctrl-C comes while the named function runs, in whichever thread that is.
STRIKE = """
import functools, importlib, os, signal, sys
def struck(called):
    @functools.wraps(called)
    def strike(*words, **more):
        os.kill(os.getpid(), signal.SIGINT)
        return called(*words, **more)
    return strike
class Imports:
    def find_spec(self, name, path=None, target=None):
        if name == "{place}":
            os.kill(os.getpid(), signal.SIGINT)
from wirespeed.cli.start import main
sys.meta_path.insert(0, Imports())
module, _, name = "{place}".partition(":")
if name:
    holder = importlib.import_module(module)
    *outer, name = name.split(".")
    for word in outer:
        holder = getattr(holder, word)
    setattr(holder, name, struck(getattr(holder, name)))
sys.exit(main())
"""
RUN = ("pingpong", "--paths", "host", "--sizes", "8,64", "--device", "cpu")
PLACES = (
    "rich.console:Console.set_live",
    "wirespeed.report.terminal.run_summary",
    "wirespeed.results.store:Store._open",
    "wirespeed.frontend.job_step:JobStep.__init__",
    slow_case("wirespeed.frontend.session"),
    slow_case("rich.live"),
    slow_case("wirespeed.host.mpi:identify"),
    slow_case("wirespeed.frontend.job_step:JobStep._end"),
    slow_case("rich.console:Console.clear_live"),
)


@pytest.mark.parametrize("place", PLACES)
def test_wherever_it_comes(place: str, tmp_path: Path) -> None:
    """Protects from a lost Ctrl-C, from one that hangs the command, and from 'pop from empty list'."""
    words = (*RUN, "--max-time", "0.02", "--out", str(tmp_path / "r.jsonl"))
    command = [sys.executable, "-c", STRIKE.replace("{place}", place), *words]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)  # where no source tree is
        os.execve(sys.executable, command, {**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    shown = b""
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        try:
            while data := screen.read(1 << 16):
                shown += data
        except OSError:  # nobody has the terminal open any more
            pass
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = shown.decode(errors="replace")
    assert code == 130 and "Traceback" not in text and "unexpected" not in text, (code, text)


@pytest.mark.parametrize("begin", [0.0, 0.25, 0.5, 0.75, slow_case(1.0), slow_case(1.5)])
def test_at_moments_of_the_start(begin: float, tmp_path: Path) -> None:
    """The same from outside, as bench/ctrl_c.py has it a thousand times."""
    for number in range(4):
        words = [*RUN, "--max-time", "60", "--out", str(tmp_path / f"{number}.jsonl")]
        ending = ctrl_c.one(words, begin + number / 16, 120.0)
        assert ending.good, (ending.kind, ending.text)
