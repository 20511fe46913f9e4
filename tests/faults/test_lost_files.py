"""The result file goes away while a run writes it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import Measure, read
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import SLOW, after

from wirespeed.errors import ExitCode
from wirespeed.job import shm_cleanup

pytestmark = pytest.mark.slow(after=1)


@pytest.mark.parametrize(
    "act", [Path.unlink, slow_case(lambda file: os.truncate(file, 0))], ids=["removed", "emptied"]
)
@pytest.mark.parametrize("launched", [False, True])
def test_a_run_whose_file_is_lost(
    act: Callable[[Path], object], launched: bool, mpi: InstalledMpi, measure: Measure
) -> None:
    """Protects from exit code 0, and from the name of a file that is not there."""

    def lose(_: object) -> None:
        act(measure.out)

    words = ("pingpong --paths host --device cpu", *SLOW)
    started = {"inside": mpi} if launched else {"mpi": mpi}
    done = measure.disturbed(*words, when=after(1), act=lose, **started)
    if launched:
        # A launcher may kill the other ranks: their pages are the next run's to remove.
        time.sleep(2.5)
        shm_cleanup.sweep(2.0)
    lines = [line for line in done.err.splitlines() if line.startswith("wirespeed: ")]
    # A launcher may return a code of its own.
    assert done.code == ExitCode.CANNOT_WRITE or (launched and done.code), done.code
    assert len(lines) == 1, done.err
    found = re.search(r"what was measured is in (\S+):", lines[0])
    assert found and "results: " not in done.err
    records = read(Path(found[1]))
    assert [record["bytes"] for record in records if record["kind"] == "entry"][:2] == [8, 65536]
    assert not [record for record in records if record["kind"] == "failure"]
    assert (records[0]["kind"], records[-1]["kind"], records[-1]["status"]) == ("run", "end", "interrupted")
