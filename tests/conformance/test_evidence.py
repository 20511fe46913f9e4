"""Verdicts against a known truth: emulated GPUs count their copies, the kernel its bytes."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import pytest
from support.command import Done, wirespeed
from support.mpis import InstalledMpi

pytestmark = pytest.mark.slow(after=1)

COUNTED = {"WIRESPEED_NO_EVIDENCE": ""}
# Nothing here depends on the MPI but what it costs to start one.
one_mpi = pytest.mark.parametrize("mpi", ["mpich"], indirect=True)


def measured(mpi: InstalledMpi, out: Path, *arguments: str, **environment: str) -> Done:
    fast = ("--device", "emulated", "--max-time", "0.01", "--mpi", str(mpi.mpiexec))
    return wirespeed(*arguments, *fast, out=out, environment=COUNTED | environment).ok()


@one_mpi
def test_what_each_path_is_seen_to_do(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the verdict: direct, staged and shared memory are told apart by what was copied.

    And the counts themselves: so many copies of so many bytes, on each rank.
    """
    paths = ("host", "staged", "staged-pipelined", "ipc-read")
    done = measured(mpi, tmp_path / "r.jsonl", "pingpong", "--paths", ",".join(paths), "--sizes", "64K,1M")
    found = {(one["path"], one["bytes"]): one for one in done.of("evidence")}
    assert set(found) == {(path, size) for path in paths for size in (1 << 16, 1 << 20)}
    verdicts = {path: found[path, 1 << 20]["verdict"] for path in paths}
    assert verdicts == {
        "host": "shared memory",
        "staged": "staged",
        "staged-pipelined": "staged",
        "ipc-read": "direct",
    }
    assert not any(one["suspicious"] for one in found.values())
    for path, kinds in (("staged", ("device_to_host", "host_to_device")), ("ipc-read", ("peer",))):
        one = found[path, 1 << 20]
        each = {"count": one["iterations"], "bytes": one["iterations"] << 20}
        assert one["copies"] == [{"rank": rank, **dict.fromkeys(kinds, each)} for rank in (0, 1)]
        assert one["payload_bytes"] == 2 * each["bytes"]
    shown = wirespeed("show", tmp_path / "r.jsonl", "--explain").out
    assert "direct: copied from GPU to GPU" in shown and "staged through host memory" in shown


@pytest.mark.slow
@one_mpi
def test_a_ring_with_and_without_device_pointers(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the count of copies per rank: one of each kind a step where it is staged, else none."""
    done = measured(
        *(mpi, tmp_path / "r.jsonl", "ring", "--ranks", "4", "--ranks-per-gpu", "2"),
        *("--paths", "staged,ipc-read", "--sizes", "256K"),
    )
    staged, direct = done.of("evidence")
    each = {"count": 4 * staged["iterations"], "bytes": (4 * staged["iterations"]) << 18}
    ways = ("host_to_device", "device_to_host")
    setup = [f"setup_{way}" for way in ways]
    assert [one["rank"] for one in staged["copies"]] == [0, 1, 2, 3]
    for one in staged["copies"]:
        assert [one[way] for way in ways] == [each, each]
        # Answers of comparisons: of the message, and of what lies around it.
        assert all(
            1 <= one[way]["count"] <= 9 and one[way]["bytes"] == 8 * one[way]["count"] for way in setup
        )
    assert staged["verdict"] == "staged" and direct["verdict"] == "direct"
    shown = wirespeed("show", tmp_path / "r.jsonl", "--explain").out
    assert "staged 4 to the host, 4 from the host; ipc-read 4 to a peer" in " ".join(shown.split())
    assert all(set(one) == {"rank", "peer", *setup} for one in direct["copies"])
    said = "copies by each rank in an iteration: staged 4 to device, 4 from device; ipc-read none"
    assert said in " ".join(done.out.split())


@one_mpi
def test_declared_rates_are_the_limit_of_staging(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the equation of staging where nobody has a GPU: 1/b = 1/0.5 + 1/1 GB/s."""
    words = ("pingpong", "--paths", "staged", "--sizes", "1M")
    done = measured(mpi, tmp_path / "r.jsonl", *words, WIRESPEED_EMULATED="h2d=1e9,d2h=0.5e9,count=2")
    assert "limit" in done.out
    explained = " ".join(wirespeed("show", tmp_path / "r.jsonl", "--explain").out.split())
    assert "b = 0.333 GB/s, one copy after the other: 1/b = 1/b_D2H + 1/b_H2D of 0.500 and 1.00" in explained


@pytest.mark.slow
@one_mpi
def test_a_ring_of_1000_steps(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the table that decides for device pointers: so many copies each way, set-up apart."""
    words = ("--ranks", "2", "--steps", "1000", "--paths", "staged,ipc-read", "--sizes", "4K")
    measured(mpi, tmp_path / "r.jsonl", "ring", *words)
    table = wirespeed("show", tmp_path / "r.jsonl", "--format", "csv").out
    found = {row["path"]: row for row in csv.DictReader(io.StringIO(table))}
    columns = [f"{when}copies_{way}_device" for when in ("", "setup_") for way in ("to", "from")]
    # Set-up fills and compares the message, and what lies around it.
    for path, copies in (("staged", 1000), ("ipc-read", 0)):
        steps, setup = ([int(found[path][name]) for name in half] for half in (columns[:2], columns[2:]))
        assert steps == [copies, copies] and min(setup) >= 1 and max(setup) <= 9


@one_mpi
@pytest.mark.parametrize("secretly", ["staged", "pipelined"])
def test_a_path_that_lies_is_found_out(mpi: InstalledMpi, secretly: str, tmp_path: Path) -> None:
    """Protects who believes a path's name: it promises device memory, and goes through the host."""
    done = measured(
        mpi, tmp_path / "r.jsonl", "pingpong", "--paths", "ipc-read", "--sizes", "1M", "--test",
        f"instead={secretly}",
    )  # fmt: skip
    (one,) = done.of("evidence")
    assert one["verdict"] == "staged"
    assert one["suspicious"].startswith("ipc-read is declared direct, but the counters show staging")
    seen = one["suspicious"].split(" (")[0].partition("staging: ")[2]
    assert seen and f"ipc-read {seen}" in " ".join(done.out.split())


def others_talk() -> bool:
    """Does anything cross the loopback interface while this test does nothing?"""
    counter = Path("/sys/class/net/lo/statistics/tx_bytes")
    before = counter.read_text()
    time.sleep(1)
    return counter.read_text() != before


@pytest.mark.usefixtures("quiet_machine")
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_tcp_on_one_host_is_not_taken_for_shared_memory(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the verdict by elimination: an MPI without shared memory goes over the loopback interface."""
    without = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": "lo"}
    done = measured(mpi, tmp_path / "r.jsonl", "pingpong", "--paths", "host", "--sizes", "256K", **without)
    (one,) = done.of("evidence")
    (wire,) = [wire for wire in one["wires"] if wire["kind"] == "loopback"]
    share = wire["sent"] / one["payload_bytes"]
    assert one["verdict"] != "shared memory" and share >= 1.0, one
    if share >= 1.05 and others_talk():
        pytest.skip("others talk over the loopback interface, too")
    assert one["verdict"] == "loopback" and share < 1.05, one


@one_mpi
def test_it_can_be_switched_off(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects runs that must not wait: no counting, and no line about wires."""
    done = measured(mpi, tmp_path / "r.jsonl", "pingpong", "--paths", "host", "--sizes", "8", "--no-evidence")
    assert not done.of("evidence") and "wire carried" not in done.out
