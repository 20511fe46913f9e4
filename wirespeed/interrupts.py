"""Ctrl-C, SIGTERM and SIGHUP: a command ends in order, with a valid file and no orphans.

Python runs a handler between any two of its instructions, also while a module is imported or a library draws:
what a handler raises there leaves locks taken and lists half changed. So the handler raises nothing. It ends
the process at once, unless a `deferred` body would leave something behind: then it counts, and safe points
(`check`) raise KeyboardInterrupt.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from wirespeed.errors import ExitCode, WirespeedError

GRACE_S = 3.0
"""Seconds in which ranks may finish the figures that are under way; long ones take turns for minutes."""
AT_ONCE = 3
"""Signals, the last of which ends the process wherever it is."""
POLL_S = 0.1
"""Seconds between safe points, at most, wherever something is waited for."""
_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOW_CURSOR = b"\x1b[?25h"


class _Signals:
    """The signals that this process has got during the outermost `deferred` body."""

    def __init__(self) -> None:
        self.count = self.answered = 0
        self.finish: Callable[[], None] | None = None
        self.until = 0.0
        """Time of the monotonic clock at which ranks that were asked to finish are waited for no longer."""


_signals: _Signals | None = None
"""None: nothing is to be cleaned up."""


def leave_at_once() -> None:
    """Makes Ctrl-C end this process, with 130 and without a word, outside of `deferred` bodies."""
    signal.signal(signal.SIGINT, _heed)


@contextmanager
def deferred() -> Iterator[None]:
    """Signals wait for a safe point of the body, or for the end of the outermost one.

    Raises KeyboardInterrupt there. Threads other than the main one get no signals, and defer none.
    """
    global _signals
    if _signals or not _in_main_thread():
        yield
        return
    _signals = got = _Signals()
    # What nohup, or a shell's &, makes a program ignore stays ignored.
    heeded = [number for number in _NUMBERS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, _heed) for number in heeded}
    try:
        yield
    except WirespeedError as error:
        # Ctrl-C on a terminal ends the processes, too, that the body has asked something.
        if got.count == got.answered or error.code == ExitCode.CANNOT_WRITE:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _signals = None
    if got.count > got.answered:
        raise KeyboardInterrupt


def under_way(finish: Callable[[], None] | None) -> None:
    """`finish` asks ranks for the figures that they measure now; the first signal calls it. None: there are
    none."""
    if _signals:
        _signals.finish = finish


def asked() -> bool:
    """Has there been a signal?"""
    return _signals is not None and _signals.count > 0


def check() -> None:
    """A safe point of the main thread. Raises KeyboardInterrupt where a signal wants the body to end."""
    got = _signals
    if got is None or not _in_main_thread():
        return
    if got.count == got.answered and not 0 < got.until < time.monotonic():
        return
    if got.count == 1 and got.finish and not got.until:
        got.answered, got.until = 1, time.monotonic() + GRACE_S
        got.finish()
    else:
        end()


def end() -> None:
    """Raises KeyboardInterrupt, which answers every signal so far."""
    if _signals:
        _signals.answered, _signals.until = _signals.count, 0.0
    raise KeyboardInterrupt


def sleep(seconds: float) -> None:
    """Sleeps, with safe points. Raises KeyboardInterrupt."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        check()
        time.sleep(min(left, POLL_S))
    check()


def _in_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def _heed(number: int, frame: FrameType | None) -> None:
    if _signals:
        _signals.count += 1
    if not _signals or _signals.count >= AT_ONCE:
        _leave()


def _leave() -> None:
    for terminal in (1, 2):
        with suppress(OSError):
            if os.isatty(terminal) and os.environ.get("TERM") != "dumb":
                os.write(terminal, _SHOW_CURSOR)
    os._exit(ExitCode.INTERRUPTED)
