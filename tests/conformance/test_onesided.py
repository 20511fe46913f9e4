"""Paths that write into a peer's memory: every byte, every place, under every MPI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command import Measure, is_checked
from support.mpis import InstalledMpi, installed
from support.selection import slow_case
from support.shim import aware

pytestmark = pytest.mark.slow(after=1)

SIZES = {"0": 0, "1": 1, "7": 7, "8": 8, "4097": 4097, "64K": 1 << 16, "1M": 1 << 20}
FAST = ("--max-time", "0.02")
HOST = ("rma-host", "rma-host-get")
BOTH = ",".join(HOST)


def test_every_byte_arrives(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects puts and gets of every size; nothing at all is a notice and no more.

    Windows grow after 1 MiB; 64 MiB, whose bytes take their time, go through one MPI of each ABI.
    """
    sizes = SIZES | ({"64M": 1 << 26} if mpi.name in ("openmpi", "impi") else {"3M": 3 << 20})
    done = measure(f"pingpong --paths {BOTH} --sizes", ",".join(sizes), *FAST, mpi=mpi).ok()
    expected = [(path, size) for path in HOST for size in sizes.values()]
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == expected
    for entry in done.entries:
        assert is_checked(entry)
        assert entry["details"]["ready_notice"] == (entry["path"] == "rma-host-get")


@pytest.mark.slow
def test_operations_without_an_answer(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects put, get and fetch-and-add: every byte, the word before, and the sum of all additions."""
    done = measure(
        "rma --operation put,get,fetch-add --sizes 1,8,4097,1M", *FAST, "--paths rma-host", mpi=mpi
    )
    assert done.code == 0, f"{done.err}\n{done.failures}"
    sizes = [1, 8, 4097, 1 << 20]
    expected = [*(("MPI_Put", size) for size in sizes), *(("MPI_Get", size) for size in sizes)]
    found = [(entry["details"]["call"].split(",")[0], entry["bytes"]) for entry in done.entries]
    assert found == [*expected, ("MPI_Fetch_and_op", 8)]
    for entry in done.entries:
        assert entry["path"] == "rma-host" and entry["checked"]["iterations"] >= 1
        assert is_checked(entry)


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_put_that_did_not_arrive_is_found_out(mpi: InstalledMpi, measure: Measure) -> None:
    done = measure("rma --sizes 8", *FAST, "--test fault=drop-iteration --paths rma-host", mpi=mpi)
    assert done.code == 1 and not done.entries
    assert "wrong data" in done.failures[0]["text"]


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
@pytest.mark.parametrize("addend", [0, 2])
def test_additions_that_do_not_add_up_are_found_out(mpi: InstalledMpi, addend: int, measure: Measure) -> None:
    """Protects the sum of all additions: where it is not their number, there is no figure."""
    done = measure("rma --operation fetch-add", *FAST, f"--test addend={addend} --paths rma-host", mpi=mpi)
    assert done.code == 1 and not done.entries
    assert "wrong sum: " in done.failures[0]["text"]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", [slow_case("openmpi"), "mpich"], indirect=True)
def test_messages_beyond_the_int(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects messages that take several calls, with the most bytes of a call lowered to 1000.

    Sent, put and got: test_paths.py has the other two MPIs.
    """
    done = measure(
        *(f"pingpong --paths host,{BOTH}", *FAST),
        "--sizes 999,1000,1001,2000,4097,1M --test largest-count=1000",
        mpi=mpi,
    ).ok()
    assert [entry["path"] for entry in done.entries] == ["host"] * 6 + [HOST[0]] * 6 + [HOST[1]] * 6


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_operations_of_several_calls(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects every byte of puts and gets that no message accompanies, where they take several calls."""
    done = measure(
        *("rma --operation put,get --paths rma-host", *FAST),
        "--sizes 0,999,1000,1001,4097 --test largest-count=1000",
        mpi=mpi,
    )
    assert done.code == 0 and len(done.entries) == 10, done.err


@pytest.mark.parametrize("mpi", [slow_case("openmpi")], indirect=True)
def test_operations_beyond_a_gibibyte(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects them where no option lowers the most bytes of a call; four buffers take 4.1 GiB."""
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 6 << 30:
        pytest.skip("less than 6 GiB of memory are free")
    done = measure(
        "rma --operation put --paths rma-host --loops 1 --sizes 1025M --warmup 0 --no-evidence", mpi=mpi
    )
    assert done.code == 0 and done.entries[0]["bytes"] == 1025 << 20, done.err


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_device_pointers(mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects windows over device memory, by an MPI that stands for a GPU-aware one."""
    done = measure(
        *("pingpong --paths rma,rma-get --device emulated --mpi", aware(builds, mpi), *FAST),
        "--sizes 0,1,4097,1M",
        environment=mpi.variables,
    ).ok()
    expected = [(path, size) for path in ("rma", "rma-get") for size in (0, 1, 4097, 1 << 20)]
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == expected


def test_an_unknown_call_is_refused() -> None:
    """Protects from a misspelt option that would measure something else."""
    with pytest.raises(AssertionError, match="call is put or get for one-sided MPI, not 'push'"):
        installed("openmpi").told(2, "peer_patterns.py", "rma", "pageable", "host", "call=push")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("ucx", "call=put", "pageable", "host"), slow_case(("rma", "call=put", "pageable", "host"))]
)
def test_who_has_no_room_costs_the_others_no_memory(words: tuple[str, ...]) -> None:
    """Protects a run that goes on with smaller sizes: buffers that a peer could not have are given back."""
    for grown, told in installed("openmpi").told(2, "without_room.py", *words):
        assert len(told) == 4 and all("rank 1" in text or "posix_memalign" in text for text in told)
        assert grown < 256 << 20, f"{grown >> 20} MiB stayed"
