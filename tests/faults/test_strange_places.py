"""Hosts with strange names, hardly any files, planted folders: measured, or one line, and none is touched."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import tools
from support.command import PATIENCE, WIRESPEED, Measure, captured, read
from support.fake_run import one_line
from support.public import public_folder

from wirespeed.cli.common import measuring
from wirespeed.host import process
from wirespeed.job import shm_cleanup

pytestmark = pytest.mark.slow(after=1)

QUICK = ("--paths", "host,host-shared", "--sizes", "8", "--loops", "20", "--device", "cpu")
NAME = """
import ctypes, os, sys
libc, name = ctypes.CDLL(None, use_errno=True), bytes.fromhex(sys.argv[1])
libc.unshare(0x04000000)
if libc.sethostname(name, len(name)):
    sys.exit(77)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""A UTS namespace of its own, where the host has another name."""


@pytest.mark.parametrize(
    ("name", "shown"),
    [(b"\xff\xfe", r"\xff\xfe"), (b"a\x1b]0;b\x07", r"a\x1b]0;b\x07"), (b"n\xc3\xa9", "n\u00e9")],
)
def test_the_name_of_a_host_is_printable(name: bytes, shown: str) -> None:
    assert process.printable_name(name) == shown and process.printable_name(shown.encode()) == shown


def test_what_a_launcher_may_leave_on_a_host_of_any_name_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the sweep after a killed run: paths have the name as it is."""
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "\udcff\udcfe", "6", "#1", "x86_64")))
    (tmp_path / "pages").mkdir(mode=0o700)
    shm_cleanup.list_launcher(tmp_path / "pages", os.getpid(), tmp_path, 2, 0.0)
    (file,) = (tmp_path / "pages").glob(f"*{shm_cleanup.SUFFIX}")
    assert b"ompi.\xff\xfe." in file.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a host another name")
@pytest.mark.parametrize("name", ["fffe", "611b5d303b6207"])
def test_a_host_of_any_name_measures(name: str, measure: Measure) -> None:
    """Protects every record that names the host; Open MPI itself may die of such a name."""
    done = measure("pingpong", *QUICK, before=(sys.executable, "-c", NAME, name))
    if done.code == 77:
        pytest.skip("no name may be given to a host here")
    assert "unexpected" not in done.err and measure.out.exists()
    shown = process.printable_name(bytes.fromhex(name))
    assert done.of("run")[0]["environment"]["host"] == shown
    if "the launcher could not start" not in done.out:
        assert done.code == 0 and {rank["host"] for rank in done.of("step")[0]["ranks"]} == {shown}


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a) \x1b[31m"])
def test_the_name_of_a_process_is_printable(name: bytes) -> None:
    """Protects the line about a launcher that was stopped; a wrapper may have any name."""
    renamed = f"import ctypes; ctypes.CDLL(None).prctl(15, {name!r}); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-I", "-c", renamed], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout and other.stdout.readline()
        assert process.command_name(other.pid) == process.printable_name(name)
        assert process.process_state(other.pid) in ("S", "R") and process.parent(other.pid) == os.getpid()
        other.kill()


def test_a_module_that_cannot_be_imported_ahead_is_named_where_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Protects from a thread's stack trace, where hardly any files may be open."""
    monkeypatch.setattr(measuring, "SHOWS", "wirespeed.nowhere")
    measuring._import_ahead()


@pytest.mark.parametrize("files", [10, 24])
def test_hardly_any_files_are_one_line(files: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(WIRESPEED), "pingpong", *QUICK, "--out", str(tmp_path / "r.jsonl")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    # Its own, or those of the launcher, whose error is the path's.
    assert done.returncode == 3 or (done.returncode == 1 and "results: " in done.stderr), done.stderr
    assert "unexpected" not in done.stderr and "Traceback" not in done.stderr
    if done.returncode == 3:
        assert "Too many open files" in one_line(done.stderr)


_PLANT = """
set -e
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=1777 tmp "$TMPDIR"
files="0.python 1.python 0.page 1.page 0.uses start-barrier"
plant='for name in "$@"; do mkdir -m 777 "$name"; for file in '$files'; do
ln -s "$VICTIM" "$name/$file"; done; done'
user=$(id -u)
names="/dev/shm/wirespeed-$user /dev/shm/wirespeed-$user-job-$$"
[ $PLACES = 1 ] || names="$names $TMPDIR/wirespeed-$user"
setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "$plant" sh $names
"""
_RANKS = """
for rank in 1 0; do RANK=$rank LOCAL_RANK=$rank "$@" & pids="$! $pids"; done
for pid in $pids; do wait $pid; done
"""


@pytest.fixture
def public() -> Iterator[Path]:
    with public_folder() as folder:
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize(("torchrun", "places"), [(False, "1"), (False, "2"), (True, "1")])
def test_a_run_goes_on_where_folders_are_planted(torchrun: bool, places: str, public: Path) -> None:
    """Protects a user's files of mode 600 from whoever shares the machine, and the run itself.

    `places`: in shared memory alone, or in the temporary folder too.
    """
    if (why := tools.why_no_mount()) or os.geteuid() != 0:
        pytest.skip(why or "another user is played by root alone")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is missing: apt install util-linux")
    victim, out, folder = public / "key", public / "r.jsonl", public / "tmp"
    victim.write_text("a key")
    victim.chmod(0o600)
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environment = {**os.environ, "VICTIM": str(victim), "TMPDIR": str(folder), "PLACES": places}
    if torchrun:
        environment |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}
        environment |= {"WIRESPEED_PORT": port}
    done = captured(
        [
            *("unshare", "--mount", "bash", "-c", _PLANT + (_RANKS if torchrun else '"$@"'), "bash"),
            *(sys.executable, "-I", "-m", "wirespeed", "pingpong", "--sizes", "8", "--device", "cpu"),
            *("--paths", "host-tcp", "--max-time", "0.02", "--out", str(out)),
        ],
        env=environment,
        timeout=PATIENCE,
    )
    assert victim.read_text() == "a key"
    assert done.returncode == 0, done.stderr
    assert [record["path"] for record in read(out) if record["kind"] == "entry"] == ["host-tcp"]
