"""Signals that end a run."""

from __future__ import annotations

import os
import signal
import time

import pytest

from wirespeed.frontend import interrupts as module
from wirespeed.frontend.interrupts import Interrupts
from wirespeed.statistics.stopping import Stopping, StoppingRule


def test_the_first_asks_for_the_figures_and_the_second_ends() -> None:
    asked: list[str] = []
    interrupts, handler = Interrupts(), signal.getsignal(signal.SIGINT)
    with interrupts.heeded():
        interrupts.under_way(lambda: asked.append("figures"))
        os.kill(os.getpid(), signal.SIGTERM)
        assert asked == ["figures"] and interrupts.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0, "no alarm comes after the run"


def test_an_alarm_of_its_own_stays_a_programs() -> None:
    """Protects a program that calls wirespeed: its alarm is neither an interrupt nor lost."""
    rang: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rang.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with Interrupts().heeded():
            time.sleep(0.1)
        signal.setitimer(signal.ITIMER_REAL, 60.0)
        with Interrupts().heeded():
            pass
        assert rang == [signal.SIGALRM] and signal.getitimer(signal.ITIMER_REAL)[0] > 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("over", [False, True])
def test_without_figures_under_way_the_first_ends(over: bool) -> None:
    interrupts = Interrupts()
    with interrupts.heeded(), pytest.raises(KeyboardInterrupt):
        if over:
            interrupts.under_way(lambda: None)
            interrupts.under_way(None)
        os.kill(os.getpid(), signal.SIGHUP)


def test_ranks_that_tell_nothing_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a front end that a stopped rank holds for ever."""
    monkeypatch.setattr(module, "GRACE_S", 0.05)
    interrupts = Interrupts()
    with interrupts.heeded(), pytest.raises(KeyboardInterrupt):
        interrupts.under_way(lambda: None)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5.0)


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
