"""The result file while it grows: refused early, never torn, never losing a line, gone on with."""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import tools
from support.command import captured
from support.results import entry, run, whole_file

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
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


# ---- writing --------------------------------------------------------------------------------------------


def test_every_line_is_there_as_soon_as_it_is_added(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with Store(file) as store:
        for number, line in enumerate(whole_file(), 1):
            store.append(line)
            assert len(read(file).records) == number
    assert file.read_bytes().startswith(b'{"kind":"run",')
    refused(lambda: store.append({"kind": "end"}))


def test_a_line_is_one_write_and_the_disk_is_asked_at_most_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[bytes] = []
    syncs: list[int] = []
    real = os.write

    def write(file: int, data: bytes) -> int:
        writes.append(data)
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "fsync", syncs.append)
    with Store(tmp_path / "r.jsonl") as store:
        for _ in range(50):
            store.append(entry())
        assert len(writes) == 50 and len(syncs) <= 2
    assert all(data.endswith(b"\n") and data.count(b"\n") == 1 for data in writes)


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


def test_a_file_that_got_no_line_goes_away(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with Store(file):
        assert file.exists()
    assert not file.exists()


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert "Permission denied" in refused(lambda: Store(tmp_path / "r.jsonl"))


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

FILL = """
import sys, resource
from pathlib import Path
from support.results import entry, run
from wirespeed.errors import WirespeedError
from wirespeed.results.store import Store
file, limit = Path(sys.argv[1]), int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
store, lines = Store(file), 0
store.append(run())
try:
    while lines < 10_000:
        store.append(entry(lines))
        lines += 1
except WirespeedError as error:
    print(lines, int(error.code), error)
store.close()
print(file.read_text(), end="")
"""


def fill(command: list[str], name: str, limit: int, here: Path) -> None:
    tests = Path(__file__).parents[1]
    paths = [str(tests), *filter(None, sys.path)]
    done = captured(
        [*command, sys.executable, "-c", FILL, name, str(limit)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=here,
    )
    if command and "permission" in done.stderr.lower() + done.stdout.lower():
        pytest.skip("may not mount a file system here")
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    count, code, text = head.split(" ", 2)
    assert int(code) == ExitCode.CANNOT_WRITE and int(count) > 3
    assert text.startswith(f"cannot write {name}: ") and "--resume" in text
    assert ("No space left on device" if command else "File too large") in text
    records = [json.loads(line) for line in lines]
    assert [record["bytes"] for record in records[1:]] == list(range(int(count)))
    # The line for which there was no room is in a file on another disk, where there is one.
    elsewhere = [each.bytes for file in here.iterdir() for each in read(file).entries]
    assert elsewhere == (list(range(int(count) + 1)) if command else [])
    assert ("is in r-2.jsonl" in text) == bool(command)


@pytest.fixture
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("here")


def test_a_limit_on_the_file_size_keeps_whole_lines(tmp_path: Path, here: Path) -> None:
    fill([], str(tmp_path / "r.jsonl"), 20_000, here)


def test_a_disk_that_fills_up_keeps_whole_lines(tmp_path: Path, here: Path) -> None:
    if why := tools.why_no_mount():
        pytest.skip(why)
    # The mount is in a namespace of its own: it ends with the process.
    mount = 'mount -t tmpfs -o size=16k none "$0" && exec "$@"'
    fill(["unshare", "--mount", "sh", "-c", mount, str(tmp_path)], str(tmp_path / "r.jsonl"), 0, here)


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
