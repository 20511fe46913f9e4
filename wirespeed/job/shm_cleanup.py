"""What a killed MPI job leaves on a host: shared memory, and its launcher's folder of temporary files.

A job step's front end removes it. If that is killed, its ranks end with it, and nobody is left: so each rank
lists what it uses beside its status page, and a later run of this user removes what no process uses any more.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from wirespeed.job.status_page import GONE, own_folder, process_state, read_pages

_FOLDER = Path("/dev/shm")
_NAMES = (
    *("mpich_sh*", "vader_segment*", "sm_segment*", "osc_rdma.*", "osc_sm.*", "Intel_MPI_*"),
    *("ucx_shm_*", "nccl-*", "psm?_shm*"),
)
SUFFIX = ".uses"
"""Of the file in which a rank lists what it uses."""


def segments() -> set[Path]:
    """Segments of MPI libraries that belong to this user."""
    return {path for pattern in _NAMES for path in _FOLDER.glob(pattern) if _own(path)}


def remove_new(before: set[Path]) -> None:
    """Removes what has appeared since `before` was taken and no process maps any more."""
    _remove(segments() - before)


def remove_own() -> None:
    """Takes the names of the segments that this process maps: for a rank that ends without its MPI's end."""
    for path in map(Path, _mapped(Path("/proc/self/maps"))):
        if _is_segment(path) and _own(path):
            with suppress(OSError):
                path.unlink()


def used() -> str:
    """What this process uses, as its list has it: where process numbers hold, then a path per line."""
    mapped = sorted(path for path in _mapped(Path("/proc/self/maps")) if _is_segment(Path(path)))
    return "\n".join([_here(), *mapped, *filter(None, [os.environ.get("PMIX_SERVER_TMPDIR")])])


def sweep(older_than: float = 60.0) -> None:
    """Removes page folders of this user whose ranks are all gone, and what they list: killed front ends'."""
    for folder in own_folder("").parent.glob(f"wirespeed-{os.getuid()}-*"):
        with suppress(OSError):
            if not _own(folder) or time.time() - folder.stat().st_mtime < older_than:
                continue
            if all(state.gone for state in read_pages(folder)):
                remove_listed(folder)
                shutil.rmtree(folder)


def remove_listed(pages: Path) -> None:
    """Removes what the ranks with these pages list, as far as no process uses it. Raises OSError."""
    texts = [file.read_text().splitlines() for file in pages.glob(f"*{SUFFIX}")]
    paths = {Path(line) for here, *lines in filter(None, texts) if here == _here() for line in lines}
    _remove(path for path in paths if _is_segment(path) and _own(path))
    for path in paths:
        # Open MPI's launchers name their folder after their process: ompi.71, ompi.host.0/pid.71.
        name = re.fullmatch(r"(?:ompi|pid|dvm)\.(\d+)", path.name)
        if name and process_state(int(name[1])) in GONE and _own(path) and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
            if path.parent.name.startswith(("ompi.", "prte.")):
                with suppress(OSError):
                    path.parent.rmdir()


def _here() -> str:
    """Containers may share their memory but not their process numbers."""
    return f"{os.uname().nodename} {Path('/proc/self/ns/pid').readlink()}"


def _is_segment(path: Path) -> bool:
    return path.parent == _FOLDER and any(fnmatch(path.name, pattern) for pattern in _NAMES)


def _own(path: Path) -> bool:
    with suppress(OSError):
        return path.lstat().st_uid == os.getuid()
    return False


def _remove(paths: Iterable[Path]) -> None:
    """Those that no process maps."""
    if not (found := set(paths)):
        return
    mapped: set[str] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        mapped |= _mapped(maps)
    for path in found:
        if str(path) not in mapped:
            with suppress(OSError):
                path.unlink()


def _mapped(maps: Path) -> set[str]:
    """Files in /dev/shm that a process maps and that have still a name."""
    with suppress(OSError):
        lines = maps.read_text(errors="replace").splitlines()
        return {line.split(None, 5)[5] for line in lines if " /dev/shm/" in line and line[-1] != ")"}
    return set()
