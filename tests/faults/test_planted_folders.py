"""Another user plants folders and links where a run expects its files: none is touched, the run goes on."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import tools
from support.command import PATIENCE, captured, read
from support.public import public_folder

pytestmark = pytest.mark.slow(after=1)

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
