"""The edges of a growing file: short writes, a disk that refuses, long torn lines, no standard input."""

from __future__ import annotations

import datetime
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.results import entry, run

from wirespeed.errors import WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.results import store as store_module
from wirespeed.results.reading import read
from wirespeed.results.store import Store


@pytest.fixture
def no_input() -> Iterator[None]:
    """Descriptor 0 is free, as it is where a program was started without standard input."""
    kept = os.dup(0)
    os.close(0)
    yield
    os.dup2(kept, 0)
    os.close(kept)


def open_descriptors() -> set[str]:
    return {file.name for file in Path("/proc/self/fd").iterdir()}


def failing(number: int) -> Any:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


# ---- writing --------------------------------------------------------------------------------------------


def test_a_program_without_standard_input(tmp_path: Path, no_input: None) -> None:
    """Protects a file whose descriptor is 0, which is as good as any: it is written and closed."""
    file = tmp_path / "r.jsonl"
    with Store(file) as store:
        assert Path("/proc/self/fd/0").samefile(file)
        store.append(run())
    assert len(read(file).runs) == 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(0)
    with Store(tmp_path / "empty.jsonl"):
        pass
    assert not (tmp_path / "empty.jsonl").exists()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(0)


def test_nothing_stays_open(tmp_path: Path) -> None:
    """Protects programs that measure again and again; closing twice is closing once."""
    before = open_descriptors()
    store = Store(tmp_path / "r.jsonl")
    store.append(run())
    store.close()
    store.close()
    with pytest.raises(WirespeedError, match="exists"):
        Store(tmp_path / "r.jsonl")
    with pytest.raises(WirespeedError, match="not a result file"):
        (tmp_path / "notes").write_text("Hello.\n")
        Store(tmp_path / "notes", resume=True)
    assert open_descriptors() == before
    with pytest.raises(WirespeedError, match="it is closed"):
        store.append(run())


def test_everybody_may_read_what_the_user_lets_them(tmp_path: Path) -> None:
    """Protects shared folders: the mask of the user decides, and no result file is a program."""
    mask = os.umask(0)
    try:
        with Store(tmp_path / "r.jsonl") as store:
            store.append(run())
    finally:
        os.umask(mask)
    assert (tmp_path / "r.jsonl").stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize("most", [1, 100])
def test_a_disk_that_takes_a_line_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Protects the line: what is left of it is written, too, from where the disk stopped."""
    real, line = os.write, {"kind": "later", "text": "".join(map(chr, range(97, 123))) * 10}
    with Store(tmp_path / "r.jsonl") as store, monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: real(file, data[:most]))
        store.append(line)
    text = (tmp_path / "r.jsonl").read_text()
    assert json.loads(text) == line and text.endswith("\n") and text.count("\n") == 1


@pytest.mark.parametrize(("taken", "left"), [(1.0, 2), (0.5, 1)])
def test_an_interrupt_while_a_line_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: float, left: int
) -> None:
    """Protects a line that is there whole from being taken back, and the file from half of one."""
    real = os.write

    def interrupted(file: int, data: bytes) -> int:
        real(file, data[: int(taken * len(data))])
        raise KeyboardInterrupt

    with Store(tmp_path / "r.jsonl") as store:
        store.append(run())
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "write", interrupted)
            store.append(entry())
    results = read(tmp_path / "r.jsonl")
    assert (len(results.records), results.warnings) == (left, [])


def test_the_disk_is_asked_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects both: data that a crash would take, and the time of those who measure."""
    syncs: list[int] = []
    monkeypatch.setattr(os, "fsync", syncs.append)
    with Store(tmp_path / "r.jsonl") as store:
        for now, asked in ((1.0, 1), (1.9, 1), (2.0, 2), (2.9, 2), (3.5, 3), (4.4, 3)):
            monkeypatch.setattr(time, "monotonic", lambda now=now: now)
            store.append(run())
            assert len(syncs) == asked
    assert len(syncs) == 4, "and at the end"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_without_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Protects runs whose file cannot be forced to a disk, because there is none."""
    monkeypatch.setattr(os, "fsync", failing(number))
    with Store(tmp_path / "r.jsonl") as store:
        store.append(run())
    assert len(read(tmp_path / "r.jsonl").runs) == 1


def test_a_disk_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from believing that data are safe; what was open is closed all the same."""
    before = open_descriptors()
    store = Store(tmp_path / "r.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(errno.EIO))
        with pytest.raises(WirespeedError) as caught:
            store.append(run())
        assert str(caught.value) == (
            f"cannot write {store.path}: Input/output error; everything measured before is in it: "
            "make room and go on with --resume"
        )
        with pytest.raises(WirespeedError) as caught:
            store.close()
        assert str(caught.value).startswith(f"cannot write {store.path}: Input/output error; ")
    assert open_descriptors() == before


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects runs on network file systems that know no locks."""
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    with Store(tmp_path / "r.jsonl") as store:
        store.append(run())
    assert len(read(tmp_path / "r.jsonl").runs) == 1


def test_numbers_that_json_does_not_know_in_any_place(tmp_path: Path) -> None:
    """Protects readers in other languages from NaN, and the finite numbers beside it."""
    nan = float("nan")
    with Store(tmp_path / "r.jsonl") as store:
        store.append({"kind": "later", "a": (1.5, nan, {"b": [nan, 2.5, float("-inf")]}), "c": 7, "d": True})
    whole = {"kind": "later", "a": [1.5, None, {"b": [None, 2.5, None]}], "c": 7, "d": True}
    assert json.loads((tmp_path / "r.jsonl").read_text()) == whole


def test_default_names_count_from_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects several runs within a second."""

    class Still(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Still:
            return cls(2026, 1, 2, 3, 4, 5)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store_module, "datetime", Still)
    stem, names = "wirespeed-20260102-030405", []
    for _ in range(3):
        with Store() as store:
            store.append(run())
            names.append(str(store.path))
    assert names == [f"{stem}.jsonl", f"{stem}-2.jsonl", f"{stem}-3.jsonl"]


# ---- going on -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 65534, 65535, 65536, 65537, 131071, 131072, 200_000])
def test_a_torn_line_of_any_length_is_cut_off(tmp_path: Path, length: int) -> None:
    """Protects what stands before it, and the file from a line that nobody could read."""
    file = tmp_path / "r.jsonl"
    whole = json.dumps(run()).encode() + b"\n"
    file.write_bytes(whole + b"{" + b"x" * (length - 1))
    Store(file, resume=True).close()
    assert file.read_bytes() == whole
    file.write_bytes(b'{"kind":"run",' + b"x" * length)
    Store(file, resume=True).close()
    assert file.read_bytes() == b"", "and goes on as an empty file"


def test_an_empty_file_stays(tmp_path: Path) -> None:
    """Protects what the user has: only a file that this run has made is cleared away."""
    file = tmp_path / "r.jsonl"
    file.touch()
    Store(file, resume=True).close()
    assert file.read_bytes() == b""


@pytest.mark.parametrize("length", [8, 65536, 140_000])
def test_a_whole_line_without_its_end_gets_one(tmp_path: Path, length: int) -> None:
    """Protects the last entry of a file that an editor has saved without a line feed."""
    file = tmp_path / "r.jsonl"
    text = json.dumps(run()) + "\n" + json.dumps({**entry(), "more": "x" * length})
    file.write_text(text)
    Store(file, resume=True).close()
    assert file.read_text() == text + "\n"


def test_a_torn_line_that_cannot_be_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a program that goes on without the file: nothing of it stays open, or locked."""
    file = tmp_path / "r.jsonl"
    file.write_text(json.dumps(run()) + "\n{")
    before = open_descriptors()
    with monkeypatch.context() as patch, pytest.raises(WirespeedError, match="Input/output error"):
        patch.setattr(os, "ftruncate", failing(errno.EIO))
        Store(file, resume=True)
    assert open_descriptors() == before
    Store(file, resume=True).close()


def test_a_pipe_that_somebody_else_has_locked(tmp_path: Path) -> None:
    """Protects the reason: what is no file is refused as that, whoever uses it, and not as another run's."""
    pipe = tmp_path / "r.jsonl"
    os.mkfifo(pipe)
    other = os.open(pipe, os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(WirespeedError) as caught:
        Store(pipe, resume=True)
    os.close(other)
    assert str(caught.value) == f"cannot go on with {pipe}: it is not a regular file"


def test_only_runs_of_such_a_plan_are_done(tmp_path: Path) -> None:
    """Protects from taking another plan's entry for this one's."""
    file = tmp_path / "r.jsonl"
    with Store(file) as store:
        for line in (
            run(Plan(), "a"),
            entry(8, name="a"),
            run(Plan(mpi="/opt/mpich"), "b"),
            entry(64, name="b"),
        ):
            store.append(line)
    with Store(file, resume=True) as store:
        assert store.done(Plan()) == {("pingpong", "host", 8, 1)}
        assert store.done(Plan(mpi="/opt/mpich")) == {("pingpong", "host", 64, 1)}
