"""Two ranks are put on one CPU: the figure is the scheduler's, and says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command import wirespeed
from support.mpis import InstalledMpi
from support.selection import thorough


@pytest.mark.parametrize("mpi", ["openmpi", thorough("mpich")], indirect=True)
def test_two_ranks_on_one_cpu(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects from time slices that look like a sure figure: in the table, in the file, in a check."""
    out, site = tmp_path / "r.jsonl", tmp_path / "site.toml"
    cpu = min(os.sched_getaffinity(0))
    options = ("--mpi", mpi.mpiexec, "--paths", "host", "--sizes", "8", "--max-time", "0.3")
    done = wirespeed("pingpong", *options, "--between", f"{cpu},{cpu}", out=out)
    assert done.code == 0, done.err
    (entry,) = done.entries
    assert f"ranks 0-1 on {os.uname().nodename} share CPU {cpu}" == entry["cores"]["shared"]
    assert entry["cores"]["waited"] > 0.1 and entry["cores"]["preempted"] > 0
    assert " &" in done.out and f"share CPU {cpu}, and one waited" in " ".join(done.out.split())
    assert "ranks waited for CPUs" in done.err
    site.write_text('[[require]]\npath = "host"\n[require.sizes]\n"8" = "at most 1 ns"\n')
    checked = wirespeed("check", "--require", site, out)
    assert checked.code == 0 and "but ranks waited for CPUs" in " ".join(checked.out.split()), checked.out
    assert wirespeed("check", "--strict", "--require", site, out).code == 6
