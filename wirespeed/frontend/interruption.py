"""A signal that ends the job of a user's own launcher: the result file gets its last record in time.

Of SIGINT or SIGTERM to mpirun Open MPI makes SIGTERM to the ranks, and SIGKILL 0.2 s (Open MPI 5) or 1 s (4)
later; Hydra passes both on and waits. Python runs handlers between its own instructions, and a rank whose
peer has ended never comes back from MPI: so a thread reads the signals' numbers from a pipe.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from wirespeed.host.process import command_name
from wirespeed.results.decoding import printable

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DROP_OUTPUT = ("prterun", "prte")
"""Launchers that throw away what ranks print once they end them."""
_FORWARDED_S = 0.5
"""Seconds in which a launcher has read what a rank wrote: at the rank's end it may forget the rest."""


class Interruption:
    """Calls `act` in a thread of its own once a signal ends this job; `act` ends the process."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self.catch()
        threading.Thread(target=self._listen, daemon=True).start()

    def catch(self) -> None:
        """Puts the handlers in place, again after a library has put its own there."""
        for number in _NUMBERS:
            # What nohup or a shell's & makes a program ignore stays ignored.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)

    def _listen(self) -> None:
        while got := os.read(self._reading, 1):
            if got[0] in _NUMBERS:
                self._act()


def say(text: str) -> None:
    """A line on stderr that arrives even while the launcher ends the job."""
    launcher = os.getppid()
    with suppress(OSError):
        if command_name(launcher) in _DROP_OUTPUT:
            how = os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_NONBLOCK
            os.write(os.open(f"/proc/{launcher}/fd/2", how), _line(text))
            return
    with suppress(OSError):
        os.write(2, _line(text))


def last_words(text: str) -> None:
    """A line on stderr of a rank that ends by itself, and the time in which a launcher forwards it.

    What is written behind a launcher's back (say) is lost where the launcher writes into the same file.
    """
    with suppress(OSError):
        os.write(2, _line(text))
    time.sleep(_FORWARDED_S)


def _line(text: str) -> bytes:
    return f"wirespeed: {printable(text)}\n".encode(errors="replace")
