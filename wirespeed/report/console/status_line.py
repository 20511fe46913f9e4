"""Work under way: a line that goes away on a terminal, a line now and then elsewhere. All on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from rich.status import Status
from rich.text import Text

from wirespeed.report.console.console import make_console
from wirespeed.units import duration

Clock = Callable[[], float]

SILENCE = 4.0
"""Seconds without a line, after which a pipe is told what is under way; looks are a fifth of it apart."""


def rest(expected: float, spent: float) -> float:
    """Seconds that are left; what is late is expected to take half as long again as it is late.

    Nothing is about to end just because it was expected to: 2 s at least, or a quarter of a shorter time.
    """
    return max(expected - spent, min(spent / 4, 2.0), (spent - expected) / 2)


class Teller:
    """Says what is under way whenever nothing has been said for SILENCE. Used as a context."""

    def __init__(
        self, words: Callable[[], str], write: Callable[[str], None], clock: Clock = time.monotonic
    ) -> None:
        """`words`: what is under way, empty for nothing."""
        self._words, self._write, self._clock = words, write, clock
        self._told = clock()
        self._over = threading.Event()

    def told(self) -> None:
        """Somebody has said something."""
        self._told = self._clock()

    def speak(self) -> None:
        """Says it, if it is time to."""
        if self._clock() - self._told >= SILENCE and (text := self._words()):
            self.told()
            self._write(text)

    def _speak_now_and_then(self) -> None:
        # A stream that closes ends the run where its next figure is printed.
        with suppress(OSError, ValueError):
            while not self._over.wait(SILENCE / 5):
                self.speak()

    def __enter__(self) -> Teller:
        threading.Thread(target=self._speak_now_and_then, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()


class StatusLine:
    """A context; lines that stay are printed above the one that goes away."""

    def __init__(self, clock: Clock = time.monotonic, *, live: bool = True) -> None:
        """`live`: False for what mostly takes a moment, and so has no line on a terminal until it is long."""
        self._clock = clock
        self._text, self._since = "", clock()
        self._left: float | None = None
        self._console = make_console(sys.stderr)
        live = live and self._console.is_terminal and not self._console.is_dumb_terminal
        self._status = Status(self, console=self._console) if live else None
        self._teller = Teller(self._words, self.say, clock)

    def now(self, text: str, left: float | None = None) -> None:
        """Takes what is under way from now on, and the seconds that it will take, if that is known."""
        self._text, self._left, self._since = text, left, self._clock()

    def say(self, text: str) -> None:
        """A line that stays."""
        self._teller.told()
        if self._status:
            self._console.print(Text(text), soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def _words(self) -> str:
        """'round 3 on 8 nodes  [0:12 so far, about 0:40 left]'."""
        if not self._text:
            return ""
        spent = self._clock() - self._since
        more = "" if self._left is None else f", about {duration(rest(self._left, spent))} left"
        return f"{self._text}  [{duration(spent)} so far{more}]"

    def __rich__(self) -> Text:
        return Text(self._words())

    def __enter__(self) -> StatusLine:
        self._status.start() if self._status else self._teller.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop() if self._status else self._teller.__exit__()
