"""Files made from results (a report, a plot, a script, bounds): each is written whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from wirespeed.errors import WirespeedError
from wirespeed.results.reading import START, cannot, shown, why


def write_whole(file: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file, in place of an earlier one of that name.

    The content is written beside it, then renamed: a full disk costs neither the earlier file nor the name.
    Text is encoded as UTF-8. Raises WirespeedError, also for the name of a result file, which is kept.
    """
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        target = Path(file)
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a pipe, or a device
        elif _is_result_file(target):
            raise _never_overwritten(file)
        else:
            _replace(target.resolve(), data)
    except (OSError, ValueError, RuntimeError) as error:
        raise cannot(f"cannot write {shown(file)}: {why(error)}") from None


def refuse_unwritable(file: str) -> None:
    """Raises WirespeedError for a file that cannot be written, before anything is measured for it."""
    folder = Path(file).resolve().parent
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
    with target.open("rb") as stream:
        return stream.read(len(START)) == START


def _replace(target: Path, data: bytes) -> None:
    """An earlier file keeps its permissions."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
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
