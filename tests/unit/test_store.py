"""The result file while it grows: refused early, never torn, never losing a line, gone on with."""

from __future__ import annotations

import datetime
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results import entry, run, whole_file

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.results import store as store_module
from wirespeed.results.reading import read
from wirespeed.results.store import Store
from wirespeed.statistics.stopping import Stopping


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(WirespeedError) as caught:
        call()
    assert caught.value.code == ExitCode.CANNOT_WRITE
    assert "\n" not in str(caught.value)
    return str(caught.value)


def written(file: Path, plan: Plan | None = None) -> list[bytes]:
    """A file with a run and two entries; its lines."""
    with Store(file) as store:
        for line in (run(plan), entry(8), entry(1024)):
            store.append(line)
    return file.read_bytes().splitlines(keepends=True)


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


def test_every_line_is_there_as_soon_as_it_is_added(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with Store(file) as store:
        for number, line in enumerate(whole_file(), 1):
            store.append(line)
            assert len(read(file).records) == number
    assert file.read_bytes().startswith(b'{"kind":"run",')
    refused(lambda: store.append({"kind": "end"}))


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    with Store(tmp_path / "r.jsonl") as store:
        store.append(run())

        def fifty() -> None:
            for _ in range(50):
                store.append(entry())

        threads = [threading.Thread(target=fifty) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    results = read(tmp_path / "r.jsonl")
    assert len(results.entries) == 200 and not results.warnings


def test_a_line_is_one_write_and_the_disk_is_asked_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects both: data that a crash would take, and the time of those who measure."""
    writes, syncs, real = list[bytes](), list[int](), os.write

    def write(file: int, data: bytes) -> int:
        writes.append(data)
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "fsync", syncs.append)
    with Store(tmp_path / "r.jsonl") as store:
        for now, asked in ((1.0, 1), (1.9, 1), (2.0, 2), (2.9, 2), (3.5, 3), (4.4, 3)):
            monkeypatch.setattr(time, "monotonic", lambda now=now: now)
            store.append(run())
            assert len(syncs) == asked
    assert len(writes) == 6 and len(syncs) == 4, "and at the end"
    assert all(data.endswith(b"\n") and data.count(b"\n") == 1 for data in writes)


@pytest.mark.parametrize(
    ("place", "call", "number"),
    [(os, "fsync", errno.EINVAL), (os, "fsync", errno.ENOTSUP), (fcntl, "flock", errno.ENOLCK)],
)
def test_a_file_system_without_it(
    place: Any, call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects runs whose file has no disk to be forced to, and network file systems without locks."""
    monkeypatch.setattr(place, call, failing(number))
    with Store(tmp_path / "r.jsonl") as store:
        store.append(run())
    assert len(read(tmp_path / "r.jsonl").runs) == 1


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


# ---- refused before anything is measured ----------------------------------------------------------------


def test_a_file_that_exists_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    before = written(file)
    text = refused(lambda: Store(file))
    assert text == f"{file} exists: name another file (--out); commands with --resume can go on with it"
    assert file.read_bytes().splitlines(keepends=True) == before


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("folder", "folder is a folder: name a file in it (--out folder/NAME.jsonl)"),
        ("none/r.jsonl", "cannot write none/r.jsonl: there is no folder none; make it or name another"),
        ("notes.txt/r.jsonl", "cannot write notes.txt/r.jsonl: Not a directory; name a file in a folder"),
        ("/proc/r.jsonl", "/proc/r.jsonl: "),
        ("x" * 300, "File name too long; name a file"),
        ("a\0b", "cannot write 'a\\x00b': embedded null byte; name a file"),
    ],
)
def test_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str, resume: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("notes.txt").write_text("Hello.\n")
    assert why in refused(lambda: Store(name, resume=resume))
    assert Path("notes.txt").read_text() == "Hello.\n"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_devices_are_no_result_files(tmp_path: Path, device: str) -> None:
    """By another name, or a fault in clearing away what is new would take root's machine its device."""
    name = tmp_path / "r.jsonl"
    name.symlink_to(device)
    assert "not a regular file: name another" in refused(lambda: Store(name))
    assert "not a regular file" in refused(lambda: Store(name, resume=True))
    assert name.is_symlink()


def test_two_runs_do_not_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with Store(file) as store:
        store.append(run())
        text = refused(lambda: Store(file, resume=True))
        assert text == f"another run is writing {file}; name another file (--out)"
        store.append(entry())
    with Store(file, resume=True):
        pass
    assert len(read(file).records) == 2


# ---- a full disk ----------------------------------------------------------------------------------------


def test_a_disk_without_room_for_a_line_keeps_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the retry, with the same name: nothing was measured, and so there is nothing to go on with."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "r.jsonl"
    store = Store(file)
    monkeypatch.setattr(os, "write", full)
    text = refused(lambda: store.append(run()))
    assert "No space left" in text and "--resume" not in text and not file.exists()
    store.close()


@given(taken=st.integers(0, 600), reason=st.sampled_from([errno.ENOSPC, errno.EDQUOT, errno.EIO, 0]))
def test_what_a_full_disk_took_of_a_line_is_taken_back(
    tmp_path_factory: pytest.TempPathFactory, taken: int, reason: int
) -> None:
    file = tmp_path_factory.mktemp("full") / "r.jsonl"
    real, room = os.write, 0

    def stingy(descriptor: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            if reason:
                raise OSError(reason, os.strerror(reason))
            return 0
        given = real(descriptor, data[:room])
        room -= given
        return given

    with Store(file) as store, pytest.MonkeyPatch.context() as patch:
        store.append(run())
        patch.setattr(os, "write", stingy)
        room = taken
        text = refused(lambda: store.append(entry()))
        assert os.strerror(reason or errno.ENOSPC) in text
        assert len(read(file).records) == 1 and not read(file).warnings
        room = 1 << 20
        store.append(entry(1024))
    assert [line.bytes for line in read(file).entries] == [1024]


# ---- going on -------------------------------------------------------------------------------------------


def test_going_on_adds_to_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    before = written(file)
    with Store(file, resume=True) as store:
        assert len(store.before.entries) == 2
        store.append(entry(4096))
    assert file.read_bytes().splitlines(keepends=True)[:3] == before
    assert [line.bytes for line in read(file).entries] == [8, 1024, 4096]


@given(data=st.data())
def test_a_torn_last_line_is_cut_off_wherever_it_tore(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    file = tmp_path_factory.mktemp("torn") / "r.jsonl"
    lines = written(file)
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    file.write_bytes(whole[:cut])
    with Store(file, resume=True) as store:
        store.append(entry(4096))
    results = read(file)
    ends = [len(b"".join(lines[: i + 1])) for i in range(len(lines))]
    assert len(results.records) == sum(cut >= end - 1 for end in ends) + 1
    assert results.warnings == [] and results.entries[-1].bytes == 4096


def test_an_empty_file_stays(tmp_path: Path) -> None:
    """Protects what the user has: only a file that this run has made is cleared away."""
    file = tmp_path / "r.jsonl"
    file.touch()
    Store(file, resume=True).close()
    assert file.read_bytes() == b""


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


def test_going_on_with_nothing_begins(tmp_path: Path) -> None:
    with Store(tmp_path / "r.jsonl", resume=True) as store:
        assert store.done(Plan()) == set()
        store.append(run())
    assert len(read(tmp_path / "r.jsonl").runs) == 1


def test_going_on_does_not_touch_what_is_no_result_file(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no line feed at the end")
    assert "not a result file" in refused(lambda: Store(file, resume=True))
    assert file.read_text() == "no line feed at the end"


@pytest.mark.parametrize(
    ("now", "same"),
    [
        (Plan(), True),
        (Plan(paths=("host",), sizes=(8, 64), out="other.jsonl", resume=True, timeout=3.0, debug=True), True),
        (Plan(launches=5), True),
        (Plan(stopping=Stopping(precision=0.001)), False),
        (Plan(device="emulated"), False),
        (Plan(mpi="/opt/mpich"), False),
        (Plan(pattern="ring"), False),
    ],
)
def test_what_is_done_need_not_be_done_again(tmp_path: Path, now: Plan, same: bool) -> None:
    written(tmp_path / "r.jsonl", Plan())
    with Store(tmp_path / "r.jsonl", resume=True) as store:
        wanted = {("pingpong", "host", 8, 1), ("pingpong", "host", 1024, 1)}
        assert store.done(now) == (wanted if same else set())


def test_what_is_done_by_an_older_version_counts(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    older = run()
    del older["plan"]["hosts"], older["plan"]["test"]
    file.write_text("".join(json.dumps(line) + "\n" for line in (older, entry())))
    with Store(file, resume=True) as store:
        assert len(store.done(Plan())) == 1
