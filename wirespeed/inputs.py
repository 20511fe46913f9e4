"""Files from outside (results, requirements, topologies, lists of hosts), read within limits.

Files packed by gzip are unpacked while they are read; the limits hold for what is in them.
"""

from __future__ import annotations

import io
import os
import re
import select
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wirespeed.toml import parse
from wirespeed.units import format_size

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

File = str | os.PathLike[str]

LONGEST_LINE = 16 << 20
"""Bytes of a line without its end, and of a file that is no list of lines."""
LARGEST_FILE = 1 << 30
"""Bytes."""
DEEPEST = 64
"""Levels of lists and tables, one within the other."""
PATIENCE_S = 2.0
"""A pipe that gives nothing for so long is named."""
PACKED = b"\x1f\x8b"
"""Beginning of a file packed by gzip."""

notice: Callable[[str], object] = warnings.warn
"""Takes the line about a pipe that is waited for; the command line sets its own."""

_BLOCK = 1 << 20
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_NO_MARKS = bytes(letter for letter in range(256) if letter not in b'"[]{}')


class BeyondLimits(ValueError):
    """A file that is not read; the text says why, and fits behind 'cannot read FILE: '."""


class CutOff(ValueError):
    """A packed file that gives no more; what was read before is good."""


def lines(file: File) -> Iterator[bytes]:
    """Lines with their ends; of one longer than LONGEST_LINE the first LONGEST_LINE + 1 bytes.

    Raises OSError, ValueError where the file cannot be read; what was read before is good.
    """
    _check_unpacked(file)
    total = 0
    with opened(file) as stream:
        while line := stream.readline(LONGEST_LINE + 1):
            yield line
            total += len(line)
            while not line.endswith(b"\n") and total <= LARGEST_FILE:
                if not (line := stream.readline(LONGEST_LINE + 1)):
                    break
                total += len(line)
            if total > LARGEST_FILE:
                raise BeyondLimits(f"it holds more than {format_size(LARGEST_FILE)}")


def text(file: File, encoding: str = "utf-8", errors: str = "strict", *, pipes: bool = True) -> str:
    """The whole content, LONGEST_LINE bytes at most.

    `pipes`: False for a file that others read as well. Raises OSError, ValueError where it cannot be read.
    """
    with opened(file, pipes=pipes) as stream:
        content = stream.read(LONGEST_LINE + 1)
    if len(content) > LONGEST_LINE:
        raise BeyondLimits(f"it is longer than {format_size(LONGEST_LINE)}")
    return content.decode(encoding, errors)


def files_below(folder: Path) -> list[Path]:
    """All files below a folder, in the order of their names; links to folders are not followed.

    Folders that cannot be read are left out. Raises OSError where the first one cannot.
    """
    found: list[Path] = []
    left = [folder]
    while left:
        here = left.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    kind = left if entry.is_dir(follow_symlinks=False) else found
                    kind.append(here / entry.name)
        except OSError:
            if here == folder:
                raise
    return sorted(found)


def of_json(content: bytes | str) -> Any:
    """The value of a JSON text. Raises ValueError."""
    import json

    check_depth(content if isinstance(content, bytes) else content.encode(errors="surrogatepass"))
    return json.loads(content)


def of_toml(content: str) -> dict[str, Any]:
    """The table of a TOML text. Raises ValueError."""
    try:
        found = parse(content)
    except RecursionError:
        raise _too_deep() from None
    level: list[Any] = [found]
    for _ in range(DEEPEST):
        inside = [one.values() if isinstance(one, dict) else one for one in level]
        level = [item for items in inside for item in items if isinstance(item, dict | list)]
    if level:
        raise _too_deep()
    return found


def check_depth(content: bytes) -> None:
    """Raises BeyondLimits for JSON that is nested deeper than DEEPEST."""
    if content.count(b"[") + content.count(b"{") <= DEEPEST:
        return
    marks = _ESCAPED.sub(b"", content).translate(_AS_LISTS, _NO_MARKS)
    # Every second piece is a text, whose brackets do not count.
    brackets = b"".join(marks.split(b'"')[::2])
    for _ in range(DEEPEST):
        brackets = brackets.replace(b"[]", b"")
    if b"[]" in brackets or brackets.count(b"[") > DEEPEST:
        raise _too_deep()


def _too_deep() -> BeyondLimits:
    return BeyondLimits(f"it is nested deeper than {DEEPEST} levels")


def why(error: Exception) -> str:
    """The reason of an error of these functions, without the number and the name."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return getattr(error, "strerror", None) or str(error)


@contextmanager
def opened(file: File, *, pipes: bool = True) -> Iterator[io.BufferedIOBase]:
    """The file's bytes, unpacked. Raises OSError, ValueError, also while it is read."""
    # Before it is opened, too: that alone sets some devices going.
    _check_kind(Path(file).stat(), pipes=pipes)
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with io.BufferedReader(_Patient(descriptor, file), _BLOCK) as stream:
        _check_kind(os.fstat(descriptor), pipes=pipes)
        if not stream.peek(len(PACKED)).startswith(PACKED):
            yield stream
            return
        with _unpacked(stream) as content:
            yield content


@contextmanager
def _unpacked(stream: io.BufferedReader[_Patient]) -> Iterator[io.BufferedIOBase]:
    import gzip
    import zlib

    try:
        with gzip.GzipFile(fileobj=stream) as content:
            yield content
    except EOFError:
        raise CutOff("gzip's data are cut off") from None
    except (gzip.BadGzipFile, zlib.error):
        raise CutOff("gzip's data are damaged") from None


def _check_unpacked(file: File) -> None:
    """Raises BeyondLimits for a packed file that holds too much, before any line of it takes memory."""
    if not Path(file).is_file():
        return  # a pipe is read once
    with suppress(CutOff), opened(file) as stream:
        if isinstance(stream, io.BufferedReader):
            return
        total = 0
        while block := stream.read(_BLOCK):
            total += len(block)
            if total > LARGEST_FILE:
                raise BeyondLimits(f"it holds more than {format_size(LARGEST_FILE)}")


def _check_kind(status: os.stat_result, *, pipes: bool) -> None:
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise BeyondLimits("it is a device")
    if stat.S_ISFIFO(status.st_mode) and not pipes:
        raise BeyondLimits("it is a pipe, which only one can read")
    if stat.S_ISREG(status.st_mode) and status.st_size > LARGEST_FILE:
        raise BeyondLimits(f"it holds more than {format_size(LARGEST_FILE)}")


class _Patient(io.RawIOBase):
    """A descriptor that never blocks, waited for; it is closed with this."""

    def __init__(self, descriptor: int, file: File) -> None:
        self._descriptor, self._file = descriptor, file
        self._said = False
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while True:
            if not self._said and not self._poll.poll(1000 * PATIENCE_S):
                self._said = True
                name = os.fspath(self._file)
                notice(f"{name}: a pipe, from which nothing has come for {PATIENCE_S:g} s; still waiting")
            self._poll.poll()
            try:
                return os.readv(self._descriptor, [buffer])
            except BlockingIOError:
                continue

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()
