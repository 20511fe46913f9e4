"""The driver of GPUs starts while a command's modules are imported: each takes a quarter of a second."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from threading import Thread

from wirespeed.host.core import NativeError, core
from wirespeed.host.devices import kind_of
from wirespeed.launchers import launched_rank

_waking: list[Thread] = []


def wake_gpus(device: str) -> None:
    """Starts the driver of the GPUs that --device means, in a thread."""
    # A rank must not touch a GPU before MPI has started; HOME would be set while the driver reads variables.
    if kind_of(device) not in ("auto", "cuda") or launched_rank() or not os.environ.get("HOME"):
        return
    opened = core()

    def wake() -> None:
        with suppress(NativeError):
            opened.device_count("cuda")

    _waking.append(Thread(target=wake, daemon=True))
    _waking[-1].start()


def leave(code: int) -> None:
    """Ends this process if the driver is still starting, with which an orderly end would wait or race."""
    if any(thread.is_alive() for thread in _waking):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
