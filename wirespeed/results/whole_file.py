"""Files made from results (a report, a plot, a script, bounds): each is written whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from wirespeed import inputs, interrupts
from wirespeed.errors import WirespeedError
from wirespeed.inputs import why
from wirespeed.results.reading import START, cannot, shown

_MAX_LINKS = 40
"""Links in a row at most, as in the kernel."""


def write_whole(file: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file that the user has named, in place of an earlier one of that name.

    The content is written beside it, then renamed: a full disk costs neither the earlier file nor the name.
    Text is encoded as UTF-8. Raises WirespeedError, also for the name of a result file, which is kept, and
    for another user's link.
    """
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        target = followed(file)
        if target.exists() and not target.is_file():
            _write_into(target, data)
        elif _is_result_file(target):
            raise _never_overwritten(file)
        else:
            _replace(target, data)
    except (OSError, ValueError) as error:
        raise cannot(f"cannot write {shown(file)}: {why(error)}") from None


def replace_whole(file: Path, content: bytes) -> None:
    """The same for a file that wirespeed has named: a link of that name is replaced. Raises WirespeedError.

    Everybody knows the name, so another user may have put a link there.
    """
    try:
        _replace(file, content)
    except (OSError, ValueError) as error:
        raise cannot(f"cannot write {shown(file)}: {why(error)}") from None


def followed(file: str | os.PathLike[str]) -> Path:
    """The file that the links of this name lead to. Raises OSError for a link that another user has made.

    Owner and target are those of an open link, which nobody can replace in between.
    """
    path = Path(file)
    for _ in range(_MAX_LINKS):
        try:
            link = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return path
        try:
            status = os.fstat(link)
            if not stat.S_ISLNK(status.st_mode):
                return path
            if status.st_uid not in (os.geteuid(), 0):
                raise PermissionError(errno.EPERM, "another user has made a link of this name")
            target = os.readlink("", dir_fd=link)
        finally:
            os.close(link)
        if path.is_relative_to("/proc") and not target.startswith("/"):
            return path  # an open pipe, which has no name
        path = path.parent / target
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def refuse_unwritable(file: str) -> None:
    """Raises WirespeedError for a file that cannot be written, before anything is measured for it."""
    try:
        folder = followed(file).resolve().parent
    except (OSError, ValueError) as error:
        raise cannot(f"cannot write {shown(file)}: {why(error)}") from None
    if not folder.is_dir():
        raise cannot(f"cannot write {shown(file)}: there is no folder {shown(folder)}")
    if Path(file).is_dir() or not os.access(folder, os.W_OK):
        raise cannot(f"cannot write {shown(file)}: it is a folder, or lies in one that you may not write to")
    if _is_result_file(Path(file)):
        raise _never_overwritten(file)


def _never_overwritten(file: str | os.PathLike[str]) -> WirespeedError:
    return cannot(f"{shown(file)} is a result file, which is never overwritten: name another file")


def _is_result_file(target: Path) -> bool:
    if not target.is_file():
        return False
    with contextlib.suppress(inputs.CutOff), inputs.opened(target) as stream:
        return stream.read(len(START)) == START
    return False


def _write_into(target: Path, data: bytes) -> None:
    """A pipe, or a device; a file that has just come in its place is left alone."""
    with open(os.open(target, os.O_WRONLY | os.O_CLOEXEC), "wb") as stream:  # noqa: PTH123
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        stream.write(data)


@interrupts.deferred()
def _replace(target: Path, data: bytes) -> None:
    """An earlier file keeps its permissions."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.is_file() and not target.is_symlink() else None
    part = target.with_name(f".wirespeed-{secrets.token_hex(6)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as stream:  # noqa: PTH123
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        if mode is not None:
            part.chmod(mode)
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
