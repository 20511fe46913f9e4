"""Obstacles between ranks of one host: namespaces, another /dev/shm, memory that may not be read."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from wirespeed.host.process import host_name
from wirespeed.paths import TransferPath
from wirespeed.rank.world import World

REMEDIES = {
    "pid": "PID namespaces differ, so there are no IPC handles of GPUs and no copies between processes: "
    "--pid=container:NAME or --pid=host",
    "user": "user namespaces differ, so there are no copies between processes (CMA): --userns=host",
    "ipc": "IPC namespaces differ, so there are no IPC handles of GPUs: --ipc=container:NAME or --ipc=host",
    "shm": "each has a /dev/shm of its own, so there is no shared memory: --ipc=container:NAME or --ipc=host",
}
"""Words for what two ranks of a host do not share, and the options of Docker and Podman that help."""
_ALONE = ("tcp", "copy", "gasnet")
"""Transports that need nothing of it."""
_WORD = b"wirespee"
_shown = ctypes.create_string_buffer(_WORD)
"""Bytes for another rank to read, as long as this process lives."""


class Apart(NamedTuple):
    """Obstacles of this rank, and of all."""

    copies: str | None
    """Outcome of reading another rank's memory (process_vm_readv): works, or why not; None: no other here."""
    own: tuple[str, ...]
    """Kinds of REMEDIES in which this rank differs from the first one of its host."""
    all_: dict[str, int]
    """Kinds in which any does, with the first rank that does."""

    def words(self, path: TransferPath) -> str:
        """'; rank 1 and the first one of its host: PID namespaces differ, ...'; empty where nothing is in the
        path's way.
        """
        if path.transport in _ALONE or not self.all_:
            return ""
        found = "; ".join(words for kind, words in REMEDIES.items() if kind in self.all_)
        return f"; rank {min(self.all_.values())} and the first one of its host: {found}"


TOGETHER = Apart(None, (), {})


def look(comm: World) -> Apart:
    """Collective. Tries what MPIs and drivers rely on, between ranks that have joined."""
    every = comm.everyone(_own())
    mine = every[comm.rank]
    here = [rank for rank, other in enumerate(every) if other["host"] == mine["host"]]
    others = here[here.index(comm.rank) + 1 :] + here
    copies = _read(every[others[0]]) if len(here) > 1 else None
    each = [_kinds(rank, every) for rank in range(len(every))]
    first = {kind: rank for rank in reversed(range(len(each))) for kind in each[rank]}
    # Nobody's bytes may go before they are read.
    comm.barrier()
    return Apart(copies, each[comm.rank], first)


def from_parent() -> str:
    """What this process does not share with the one that started it, in words; empty for what is not known.

    An MPI hangs as it starts where ranks do not share what it needs, before they can compare it.
    """
    parent = os.getppid()
    if not parent:
        return REMEDIES["pid"]
    mine, place = _own(), Path("/proc", str(parent))
    found = []
    with suppress(OSError):
        for kind in ("pid", "user", "ipc"):
            try:
                same = str((place / "ns" / kind).readlink()) == mine.get(kind)
            except PermissionError:
                # A process of another user hides its namespaces; one of this user those of another user's.
                same = kind != "user" or place.stat().st_uid != os.geteuid()
            found += [] if same else [kind]
    with suppress(OSError):
        found += [] if _device(place / "root/dev/shm") == mine.get("shm") else ["shm"]
    return "; ".join(words for kind, words in REMEDIES.items() if kind in found)


def _device(folder: Path) -> str:
    status = folder.stat()
    return f"{status.st_dev}:{status.st_ino}"


def _own() -> dict[str, Any]:
    found: dict[str, Any] = {
        "host": f"{host_name()} {_boot()}",
        "process": os.getpid(),
        "address": ctypes.addressof(_shown),
    }
    for kind in ("pid", "user", "ipc"):
        with suppress(OSError):
            found[kind] = str(Path("/proc/self/ns", kind).readlink())
    with suppress(OSError):
        found["shm"] = _device(Path("/dev/shm"))
    return found


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _kinds(rank: int, every: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Kinds in which the rank differs from the first one of its host."""
    mine = every[rank]
    first = next(other for other in every if other["host"] == mine["host"])
    return tuple(kind for kind in REMEDIES if mine.get(kind) != first.get(kind))


class _Part(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


def _read(other: dict[str, Any]) -> str:
    """Reads eight bytes of another rank, as MPIs do."""
    into = ctypes.create_string_buffer(len(_WORD))
    here = _Part(ctypes.addressof(into), len(_WORD))
    there = _Part(int(other["address"]), len(_WORD))
    libc = ctypes.CDLL(None, use_errno=True)
    process = ctypes.c_int(int(other["process"]))
    got = libc.process_vm_readv(
        process,
        ctypes.byref(here),
        ctypes.c_ulong(1),
        ctypes.byref(there),
        ctypes.c_ulong(1),
        ctypes.c_ulong(0),
    )
    if got == len(_WORD) and into.raw == _WORD:
        return "works"
    # In another PID namespace the number is another process's, or nobody's.
    return os.strerror(ctypes.get_errno()) if got < 0 else "it is another process"
