"""Another user of the machine plants folders and links at names that can be foreseen."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.command import captured
from support.public import public_folder

from wirespeed.host import private_folder
from wirespeed.job import shm_cleanup
from wirespeed.job.status_page import own_folder, read_pages

STRANGER = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user is played by root alone")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may write to, in place of shared memory and the temporary folder."""
    with public_folder() as place:
        monkeypatch.setattr(private_folder, "SHARED_MEMORY", place)
        monkeypatch.setattr(private_folder, "_fallbacks", {})
        monkeypatch.setenv("TMPDIR", str(place))
        yield place


def as_stranger(does: Callable[[], object]) -> None:
    """Calls it in a process of another user, and checks that it came to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            does()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_a_user_has_one_folder(shared: Path) -> None:
    """Protects ranks and their front end, which must find the same one without asking."""
    folder = private_folder.of_user()
    assert folder == private_folder.of_user() == shared / f"wirespeed-{os.geteuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and own_folder("run") == folder / "run"


@needs_root
@pytest.mark.parametrize("plants", ["folder", "private folder", "link to a folder", "file"])
def test_a_planted_folder_is_never_used(plants: str, shared: Path, tmp_path: Path) -> None:
    """Protects every file that is made: each process falls back to a folder that only it can name."""
    name = shared / f"wirespeed-{os.geteuid()}"
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    plant = {
        "folder": lambda: name.mkdir(mode=0o777),
        "private folder": lambda: name.mkdir(mode=0o700),
        "link to a folder": lambda: name.symlink_to(victim),
        "file": name.touch,
    }
    as_stranger(plant[plants])
    folder = private_folder.of_user()
    assert folder != name and folder == private_folder.of_user()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and folder.stat().st_uid == os.geteuid()
    # The front end tells its ranks the name; one that a stranger owns is passed over.
    assert own_folder("run", str(folder)) == folder / "run"
    assert own_folder("run", str(name)) == folder / "run"
    assert not list(victim.iterdir())
    assert private_folder.all_of_user() == [folder]


def test_folders_of_ended_processes_are_swept(shared: Path) -> None:
    """Protects the machine from folders that pile up; the user's own one stays."""
    own = private_folder.of_user()
    left, fresh, used = (private_folder.make(shared / f"{own.name}-{name}") for name in "abc")
    (used / "file").touch()
    for folder in (own, left, used):
        os.utime(folder, (0, 0))
    shm_cleanup.sweep()
    assert sorted(shared.iterdir()) == [own, fresh, used]


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_folder_that_others_may_open_is_not_private(mode: int, tmp_path: Path) -> None:
    """Protects from a folder of the user's own that others can fill or list."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PermissionError, match="another user owns this folder or may open it"):
        private_folder.make(folder)


def test_a_file_is_new_and_no_link_is_followed(tmp_path: Path) -> None:
    """Protects the target of a link: it is neither emptied nor written to."""
    folder, target = private_folder.make(tmp_path / "private"), tmp_path / "target"
    target.write_text("kept")
    (folder / "name").symlink_to(target)
    with os.fdopen(private_folder.create(folder, "name"), "w") as file:
        file.write("new")
    assert target.read_text() == "kept" and (folder / "name").read_text() == "new"
    assert stat.S_IMODE((folder / "name").lstat().st_mode) == 0o600


_PAGE = """
import sys
from wirespeed.host.core import core
opened = core()
opened.check(opened.lib.ws_page_open(sys.argv[1].encode(), 0))
"""


def test_a_page_is_not_written_through_a_link(tmp_path: Path) -> None:
    """Protects the target of a link that lies where the core opens a page."""
    target, link = tmp_path / "target", tmp_path / "0.page"
    target.write_text("kept")
    link.symlink_to(target)
    done = captured([sys.executable, "-I", "-c", _PAGE, link])
    assert done.returncode != 0 and "Too many levels of symbolic links" in done.stderr
    assert target.read_text() == "kept"


_WATCHDOG = """
import sys
from pathlib import Path
from wirespeed.host import private_folder
private_folder.SHARED_MEMORY = Path(sys.argv[1])
from wirespeed.host.core import core
from wirespeed.job.status_page import read_pages
from wirespeed.rank.observe.watchdog import Watchdog
watchdog = Watchdog(core(), "job-17", 0, reports=-1, give_up=True)
folder = watchdog.file.parent
print(folder, [state.rank for state in read_pages(folder)])
watchdog.close()
"""


@needs_root
@pytest.mark.parametrize("plants", ["wirespeed-0", "wirespeed-0-job-17"])
def test_a_rank_empties_nobody_s_file(plants: str, shared: Path, tmp_path: Path) -> None:
    """Protects a user's files of mode 600 from links named as the rank's files are."""
    victim = tmp_path / "secret"
    victim.write_text("a key")
    victim.chmod(0o600)

    def plant() -> None:
        folder = shared / plants
        folder.mkdir(mode=0o777)
        inner = folder / "job-17"
        inner.mkdir(mode=0o777)
        for place in (folder, inner):
            for name in ("0.python", "0.page", "0.uses", "0.uses.new", "start-barrier"):
                (place / name).symlink_to(victim)

    as_stranger(plant)
    command = [sys.executable, "-I", "-c", _WATCHDOG, str(shared)]
    done = captured(command)
    assert victim.read_text() == "a key"
    assert done.returncode == 0 and done.stdout.endswith("/job-17 [0]\n"), done.stderr
    assert not done.stdout.startswith(f"{shared / plants}/")


def test_a_folder_of_a_process_that_lives_is_never_swept(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a watch that pauses for minutes: its folder is empty meanwhile, and old."""
    monkeypatch.setattr(private_folder, "_held", held := list[int]())
    (shared / f"wirespeed-{os.geteuid()}").write_text("planted")
    folder = private_folder.of_user()
    assert folder.parent == shared and folder.is_dir()
    shm_cleanup.sweep(0.0)
    assert folder.is_dir()
    # As when the process ends.
    os.close(held.pop())
    shm_cleanup.sweep(0.0)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("host", "pid", "segment", "job"),
    [("vm", 29039, "sm_segment", 0x3B3F0001), ("vm", 29660, "vader_segment", 0x1F220001)],
)
def test_what_open_mpi_calls_its_files(host: str, pid: int, segment: str, job: int) -> None:
    """Protects shared memory from ranks killed before they list their files; seen of 5.0.11, 4.1.4."""
    assert shm_cleanup._open_mpi_jobs(host, pid)[segment] == job


@pytest.mark.parametrize("lives", [False, True])
def test_files_of_a_job_that_never_listed_any(lives: bool, shared: Path, tmp_path: Path) -> None:
    """Protects shared memory from kills at the start, and jobs whose launcher lives from a sweep."""
    launcher = subprocess.Popen(["sleep", "60"])
    if not lives:
        launcher.kill()
        launcher.wait()
    try:
        pages = own_folder("run")
        shm_cleanup.list_launcher(pages, launcher.pid, tmp_path, 2, time.time())
        listed = (pages / "launcher.uses").read_text().splitlines()[1:]
        folders = [Path(name) for name in listed if name.startswith(str(tmp_path))]
        segments = [Path(name) for name in listed if "_segment" in name]
        assert len(folders) >= 4 and len(segments) >= 4
        for folder in folders:
            folder.mkdir(parents=True)
        for segment in segments:
            segment.write_bytes(b"x")
        shm_cleanup.remove_listed(pages)
        assert not [segment for segment in segments if segment.exists()], "nobody maps them"
        assert [folder.exists() for folder in folders] == [lives] * len(folders)
    finally:
        launcher.kill()
        launcher.wait()


@pytest.mark.parametrize("seen", [False, True])
def test_an_older_file_of_a_foretold_name_stays(
    seen: bool, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects another job, whose number may have the same 16 bits: its processes may be in a container."""
    monkeypatch.setattr(shm_cleanup, "_FOLDER", tmp_path)
    launcher = subprocess.Popen(["true"])
    launcher.wait()
    pages = own_folder("run")
    now = time.time()
    shm_cleanup.list_launcher(pages, launcher.pid, tmp_path, 1, now)
    here, *listed = (pages / "launcher.uses").read_text().splitlines()
    segments = [Path(name) for name in listed if "_segment" in name]
    jobs = [Path(name) for name in listed if "/jf.0/" in name]
    assert segments and jobs
    for segment in segments:
        segment.write_bytes(b"x")
    for job in jobs:
        job.mkdir(parents=True)
    for path in (*segments, *jobs):
        os.utime(path, (now - 60, now - 60))
    if seen:
        (pages / "0.uses").write_text("\n".join([here, *map(str, segments)]))
    shm_cleanup.remove_listed(pages)
    assert [segment.exists() for segment in segments] == [not seen] * len(segments)
    assert all(job.exists() for job in jobs)


def test_a_folder_that_goes_while_it_is_read(tmp_path: Path) -> None:
    """Protects the end of a run from an error of its front end: ranks remove their folder themselves."""
    folder, stop = tmp_path / "pages", threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            folder.mkdir()
            folder.rmdir()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        assert all(read_pages(folder) == [] for _ in range(20_000))
    finally:
        stop.set()
        thread.join()
