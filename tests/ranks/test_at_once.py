"""Several runs in one folder at the same moment, as job arrays start them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import mpis
from support.command import Done, read, wirespeed

RUNS = 5


@pytest.mark.slow
def test_runs_that_start_at_once_have_a_file_each(tmp_path: Path) -> None:
    """Protects every run of a job array: none takes another one's name, and none is refused."""
    mpi = mpis.installed("mpich")
    words = ("pingpong", "--mpi", mpi.prefix, "--paths", "host", "--sizes", "8", "--loops", "5")

    def one(_: int) -> Done:
        return wirespeed(*words, cwd=tmp_path)

    with ThreadPoolExecutor(RUNS) as pool:
        done = list(pool.map(one, range(RUNS)))
    assert [run.code for run in done] == [0] * RUNS, [run.err for run in done]
    names = [run.err.rpartition("results: ")[2].strip() for run in done]
    assert len(set(names)) == RUNS and set(names) == {file.name for file in tmp_path.iterdir()}
    for name in names:
        kinds = [record["kind"] for record in read(tmp_path / name)]
        assert kinds == ["run", "step", "entry", "end"]
        assert read(tmp_path / name)[0]["plan"]["out"] == name
