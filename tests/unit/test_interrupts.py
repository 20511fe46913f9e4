"""Signals that end a command."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest
from support.command import captured

from wirespeed import interrupts
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.statistics.stopping import Stopping, StoppingRule


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_the_first_asks_for_the_figures_and_the_second_ends() -> None:
    asked: list[str] = []
    handler = signal.getsignal(signal.SIGINT)
    with interrupts.deferred():
        interrupts.under_way(lambda: asked.append("figures"))
        press(signal.SIGTERM)
        assert interrupts.asked() and not asked, "nothing happens before a safe point"
        interrupts.check()
        interrupts.check()
        assert asked == ["figures"]
        press()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()
    assert signal.getsignal(signal.SIGINT) is handler and not interrupts.asked()


@pytest.mark.parametrize("over", [False, True])
def test_without_figures_under_way_the_first_ends(over: bool) -> None:
    with interrupts.deferred():
        if over:
            interrupts.under_way(lambda: None)
            interrupts.under_way(None)
        press(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()


def test_ranks_that_tell_nothing_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a front end that a stopped rank holds for ever."""
    monkeypatch.setattr(interrupts, "GRACE_S", 0.05)
    began = time.monotonic()
    with interrupts.deferred(), pytest.raises(KeyboardInterrupt):
        interrupts.under_way(lambda: None)
        press()
        interrupts.sleep(60.0)
    assert time.monotonic() - began < 30.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_handler_raises_nothing_where_code_cannot_bear_it(number: int) -> None:
    """Protects from an import lock that stays taken, and from lists that are half changed."""
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        for _ in range(2):
            press(number)
            reached.append(number)
        with interrupts.deferred():
            reached.append(number)
        reached.append(number)
    assert len(reached) == 4, "the end of the outermost body alone is a safe point"


def test_what_the_same_signal_broke_is_no_fault_of_its_own() -> None:
    """Protects from 'no MPI found' after a Ctrl-C that ended an `mpiexec --version`, too."""
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        press()
        raise WirespeedError("its mpiexec cannot be started", ExitCode.UNAVAILABLE)
    with pytest.raises(WirespeedError, match="no room"), interrupts.deferred():
        press()
        raise WirespeedError("no room for the results", ExitCode.CANNOT_WRITE)
    with pytest.raises(WirespeedError, match="no MPI"), interrupts.deferred():
        raise WirespeedError("no MPI", ExitCode.UNAVAILABLE)


def test_threads_are_not_interrupted() -> None:
    """Protects steps that end in threads of their own, whose messages nobody else would read."""
    raised = []

    def work() -> None:
        try:
            interrupts.check()
            with interrupts.deferred():
                pass
        except BaseException as error:
            raised.append(error)

    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        press()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        interrupts.check()
    assert not raised


def test_what_is_ignored_stays_ignored() -> None:
    """Protects a run that nohup started, whose terminal goes away."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts.deferred():
            press(signal.SIGHUP)
            interrupts.check()
            assert not interrupts.asked()
    finally:
        signal.signal(signal.SIGHUP, before)


PROGRAM = """
import os, signal
from wirespeed import interrupts
interrupts.leave_at_once()
def press(times):
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
def stuck(times):
    with interrupts.deferred():
        press(times)
        print("not yet", flush=True)
        press(1)
        print("still there", flush=True)
try:
    {body}
finally:
    print("cleaned up", flush=True)
"""


@pytest.mark.parametrize(
    ("body", "printed"),
    [("press(1)", ""), ("stuck(interrupts.AT_ONCE - 1)", "not yet\n"), ("stuck(0); press(1)", None)],
)
def test_the_end_at_once(body: str, printed: str | None) -> None:
    """Protects from a command that hangs: where nothing is to be cleaned up, and the third time anywhere."""
    command = [sys.executable, "-c", PROGRAM.replace("{body}", body)]
    done = captured(command, timeout=60)
    if printed is None:
        assert done.stdout == "not yet\nstill there\ncleaned up\n" and "KeyboardInterrupt" in done.stderr
    else:
        assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INTERRUPTED, printed, "")


def test_three_batches_make_a_figure_once_the_run_ends() -> None:
    class Batches:
        count = batches = 3
        latest = 1e-3

        def precision(self) -> float:
            return 0.3

    ending = False
    rule = StoppingRule(Stopping(max_time=60.0), 0.0, 1e-9, more_s=lambda: 60.0, ending=lambda: ending)
    assert rule.decide(Batches(), 1.0) is None
    ending = True
    assert rule.decide(Batches(), 1.0) == "interrupted"
