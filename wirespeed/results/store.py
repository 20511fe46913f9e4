"""The result file while it grows: lines are only ever added, and a line is there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from wirespeed import inputs
from wirespeed.errors import WirespeedError
from wirespeed.inputs import why
from wirespeed.job.plan import Plan
from wirespeed.results.model import Record
from wirespeed.results.reading import Results, cannot, read, shown
from wirespeed.results.rescue import to_disk, write_elsewhere
from wirespeed.results.runs import collect
from wirespeed.results.whole_file import followed
from wirespeed.statistics.stopping import INTERRUPTED

SYNC_S = 1.0
"""Data is forced to the disk at most this often, and at the end."""

SLOW_DISK_S = 2.0
"""A disk that once takes longer than this for a line is called slow."""

_NO_FIGURE = (
    *("out", "picture", "timeline", "timing", "resume", "timeout", "debug"),
    *("paths", "sizes", "oversubscribe", "launches", "budget", "share_gpus"),
)
"""Parts of a plan that change no figure; entries of plans that agree in the rest are not measured again."""


class _Lost(OSError):
    """The file is not what was written any more."""


def shared_gpus_before(plan: Plan) -> bool:
    """Did ranks share GPUs in the file that the plan goes on with, so that they may again?"""
    # A pipe of that name would never end; the writer refuses it.
    if not (plan.resume and plan.out and Path(plan.out).is_file()):
        return False
    with contextlib.suppress(WirespeedError):
        runs = collect(read(plan.out).records)
        return any(run.shared_gpus for run in runs if run.head.plan.pattern == plan.pattern)
    return False


def default_names() -> Iterator[Path]:
    """Names in the current folder: wirespeed-<time>.jsonl, then the same with -2, -3, ..."""
    stem = f"wirespeed-{datetime.now():%Y%m%d-%H%M%S}"
    yield Path(f"{stem}.jsonl")
    yield from (Path(f"{stem}-{number}.jsonl") for number in count(2))


class Store:
    """One run's result file, open from before anything is measured until the end."""

    def __init__(self, path: str | os.PathLike[str] | None = None, resume: bool = False) -> None:
        """Opens the file; None: a new one in the current folder, with the first name that is free.

        Raises WirespeedError if it exists (without `resume`) or cannot be written.
        """
        self.path = Path(path or "")
        self.before = Results(os.fspath(path or ""))
        """Content that the file had already, on resume."""
        self._lock = threading.RLock()
        self._synced = 0.0
        self._waited: list[float] = []
        """Seconds that each line took longer than SLOW_DISK_S."""
        self._file = -1
        self._content = bytearray()
        """Every line: a file that is lost takes its own with it."""
        self._latest, self._at = b"", 0
        """The latest line, and its place in the file."""
        if self.path.name.endswith(".gz"):
            raise cannot(
                f"{shown(self.path)}: results are written unpacked, line by line: name a file that ends in "
                ".jsonl; --resume goes on with it once gunzip has unpacked it"
            )
        try:
            self._open(path, resume)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise cannot(f"cannot go on with {shown(self.path)}: it is not a regular file")
            self._alone()
            if not self._new:
                self._go_on()
        except (OSError, ValueError) as error:
            self._drop()
            raise cannot(refusal(self.path, error)) from None
        except BaseException:
            self._drop()
            raise

    def _open(self, path: str | os.PathLike[str] | None, resume: bool) -> None:
        for self.path in default_names() if path is None else [Path(path)]:
            self._new = not (resume and self.path.exists())
            try:
                # Of several runs that try one name at the same moment, the file system lets one create it.
                how = os.O_RDWR | os.O_APPEND | (_CREATE if self._new else os.O_NOFOLLOW)
                self._file = os.open(self.path if self._new else followed(self.path), how, 0o666)
                return
            except FileExistsError:
                if path is not None:
                    raise

    def _alone(self) -> None:
        """Two runs in one file would mix their lines and cut each other's."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise cannot(f"another run is writing {shown(self.path)}; name another file (--out)") from None
        except OSError:
            # Some network file systems know no locks.
            pass

    def _go_on(self) -> None:
        """Reads what is there, and cuts off a last line that a killed run left unfinished."""
        if os.pread(self._file, len(inputs.PACKED), 0) == inputs.PACKED:
            raise cannot(f"cannot go on with {shown(self.path)}: gzip has packed it; unpack it (gunzip)")
        self.before = read(self.path)
        size = os.fstat(self._file).st_size
        if not size:
            return
        with mmap.mmap(self._file, size, mmap.MAP_PRIVATE, mmap.PROT_READ) as text:
            self._content += text
        start = self._content.rfind(b"\n") + 1
        if last := bytes(self._content[start:]):
            tail = Results(self.before.file)
            tail.add_line(last, 1)
            if tail.warnings:
                os.ftruncate(self._file, start)
                del self._content[start:]
            else:
                self._write(b"\n")
                self._content += b"\n"
        self._find_latest()

    def _find_latest(self) -> None:
        """In a file that has the content, and nothing else."""
        self._at = self._content.rfind(b"\n", 0, -1) + 1
        self._latest = bytes(self._content[self._at :])

    def append(self, record: Record | Mapping[str, Any]) -> None:
        """Adds one line. Raises WirespeedError where the file does not take it, or is lost.

        A new file has every line then, and gets those that follow. If there is room for it nowhere, the file
        ends with the line before.
        """
        line = msgspec.json.encode(record) + b"\n"
        with self._lock:
            if self._file < 0:
                raise cannot(f"cannot write {shown(self.path)}: it is closed")
            rest = line
            try:
                with self._timed():
                    self._check()
                    self._at, self._latest = self._write(line), line
                    self._content += line
                    rest = b""
                    self._check()
                    if time.monotonic() - self._synced >= SYNC_S:
                        self._sync()
            except OSError as error:
                if not self._content:
                    self._drop()
                    kept = "name a file on a disk with room (--out)"
                    raise cannot(f"cannot write {shown(self.path)}: {why(error)}; {kept}") from None
                raise self._moved(error, rest) from None

    def _check(self) -> None:
        """Raises OSError where the name leads to no file or to another one, or the latest line is gone."""
        if os.pread(self._file, len(self._latest), self._at) != self._latest:
            raise _Lost(errno.ESTALE, "somebody has cut or overwritten it")
        try:
            # Some network file systems give one file several numbers.
            if self._latest and not (self._named() or self._reached()):
                raise _Lost(errno.ESTALE, "another file has taken its place")
        except (FileNotFoundError, NotADirectoryError):
            raise _Lost(errno.ESTALE, "somebody has removed it") from None

    def _check_content(self) -> None:
        """Raises OSError where a line is not as it was written; other programs may have added theirs."""
        whole = os.pread(self._file, len(self._content) + 1, 0)
        if len(whole) == len(self._content) and whole != self._content:
            raise _Lost(errno.ESTALE, "somebody has overwritten a part of it")

    def _named(self) -> bool:
        """Is the open file the one of this name? Raises OSError."""
        return os.path.samestat(self.path.stat(), os.fstat(self._file))

    def _reached(self) -> bool:
        """Does the name lead to the latest line?"""
        # A pipe of that name would never open.
        there = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            regular = stat.S_ISREG(os.fstat(there).st_mode)
            return regular and os.pread(there, len(self._latest), self._at) == self._latest
        finally:
            os.close(there)

    def _moved(self, error: OSError, rest: bytes) -> WirespeedError:
        """Goes on in another file, with every line and this rest. Returns what has become of the old one."""
        text = f"cannot write {shown(self.path)}: {why(error)}"
        found = write_elsewhere(self.path, bytes(self._content + rest))
        if found is None:
            kept = "everything measured before is in it: make room and go on with --resume"
            if isinstance(error, _Lost):
                kept = "no other file can be written here, at home, or in a temporary folder"
            return cannot(f"{text}; {kept}")
        os.close(self._file)
        self.path, self._file = found
        self._content += rest
        self._find_latest()
        with contextlib.suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cannot(
            f"{text}; what was measured is in {shown(self.path)}: commands with --resume can go on with it"
        )

    def _write(self, data: bytes) -> int:
        """In one piece; what a full disk took of it is taken back. Returns its place in the file."""
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, data)
            while written < len(data):
                # The rest gives the reason, or there is room again.
                more = os.write(self._file, data[written:])
                if more == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                written += more
        except BaseException:
            with contextlib.suppress(OSError):
                if os.fstat(self._file).st_size < before + len(data):
                    os.ftruncate(self._file, before)
            raise
        return os.lseek(self._file, 0, os.SEEK_CUR) - len(data)

    def _sync(self) -> None:
        to_disk(self._file)
        self._synced = time.monotonic()

    def done(self, plan: Plan) -> set[tuple[str, str, int, int]]:
        """(pattern, path, bytes, launch) of the entries that the file already held for such a plan.

        Without those that cannot be true or were interrupted, which are measured again.
        """
        wanted = _figures(plan)
        same = {run.run for run in self.before.runs if _figures(run.plan) == wanted}
        runs = [run for run in collect(self.before.records) if run.name in same]
        entries = (entry for run in runs for figure in run.figures.values() for entry in figure.each)
        return {
            (entry.pattern, entry.path, entry.bytes, entry.launch)
            for entry in entries
            if not entry.impossible and entry.stopped != INTERRUPTED
        }

    def close(self) -> None:
        """Forces everything to the disk. A new file that got no line goes away.

        Raises WirespeedError as append() does.
        """
        with self._lock:
            if self._file < 0:
                return
            try:
                with self._timed():
                    self._sync()
                    self._check()
                    self._check_content()
            except OSError as error:
                raise self._moved(error, b"") from None
            finally:
                self._drop()

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        if (took := time.monotonic() - began) >= SLOW_DISK_S:
            self._waited.append(took)

    def slow(self) -> str | None:
        """Seconds that its disk kept the run waiting; None where it did not."""
        if not self._waited:
            return None
        return (
            f"the disk of {shown(self.path)} is slow: the run waited for it {sum(self._waited):.1f} s, up to "
            f"{max(self._waited):.1f} s at a time; name a file on another disk (--out)"
        )

    def _drop(self) -> None:
        if self._file < 0:
            return
        with contextlib.suppress(OSError):
            if self._new and os.fstat(self._file).st_size == 0 and self._named():
                self.path.unlink()
        os.close(self._file)
        self._file = -1

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_CREATE = os.O_CREAT | os.O_EXCL


def refusal(path: Path, error: Exception) -> str:
    """Why a file cannot be opened, and what to do."""
    name = shown(path)
    with contextlib.suppress(OSError, ValueError):
        if path.is_dir():
            return f"{name} is a folder: name a file in it (--out {name.rstrip('/')}/NAME.jsonl)"
    if isinstance(error, FileExistsError) and not path.is_file():
        return f"{name} is not a regular file: name another file (--out)"
    if isinstance(error, FileExistsError):
        return f"{name} exists: name another file (--out); commands with --resume can go on with it"
    if isinstance(error, FileNotFoundError) and not path.parent.is_dir():
        folder = shown(path.parent)
        return f"cannot write {name}: there is no folder {folder}; make it or name another file (--out)"
    return f"cannot write {name}: {why(error)}; name a file in a folder where you may write (--out)"


def _figures(plan: Plan) -> bytes:
    """The parts of a plan that its figures depend on, as one text."""
    usual = Plan()
    return msgspec.json.encode(replace(plan, **{name: getattr(usual, name) for name in _NO_FIGURE}))
