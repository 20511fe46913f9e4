"""Leftovers of a killed MPI job on a host: shared memory, and its launcher's folder of temporary files.

Each rank lists what it uses beside its status page. A job step's front end removes it in the end; if that is
killed, its ranks end with it, and a later run of this user does. What a process still uses stays, and so does
what no rank of the job has used and is older than the job: other jobs, even of other containers, may share
/dev/shm, and Open MPI's names are 16 bits of a hash.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from wirespeed.host import private_folder
from wirespeed.host.process import process_namespace, process_state
from wirespeed.host.removal import remove_folder, try_to_remove_folder
from wirespeed.job.status_page import GONE, read_pages

RAW = "surrogateescape"
"""Paths may have bytes that are no UTF-8."""
_FOLDER = Path("/dev/shm")
NAMES = (
    *("mpich_sh*", "vader_segment*", "sm_segment*", "osc_rdma.*", "osc_sm.*", "Intel_MPI_*"),
    *("impi*", "shm-col-space-*", "ib_shmem*", "cm_shmem*", "mv2_*", "cray-shared-mem*"),
    *("ucx_shm_*", "nccl-*", "psm?_shm*", "nvshmem*", "GASNT*"),
)
"""Shared memory of MPI libraries, as patterns of a shell."""
JOBS = "jf.0"
"""Below it Open MPI 5's ranks have a folder for their job."""
_WORD = 0xFFFFFFFF
SUFFIX = ".uses"
"""End of the name of the file in which a rank lists what it uses."""
_FORETOLD = f"launcher{SUFFIX}"
"""List of names that ranks may use; it is as old as the launcher."""
_BEHIND = 0.1
"""Seconds by which a file's time may be behind the clock."""


def segments_of(*pids: int | str) -> set[Path]:
    """Segments of MPI libraries that these processes ("self": this one) map."""
    files = (file for pid in pids for file in _mapped(Path(f"/proc/{pid}/maps")))
    return set(filter(_is_segment, map(Path, files)))


def remove_own() -> None:
    """Takes the names of the segments that this process maps: for a rank that ends without its MPI's end."""
    for path in filter(_own, segments_of("self")):
        with suppress(OSError):
            path.unlink()


def used() -> str:
    """Files that this process uses, from its list: where process numbers hold, then a path per line."""
    mapped = sorted(map(str, segments_of("self")))
    return "\n".join([process_namespace(), *mapped, *filter(None, [os.environ.get("PMIX_SERVER_TMPDIR")])])


def list_launcher(pages: Path, pid: int, temporary: Path, ranks: int, since: float) -> None:
    """Lists what Open MPI's launcher and ranks may leave, before any rank can. Raises OSError.

    `since`: the time before the launcher's start.
    """
    host = os.uname().nodename
    user = f"ompi.{host.partition('.')[0]}.{os.getuid()}"
    found = [temporary / f"ompi.{pid}", temporary / user / f"pid.{pid}"]
    for name in dict.fromkeys((host, host.partition(".")[0])):
        for segment, job in _open_mpi_jobs(name, pid).items():
            found.append(temporary / user / JOBS / str(job))
            found += [_FOLDER / f"{segment}.{name}.{os.getuid()}.{job:x}.{rank}" for rank in range(ranks)]
    with os.fdopen(private_folder.create(private_folder.make(pages), _FORETOLD), "w", errors=RAW) as file:
        file.write("\n".join([process_namespace(), *map(str, found)]))
        file.flush()
        os.utime(file.fileno(), (since, since))


def _open_mpi_jobs(host: str, pid: int) -> dict[str, int]:
    """The number of the first job of a launcher with this process number, by how it names its segments.

    Open MPI 5 makes it of its namespace, Open MPI 4 of the host's name and the process number.
    """
    families = {
        "sm_segment": _folded(f"prterun-{host}-{pid}"),
        "vader_segment": _folded(host) ^ (pid & 0xFFFF),
    }
    return {segment: family << 16 | 1 for segment, family in families.items()}


def _folded(text: str) -> int:
    """Jenkins's one-at-a-time hash (www.burtleburtle.net/bob/hash/doobs.html), folded to 16 bits."""
    found = 0
    for letter in os.fsencode(text):
        found = (found + letter) * 1025 & _WORD
        found ^= found >> 6
    found = found * 9 & _WORD
    found = (found ^ found >> 11) * 32769 & _WORD
    return (found >> 16) ^ (found & 0xFFFF)


def sweep(older_than: float = 60.0) -> None:
    """Removes page folders of this user whose ranks are all gone, and what they list: killed front ends'."""
    bases = private_folder.all_of_user()
    for folder in (run for base in bases for run in base.glob("*") if run.is_dir()):
        with suppress(OSError):
            if not _own(folder) or time.time() - folder.stat().st_mtime < older_than:
                continue
            # What runs on another host or in another container cannot be seen from here.
            lists = _lists(folder).values()
            known = all(where == process_namespace() for where, *_ in lists)
            # Ranks at their end have no page any more, but a list, which their front end still needs.
            launchers = [_launcher(Path(line)) for _, *lines in lists for line in lines]
            ended = all(pid is None or process_state(pid) in GONE for pid in launchers)
            if known and ended and all(state.gone for state in read_pages(folder)):
                remove_listed(folder)
                remove_folder(folder)
    for base in bases:
        # One that a process made for itself alone goes with its last run.
        with suppress(OSError):
            if base.name.count("-") > 1 and time.time() - base.stat().st_mtime >= older_than:
                private_folder.remove_left(base)


def remove_listed(pages: Path) -> None:
    """Removes what the ranks with these pages list, as far as no process uses it. Raises OSError."""
    here = process_namespace()
    lists = {
        name: [Path(line) for line in lines]
        for name, (where, *lines) in _lists(pages).items()
        if where == here
    }
    if _FORETOLD in lists:
        since = (pages / _FORETOLD).stat().st_mtime - _BEHIND
        seen = {path for name, paths in lists.items() if name != _FORETOLD for path in paths}
        lists[_FORETOLD] = [
            path for path in lists[_FORETOLD] if path in seen or not (_is_hash(path) and _older(path, since))
        ]
    remove_unused(filter(_is_segment, {path for paths in lists.values() for path in paths}))
    for paths in lists.values():
        launchers = [pid for pid in map(_launcher, paths) if pid]
        gone = bool(launchers) and all(process_state(pid) in GONE for pid in launchers)
        for path in paths:
            folder = _launcher(path) is not None or path.parent.name == JOBS
            if gone and folder and _own(path) and not path.is_symlink():
                try_to_remove_folder(path)
                for above in path.parents[:2]:
                    if above.name == JOBS or above.name.startswith(("ompi.", "prte.")):
                        with suppress(OSError):
                            above.rmdir()


def left_behind(
    folder: Path = _FOLDER, older_than: float = 60.0, *, others: bool = False
) -> dict[Path, os.stat_result]:
    """Segments of MPI libraries and NCCL that no process seen here uses; none is removed.

    `others`: files of other names instead, which may be wanted all the same.
    """
    found: dict[Path, os.stat_result] = {}
    for path in sorted(folder.glob("*")):
        if any(fnmatch(path.name, pattern) for pattern in NAMES) != others:
            # Others' jobs end meanwhile.
            with suppress(FileNotFoundError):
                found[path] = path.lstat()
    latest, own = time.time() - older_than, os.geteuid()
    found = {
        path: status
        for path, status in found.items()
        if stat.S_ISREG(status.st_mode) and own in (0, status.st_uid) and status.st_mtime < latest
    }
    used = _in_use() if found else set()
    return {path: status for path, status in found.items() if status.st_ino not in used}


def _in_use() -> set[int]:
    """Inodes of what any process maps of /dev/shm, or holds open there."""
    found: set[int] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            for line in (process / "maps").read_text(errors="replace").splitlines():
                if " /dev/shm/" in line:
                    found.add(int(line.split(None, 5)[4]))
            for file in (process / "fd").iterdir():
                with suppress(OSError):
                    if str(file.readlink()).startswith("/dev/shm/"):
                        found.add(file.stat().st_ino)
    return found


def remove_unused(segments: Iterable[Path]) -> None:
    """Removes those that belong to this user and that no process maps."""
    if not (found := set(filter(_own, segments))):
        return
    mapped: set[str] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        mapped |= _mapped(maps)
    for path in found:
        if str(path) not in mapped:
            with suppress(OSError):
                path.unlink()


def _launcher(path: Path) -> int | None:
    """Open MPI's launchers name their folder after their process: ompi.71, ompi.host.0/pid.71."""
    name = re.fullmatch(r"(?:ompi|pid|dvm)\.(\d+)", path.name)
    return int(name[1]) if name else None


def _lists(pages: Path) -> dict[str, list[str]]:
    """Lists by the names of their files; without those that are being written (empty) or have just gone."""
    found: dict[str, list[str]] = {}
    for file in pages.glob(f"*{SUFFIX}"):
        with suppress(FileNotFoundError):
            if lines := file.read_text(errors=RAW).splitlines():
                found[file.name] = lines
    return found


def _is_hash(path: Path) -> bool:
    """Is it named after a job's number, which another job may have, too?"""
    return _is_segment(path) or path.parent.name == JOBS


def _older(path: Path, since: float) -> bool:
    with suppress(OSError):
        return path.lstat().st_mtime < since
    return False


def _is_segment(path: Path) -> bool:
    return path.parent == _FOLDER and any(fnmatch(path.name, pattern) for pattern in NAMES)


def _own(path: Path) -> bool:
    with suppress(OSError):
        return path.lstat().st_uid == os.getuid()
    return False


def _mapped(maps: Path) -> set[str]:
    """Files in /dev/shm that a process maps and that have still a name."""
    with suppress(OSError):
        lines = maps.read_text(errors="replace").splitlines()
        return {line.split(None, 5)[5] for line in lines if " /dev/shm/" in line and line[-1] != ")"}
    return set()
