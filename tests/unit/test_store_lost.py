"""A result file that is lost while it grows: what was measured goes to another one, which a line names."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.results import entry, run
from unit.test_store import open_descriptors, refused

from wirespeed.errors import WirespeedError
from wirespeed.results.reading import read
from wirespeed.results.store import Store

Strike = Callable[[Path], object]


def _replace(file: Path, text: str) -> None:
    other = file.with_name("other")
    other.write_text(text)
    other.replace(file)


def _copy(file: Path) -> None:
    """As some editors save."""
    _replace(file, file.read_text())


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _refill(file: Path) -> None:
    size = file.stat().st_size
    os.truncate(file, 0)
    os.truncate(file, 2 * size)


def _no_folder(file: Path) -> None:
    shutil.rmtree(file.parent)
    file.parent.write_text("Hello.\n")


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


STRIKES: dict[str, Strike] = {
    "removed": Path.unlink,
    "renamed": lambda file: file.rename(file.with_name("elsewhere.jsonl")),
    "its folder removed": lambda file: shutil.rmtree(file.parent),
    "its folder renamed": lambda file: file.parent.rename(file.parent.with_name("moved")),
    "its folder a file": _no_folder,
    "emptied": lambda file: os.truncate(file, 0),
    "cut": lambda file: os.truncate(file, file.stat().st_size - 3),
    "written over": _refill,
    "replaced": lambda file: _replace(file, "Hello.\n"),
    "replaced by a copy": _copy,
    "replaced by a pipe": _pipe,
    "replaced by a folder": _folder,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the file; the current one, home and temporary files are others."""
    for name in ("file", "here", "home", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "file"


def sizes(file: Path) -> list[int]:
    found = read(file)
    assert not found.warnings and len(found.runs) == 1
    return [each.bytes for each in found.entries]


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("late", [False, True], ids=["between two lines", "after the last one"])
@pytest.mark.parametrize("kind", STRIKES)
def test_what_was_measured_is_in_the_file_that_the_line_names(
    kind: str, late: bool, resume: bool, folder: Path
) -> None:
    """Protects from exit code 0 and "results: o.jsonl", where there is none any more."""
    file = folder / "o.jsonl"
    if resume:
        with Store(file) as before:
            before.append(run())
            before.append(entry(8))
    store = Store(file, resume=resume)
    if not resume:
        store.append(run())
        store.append(entry(8))
    store.append(entry(16))
    STRIKES[kind](file)
    if late and kind == "replaced by a copy":
        store.close()
        assert sizes(file) == [8, 16], "which has every line"
        return
    text = refused(store.close if late else lambda: store.append(entry(32)))
    if not late:
        store.append(entry(64))
        store.close()
    assert text.startswith(f"cannot write {file}: ") and str(store.path) in text and store.path != file
    assert sizes(store.path) == ([8, 16] if late else [8, 16, 32, 64])
    assert store.path.resolve().parent == (folder if folder.is_dir() else folder.with_name("here"))
    with Store(store.path, resume=True) as later:
        later.append(entry(128))


def test_an_earlier_line_that_was_overwritten_shows_at_the_end(folder: Path) -> None:
    store = Store(folder / "o.jsonl")
    for line in (run(), entry(8), entry(16)):
        store.append(line)
    with store.path.open("r+b") as stream:
        stream.seek(20)
        stream.write(b"\0\0\0")
    assert "overwritten" in refused(store.close)
    assert sizes(store.path) == [8, 16]


@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("late", [False, True], ids=["a line", "the end"])
@pytest.mark.parametrize("places", [0, 1, 2, 3])
def test_a_disk_that_takes_no_more(
    call: str, late: bool, places: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the figure that did not fit, too. `places`: folders on the same disk, besides the file's."""
    full = [folder, *(folder.with_name(name) for name in ("here", "home", "tmp"))][: places + 1]
    file = folder / "o.jsonl"
    real, before = getattr(os, call), open_descriptors()

    def refuse(descriptor: int, *data: Any) -> Any:
        if Path(f"/proc/self/fd/{descriptor}").resolve().parent in full:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        return real(descriptor, *data)

    store = Store(file)
    for line in (run(), entry(8)):
        store.append(line)
    monkeypatch.setattr("wirespeed.results.store.SYNC_S", 0.0)
    monkeypatch.setattr(os, call, refuse)
    if late and call == "write":
        store.close()
        return
    text = refused(store.close if late else lambda: store.append(entry(16)))
    assert os.strerror(errno.EDQUOT) in text
    if places < 3:
        assert str(store.path) in text and sizes(store.path) == ([8] if late else [8, 16])
        assert store.path.stat().st_mode & 0o077 == 0, "whoever could not read the folder cannot read this"
    else:
        assert store.path == file and "make room and go on with --resume" in text
    left = [each for place in full[1:] for each in place.iterdir()]
    assert not left, "what could not be written whole goes away"
    with suppress(WirespeedError):
        store.close()
    assert open_descriptors() == before, "nothing stays open"
    monkeypatch.undo()
    assert sizes(file)[:1] == [8]


def test_nowhere_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from the name of a file that is not there."""
    monkeypatch.setattr("wirespeed.results.store.write_elsewhere", lambda *_: None)
    store = Store(folder / "o.jsonl")
    store.append(run())
    store.path.unlink()
    assert "no other file can be written" in refused(store.close)


@pytest.mark.parametrize("how", ["link", "linked folder", "relative", "hard link", "appended to"])
def test_a_file_that_is_there_is_no_false_alarm(
    how: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a run whose file has another name besides, or another program's lines."""
    file = folder / "o.jsonl"
    if how == "link":
        (file := folder / "link.jsonl").symlink_to(folder / "o.jsonl")
        (folder / "o.jsonl").touch()
    elif how == "linked folder":
        (tmp_path / "other").symlink_to(folder)
        file = tmp_path / "other" / "o.jsonl"
    elif how == "relative":
        monkeypatch.chdir(folder)
        file = Path("o.jsonl")
    with Store(file, resume=how == "link") as store:
        store.append(run())
        if how == "hard link":
            (folder / "p.jsonl").hardlink_to(file)
        if how == "appended to":
            with file.open("a") as stream:
                stream.write('{"kind": "later"}\n')
        store.append(entry(8))
    assert store.path == file and [each.bytes for each in read(file).entries] == [8]


def test_numbers_of_a_network_file_system(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects runs where a name and an open file have different numbers, and are the same."""
    real = Path.stat

    def other(file: Path, **how: Any) -> os.stat_result:
        found = list(real(file, **how))
        found[1] += 7
        return os.stat_result(found)

    with Store(folder / "o.jsonl") as store, monkeypatch.context() as patch:
        patch.setattr(Path, "stat", other)
        store.append(run())
        store.append(entry(8))
    assert sizes(folder / "o.jsonl") == [8]


def test_an_empty_file_of_somebody_else_stays(folder: Path) -> None:
    """Protects what has come in the place of a file that got no line."""
    store = Store(folder / "o.jsonl")
    _replace(folder / "o.jsonl", "")
    store.close()
    assert (folder / "o.jsonl").exists()
