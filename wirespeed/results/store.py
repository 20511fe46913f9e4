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
from wirespeed.inputs import why
from wirespeed.job.plan import Plan
from wirespeed.results.model import Record
from wirespeed.results.reading import Results, cannot, read, shown
from wirespeed.results.runs import collect
from wirespeed.results.whole_file import followed
from wirespeed.statistics.stopping import INTERRUPTED

SYNC_S = 1.0
"""Data is forced to the disk at most this often, and at the end."""

SLOW_DISK_S = 2.0
"""A disk that once takes longer than this for a line is called slow."""

_NO_FIGURE = (
    *("out", "picture", "timeline", "timing", "resume", "timeout", "debug"),
    *("paths", "sizes", "oversubscribe", "launches", "budget"),
)
"""Parts of a plan that change no figure; entries of plans that agree in the rest are not measured again."""


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
            raise cannot(_refusal(self.path, error)) from None
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
            start = text.rfind(b"\n") + 1
            last = text[start:]
        if not last:
            return
        tail = Results(self.before.file)
        tail.add_line(last, 1)
        if tail.warnings:
            os.ftruncate(self._file, start)
        else:
            self._write(b"\n")

    def append(self, record: Record | Mapping[str, Any]) -> None:
        """Adds one line. Raises WirespeedError when it cannot; the file then ends with the line before."""
        line = msgspec.json.encode(record) + b"\n"
        with self._lock:
            if self._file < 0:
                raise cannot(f"cannot write {shown(self.path)}: it is closed")
            try:
                with self._timed():
                    self._write(line)
                    if time.monotonic() - self._synced >= SYNC_S:
                        self._sync()
            except OSError as error:
                kept = "everything measured before is in it: make room and go on with --resume"
                if self._new and os.fstat(self._file).st_size == 0:
                    self._drop()
                    kept = "name a file on a disk with room (--out)"
                raise cannot(f"cannot write {shown(self.path)}: {why(error)}; {kept}") from None

    def _write(self, data: bytes) -> None:
        """In one piece; what a full disk took of it is taken back."""
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

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
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
        """Forces everything to the disk. A new file that got no line goes away."""
        with self._lock:
            if self._file < 0:
                return
            try:
                with self._timed():
                    self._sync()
            except OSError as error:
                raise cannot(f"cannot write {shown(self.path)}: {why(error)}") from None
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
            if self._new and os.fstat(self._file).st_size == 0:
                self.path.unlink()
        os.close(self._file)
        self._file = -1

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_CREATE = os.O_CREAT | os.O_EXCL


def _refusal(path: Path, error: Exception) -> str:
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
