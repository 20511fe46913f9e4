"""Temporary folders: those of killed processes are swept, and TMPDIR is checked before an MPI needs it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wirespeed import interrupts
from wirespeed.errors import WirespeedError
from wirespeed.host.process import process_namespace
from wirespeed.host.removal import try_to_remove_folder


def make_folder(name: str) -> str:
    """A new folder wirespeed-NAME-..., for its caller to remove; those of killed processes go away."""
    namespace = hashlib.sha256(process_namespace().encode()).hexdigest()[:8]
    prefix = f"wirespeed-{name}-{namespace}-"
    # TMPDIR may be shared with other hosts and containers: nothing here knows whether those processes run.
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        pid = folder.name.removeprefix(prefix).partition("-")[0]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            # Everybody may make a folder of such a name.
            try_to_remove_folder(folder)
    return tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-")


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """The same, removed at the end, of which signals are told (interrupts.check)."""
    with interrupts.deferred():
        folder = make_folder(name)
        try:
            yield Path(folder)
        finally:
            try_to_remove_folder(folder)


def check_temporary_folder() -> None:
    """Raises WirespeedError when TMPDIR names a folder where nothing can be made: an MPI needs one."""
    folder = os.environ.get("TMPDIR")
    if not folder:
        return
    try:
        with interrupts.deferred(), tempfile.TemporaryDirectory(prefix="wirespeed-", dir=folder):
            return
    except OSError as error:
        raise WirespeedError(
            f"TMPDIR={folder}: MPI's launchers need a folder for their files, and nothing can be made there "
            f"({error.strerror}); name another one, or unset TMPDIR"
        ) from None
