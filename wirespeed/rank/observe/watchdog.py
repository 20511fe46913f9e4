"""A rank's status page, and the watchdog that reports when it shows no progress."""

from __future__ import annotations

import faulthandler
import fcntl
import os
import resource
from contextlib import suppress

from wirespeed.host import private_folder
from wirespeed.host.core import Core
from wirespeed.job import shm_cleanup
from wirespeed.job.status_page import alive_file, own_folder

USUAL_FILES = 1024
"""Descriptors that the kernel's table of a usual process has room for."""


class Watchdog:
    """This rank's status page and watchdog."""

    def __init__(
        self,
        opened: Core,
        run: str,
        rank: int,
        reports: int,
        give_up: bool,
        read_here: bool = True,
        base: str = "",
    ) -> None:
        """`read_here`: the front end on this host reads the files; otherwise they are unlinked at once.

        `base`: the front end's private folder.
        """
        self._core, self._reports, self._give_up = opened, reports, give_up
        folder = private_folder.make(own_folder(run, base) if read_here else own_folder(f"{run}-{rank}"))
        self.file = folder / f"{rank}.page"
        self._stack, self._uses = folder / f"{rank}.python", folder / f"{rank}{shm_cleanup.SUFFIX}"
        self._used = ""
        self.held = -1
        """Descriptor of the pipe that only this rank's end closes; -1: none."""
        self._alive = alive_file(folder, rank)
        if read_here and not give_up:
            self._hold_open()
        os.close(private_folder.create(folder, self.file.name))
        self.page = opened.check(opened.lib.ws_page_open(str(self.file).encode(), rank))
        self._python = os.fdopen(private_folder.create(folder, self._stack.name), "w")
        stack = str(self._stack)
        if not read_here:
            self.close()
            stack = f"/proc/self/fd/{self._python.fileno()}"
        self.catch()
        names = "\n".join(shm_cleanup.NAMES).encode() if give_up else opened.ffi.NULL
        opened.check(opened.lib.ws_watchdog_start(self.page, reports, stack.encode(), names))
        faulthandler.register(opened.lib.ws_stack_signal(), file=self._python, all_threads=False, chain=True)

    def _hold_open(self) -> None:
        """Opens a pipe that the front end listens to, with the highest descriptor that is usual.

        When a process ends, Linux releases the files with high descriptors first (task_work_run() begins with
        the last): so this one closes before the sockets by which launchers and peers hear of the end.
        """
        # Without it the order of two deaths is less sure, and nothing else is lost.
        with suppress(OSError):
            with private_folder.opened(self._alive.parent) as folder:
                os.mkfifo(self._alive.name, 0o600, dir_fd=folder)
                flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
                end = os.open(self._alive.name, flags, dir_fd=folder)
            allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            self.held = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, min(allowed, USUAL_FILES) - 1)
            os.close(end)

    def catch(self) -> None:
        """Puts the crash handlers in place, again after a library has put its own there."""
        opened = self._core
        opened.check(opened.lib.ws_page_catch_crashes(self.page, self._reports, int(self._give_up)))

    def stage(self, path: str, size: int, timeout: float) -> None:
        self.turn(path, size, timeout)
        self.list_uses()

    def turn(self, path: str, size: int, timeout: float) -> None:
        """As stage(), where nothing has come to be used since the last one."""
        self._core.lib.ws_page_stage(self.page, path.encode(), size, timeout)

    def list_uses(self) -> None:
        """Lists what a cleanup has to look for once this rank has been killed."""
        if self.file.exists() and (used := shm_cleanup.used()) != self._used:
            self._used = used
            with suppress(OSError):
                # A rank may be killed at any moment, and its list is needed whole.
                new = self._uses.with_suffix(".new")
                with os.fdopen(
                    private_folder.create(new.parent, new.name), "w", errors=shm_cleanup.RAW
                ) as file:
                    file.write(used)
                new.replace(self._uses)

    def close(self, keep_list: bool = False) -> None:
        """Removes the files; the last rank of a host takes the folder with it.

        `keep_list`: the front end still needs to know what MPI uses, which may not come to its end.
        """
        for file in (self.file, self._stack, self._alive, *([] if keep_list else [self._uses])):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            self.file.parent.rmdir()
