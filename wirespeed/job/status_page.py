"""Reads the status pages that ranks keep in shared memory (layout: native/measure/page.hpp)."""

from __future__ import annotations

import mmap
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from wirespeed.host import private_folder
from wirespeed.host.process import printable_name, process_state
from wirespeed.units import format_size

_MAGIC = 0x3167615064707377
_HEAD = struct.Struct("=Qii64s64sQQQQdII")
_FRAMES, _CALLS, _NAME, _TEXT, _FAULT = 64, 64, 48, 4096, 256
_FRAMES_AT = _HEAD.size
_CALLS_AT = _FRAMES_AT + 8 * _FRAMES
_STACK_AT = _CALLS_AT + _CALLS * _NAME
_SIGNAL_AT = _STACK_AT + _TEXT
_ASKED_AT = _SIGNAL_AT + 4
_FAULT_AT = _ASKED_AT + 4
_WAITS_AT = _FAULT_AT + _FAULT
SIZE = _WAITS_AT + 16
STOPPED, GONE = ("T", "t"), ("", "Z", "X")
"""States from process_state(): of a process that somebody has stopped, and of one that has ended."""
EXITING = 0.5
"""Seconds that a process may take from closing its files to its end."""


@dataclass(frozen=True)
class RankIdentity:
    """A rank as it introduced itself: all that is known here of a rank on another host."""

    rank: int
    host: str
    pid: int

    def __str__(self) -> str:
        return f"rank {self.rank} on {self.host} (pid {self.pid})"


@dataclass(frozen=True)
class RankState(RankIdentity):
    """State of a rank when its page was read."""

    path: str
    bytes: int
    iteration: int
    stages: int
    timeout: float
    call: str | None
    peer: int
    signal: int
    fault: str
    state: str
    """The kernel's letter for the process (R, S, T, Z, ...); '' when it is gone."""
    stack: list[str] = field(default_factory=list)
    waits: float = 0.0
    """0: the rank has something to do. Else it waits for others, and for those of other hosts so many seconds
    longer than `timeout`."""

    @property
    def stopped(self) -> bool:
        return self.state in STOPPED

    @property
    def gone(self) -> bool:
        return self.state in GONE

    def where(self) -> str:
        """'in MPI_Recv with rank 1, 64 KiB, iteration 12'."""
        if self.path in ("start", "end"):
            return "while starting" if self.path == "start" else "at the end"
        return where(self.call, self.peer, self.bytes, self.iteration)

    def halted(self) -> str | None:
        """'is stopped (SIGSTOP) in MPI_Recv with rank 1, ...'; None while the process runs."""
        word = "is stopped (SIGSTOP)" if self.stopped else "is gone" if self.gone else None
        return word and f"{self} {word} {self.where()}"


def where(call: str | None, peer: int, size: int, iteration: int) -> str:
    """'in MPI_Recv with rank 1, 64 KiB, iteration 12'."""
    doing = f"in {call}" if call else "between calls"
    partner = f" with rank {peer}" if peer >= 0 else ""
    return f"{doing}{partner}, {format_size(size)}, iteration {iteration}"


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def read_page(file: Path) -> RankState | None:
    """The state in one page; None while the page is not there or not yet written."""
    try:
        raw = file.read_bytes()
    except OSError:
        return None
    if len(raw) < SIZE:
        return None
    head = _HEAD.unpack_from(raw)
    magic, pid, rank, host, path, size, iteration, word, stages, timeout, _ncalls, _nframes = head
    if magic != _MAGIC:
        return None
    number, peer = word & 0xFFFFFFFF, (word >> 32) - 1
    call = None
    if 0 < number <= _CALLS:
        call = _text(raw[_CALLS_AT + (number - 1) * _NAME :][:_NAME]) or None
    return RankState(
        rank=rank,
        pid=pid,
        host=printable_name(host.split(b"\0", 1)[0]),
        path=_text(path),
        bytes=size,
        iteration=iteration,
        stages=stages,
        timeout=timeout,
        call=call,
        peer=peer,
        signal=struct.unpack_from("=i", raw, _SIGNAL_AT)[0],
        fault=_text(raw[_FAULT_AT:_WAITS_AT]),
        state=process_state(pid),
        stack=_text(raw[_STACK_AT:_SIGNAL_AT]).splitlines(),
        waits=struct.unpack_from("=d", raw, _WAITS_AT)[0],
    )


def alive_file(folder: Path, rank: int) -> Path:
    """The pipe that a rank holds open as long as it runs; in a user's own launcher rank 0 reads it."""
    return folder / f"{rank}.alive"


def read_pages(folder: Path) -> list[RankState]:
    """The states of all ranks of this host, by rank."""
    files: list[Path] = []
    # The last rank of a host may remove the folder at any moment, and glob() may raise then.
    with suppress(OSError):
        files = list(folder.iterdir())
    states = [state for file in files if file.suffix == ".page" and (state := read_page(file))]
    return sorted(states, key=lambda state: state.rank)


def lost(folder: Path, patience: float) -> list[int]:
    """The ranks of this host whose process has ended, waiting for `patience` seconds that one does.

    A library may refuse a call to a peer that is being killed before that one's process is seen to be gone.
    """
    deadline = time.monotonic() + patience
    while True:
        if gone := [state.rank for state in read_pages(folder) if state.gone]:
            return gone
        if time.monotonic() > deadline:
            return []
        time.sleep(0.01)


def ask_for_stack(file: Path) -> None:
    """Makes the rank's watchdog name its frames and report, as soon as the rank runs."""
    with suppress(OSError, ValueError), file.open("r+b") as page, mmap.mmap(page.fileno(), SIZE) as memory:
        memory[_ASKED_AT : _ASKED_AT + 4] = struct.pack("=I", 1)


def own_folder(run: str, base: str = "") -> Path:
    """Folder of this host in which the ranks of a run keep their pages.

    `base`: the front end's private folder, which may have a name of its own; one that is not here, or not
    private, is passed over.
    """
    if base:
        with suppress(OSError):
            return private_folder.make(Path(base)) / run
    return private_folder.of_user() / run
