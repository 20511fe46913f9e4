"""What is under way, as a line that goes away: on a terminal only."""

from __future__ import annotations

import sys

from rich.status import Status
from rich.text import Text

from wirespeed.report.terminal.run_summary import make_console


class Doing:
    """A context; lines that stay are printed above the one that goes away. Everything goes to stderr."""

    def __init__(self) -> None:
        self._console = make_console(sys.stderr)
        live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._status = Status("", console=self._console) if live else None

    def now(self, text: str) -> None:
        """Says what is under way."""
        if self._status:
            self._status.update(Text(text))

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._status:
            self._console.print(Text(text), soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def __enter__(self) -> Doing:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()
