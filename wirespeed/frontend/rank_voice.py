"""What ranks in a user's own launcher say of themselves, where no front end watches: rank 0 hears it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Protocol

from wirespeed.errors import WirespeedError
from wirespeed.frontend.interruption import say
from wirespeed.frontend.rank_messages import MessageReader
from wirespeed.host import private_folder
from wirespeed.job.message_lines import send
from wirespeed.job.messages import RankError, RankReport
from wirespeed.job.status_page import RankState, alive_file, own_folder, read_pages

HEARD_S = 1.0
"""Seconds in which rank 0 has ended by an error that all ranks have."""


def run_name() -> str:
    """Name of the run's folder: the same for all ranks that a launcher's daemon starts on this host."""
    return f"job-{os.getppid()}"


def tell_rank0(message: RankError | RankReport) -> bool:
    """Writes an error, by which rank 0 ends, or a crash into the pipe that rank 0 reads.

    False where rank 0 is on another host, does not listen yet, or is gone.
    """
    file = alive_file(own_folder(run_name()), 0)
    with suppress(OSError), private_folder.opened(file.parent) as folder:
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(file.name, flags, dir_fd=folder), "wb", buffering=0) as pipe:
            send(message, pipe.fileno())
            return True
    return False


class Listener(Protocol):
    """The record that rank 0 keeps."""

    def heard(self, report: RankReport, halted: RankState | None) -> None: ...
    def broken(self, error: RankError) -> None: ...


class RankVoice:
    """Reads this rank's own watchdog: rank 0 records what it says, every rank names halted neighbours.

    Rank 0 also reads the errors and the crashes of other ranks of its host.
    """

    def __init__(self, folder: Path, listener: Listener | None, end: Callable[[int], NoReturn]) -> None:
        """`listener`: of rank 0; `end`: ends this process with an exit code."""
        self.folders, self._listener, self._end = {str(folder)}, listener, end
        try:
            self._reading, self.descriptor = self._named(folder) if listener else os.pipe()
        except OSError:
            # Other ranks' errors are then on stderr alone.
            self._reading, self.descriptor = os.pipe()

    def begin(self) -> None:
        """From here on what ranks say is heard."""
        threading.Thread(target=self._listen, daemon=True).start()

    def _named(self, folder: Path) -> tuple[int, int]:
        """Both ends of a new pipe, which other ranks open by its name. Raises OSError."""
        name = alive_file(folder, 0).name
        with private_folder.opened(private_folder.make(folder)) as descriptor:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
            os.mkfifo(name, 0o600, dir_fd=descriptor)
            end = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
        return end, os.dup(end)

    def _listen(self) -> None:
        with os.fdopen(self._reading, errors="replace") as pipe:
            reader = MessageReader()
            for line in pipe:
                _, message = reader.read(line.rstrip("\n"))
                with suppress(WirespeedError):
                    if isinstance(message, RankReport):
                        self._reported(message)
                    elif isinstance(message, RankError) and self._listener:
                        # All ranks may have this error: rank 0 then ends by itself.
                        time.sleep(HEARD_S)
                        self._listener.broken(message)
                        self._end(message.code)

    def _reported(self, report: RankReport) -> None:
        halted = self.halted() if report.kind == "stuck" else []
        for state in halted:
            say(str(state.halted()))
        if self._listener:
            self._listener.heard(report, next(iter(halted), None))
        elif report.kind != "stuck":
            # Its launcher may end rank 0 at once.
            tell_rank0(report)

    def halted(self) -> list[RankState]:
        """Ranks of this host that are stopped, or gone without an end of their own."""
        found: list[RankState] = []
        for folder in map(Path, sorted(self.folders)):
            # A folder's name may be told by a rank of another host.
            with suppress(OSError), private_folder.opened(folder):
                found += [state for state in read_pages(folder) if state.halted()]
        return found

    def dead(self, wait: float = 0.0) -> RankState | None:
        """A rank that is gone; `wait`: seconds that its process may take to its end."""
        until = time.monotonic() + wait
        while not (gone := [state for state in self.halted() if state.gone]) and time.monotonic() < until:
            time.sleep(0.01)
        return next(iter(gone), None)
