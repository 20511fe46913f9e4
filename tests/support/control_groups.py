"""Control groups of a test's own, of either version, with a limit of CPU time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PERIOD_US = 100_000
_V1, _V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


def why_none() -> str | None:
    """Why a test may not make one; None where it may."""
    try:
        with cpu_group(1.0):
            return None
    except OSError as error:
        return f"no control group with a CPU limit can be made here: {error.strerror}"


@contextmanager
def cpu_group(cpus: float) -> Iterator[Path]:
    """A group that may use so many CPUs' time; who writes its number into `cgroup.procs` joins it."""
    base = _V1 if _V1.is_dir() else _V2
    folder = base / f"wirespeed-tests-{os.getpid()}"
    folder.mkdir()
    try:
        if base == _V1:
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (folder / "cpu.cfs_quota_us").write_text(str(round(cpus * PERIOD_US)))
        else:
            (folder / "cpu.max").write_text(f"{round(cpus * PERIOD_US)} {PERIOD_US}")
        yield folder
    finally:
        # The kernel lets go of its last process a moment later.
        for _ in range(50):
            with suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)
