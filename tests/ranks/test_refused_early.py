"""Arguments that this machine cannot serve: refused with one line and code 2, before a file is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import wirespeed
from support.fake_run import one_line
from support.mpis import InstalledMpi

from wirespeed.errors import ExitCode

pytestmark = pytest.mark.slow(after=1)

REFUSED = {
    "pingpong --device emulated --between 0,7": "there is no device 7; there are 2, numbered from 0",
    "pingpong --device cpu --between 0,99999": "this process may not run on CPU 99999",
    "copy --node 7999": "--node 7999: there is no such NUMA node here",
    "pairs --ranks 4 --sample 99": "4 ranks make 3 phases",
}


@pytest.mark.parametrize("words", REFUSED)
def test_before_anything_is_written(words: str, tmp_path: Path) -> None:
    done = wirespeed(*words.split(), "--sizes", "8", cwd=tmp_path)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert REFUSED[words] in one_line(done.err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["missing", "/proc"])
def test_no_folder_for_mpi_s_files(folder: str, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects from half of a PMIx message where TMPDIR cannot be written."""
    where = folder if folder.startswith("/") else str(tmp_path / folder)
    words = ("pingpong", "--mpi", str(mpi.mpiexec), "--sizes", "8", "--paths", "host")
    done = wirespeed(*words, cwd=tmp_path, environment={"TMPDIR": where})
    assert done.code == ExitCode.USAGE
    line = one_line(done.err)
    assert line.startswith(f"wirespeed: TMPDIR={where}: ") and line.endswith("or unset TMPDIR")
    assert list(tmp_path.iterdir()) == []
