"""Lists of scattered blocks: on every path each arrives in its place, and nothing else is touched."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.shim import aware
from support.strikes import LONG, PATIENCE, is_struck, struck

pytestmark = pytest.mark.slow(after=1)

PATHS = {
    "cpu": "host,host-datatype,host-packed,host-shared,host-tcp,rma-host",
    "emulated": "host-datatype,host-packed,staged,staged-pinned,staged-pipelined,"
    "ipc-write,ipc-write-batch,ipc-gather,ipc-read,ipc-kernel,gpu",
    "offload": "h2d-pinned,h2d-batch,h2d-kernel,d2h-pinned,d2h-batch,d2h-kernel,h2d-pageable,d2d,h2h",
}
"""By device; of the pattern offload, between an emulated GPU and its host."""
FIXED = ("--loops", "2", "--warmup", "0", "--no-evidence")
ODD = ("--count", "7", "--block", "1,13,4097", "--test", "offset=1")
MANY = ("--count", "70", "--block", "1,13,4097,70000", "--test", "offset=1")
LAYERS = ("--layout", "strided", "--kv", "qwen2.5-7b:tp=4:page=1", "--layers")


def measured(device: str, mpi: InstalledMpi, out: Path, *words: str) -> Done:
    paths = () if "--paths" in words else ("--paths", PATHS[device])
    pattern, device = ("offload", "emulated") if device == "offload" else ("blocks", device)
    where = ("--device", device, "--mpi", str(mpi.mpiexec), *paths)
    return wirespeed(pattern, *where, *FIXED, *words, out=out)


@pytest.mark.parametrize(
    ("mpi", "device", "words"),
    [
        ("openmpi", "emulated", ODD),
        *(("mpich", device, ODD) for device in ("emulated", "cpu")),
        ("openmpi", "cpu", ODD),
        *(
            ("openmpi", device, words)
            for device in ("emulated", "offload")
            for words in (MANY, (*MANY, "--multiprocessors", "2"), LAYERS)
        ),
    ],
    indirect=["mpi"],
)
def test_every_block_arrives_in_its_place(
    mpi: InstalledMpi, device: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """Protects odd sizes at odd places on every path, pieces of long blocks, and several lists."""
    done = measured(device, mpi, tmp_path / "r", *words).ok()
    assert done.of("run")[0]["plan"]["ranks"] == 2, "one for each GPU"
    count, sizes = (0, []) if words == LAYERS else (int(words[1]), [*map(int, words[3].split(","))])
    places = [(one["path"], one["bytes"]) for one in done.entries]
    paths = PATHS[device].split(",")
    assert places == [(path, size) for path in paths for size in sizes or [done.entries[0]["bytes"]]]
    for entry in done.entries:
        checked = entry["checked"]
        assert not count or entry["bandwidth_bytes"] == count * entry["bytes"]
        assert entry["baseline"]["name"] == "contiguous" and entry["baseline"]["seconds"]["median"] > 0
        # Rank 0 checks what comes back: as lists, and as one message.
        iterations = checked["iterations"] + checked["batches"]
        assert checked["batches"] == checked["of_batches"] == 2
        assert checked["bytes"] == iterations * entry["bandwidth_bytes"] or device == "offload"


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize(
    "words",
    [
        ("--count", "1", "--block", "4097", "--layout", "contiguous"),
        ("--count", "0", "--block", "8"),
        ("--count", "3", *LAYERS),
    ],
    ids=["one", "none", "layers"],
)
def test_lists_of_few_and_of_many(words: tuple[str, ...], mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the ends of what a list can be, and a list for each layer of a model."""
    done = measured("emulated", mpi, tmp_path / "r", *words, "--paths", "host,staged,ipc-write,gpu")
    assert done.code == 0 and len(done.entries) == 4, done.err + done.out


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_device_pointers_in_lists(mpi: InstalledMpi, builds: Path, tmp_path: Path) -> None:
    """Protects a derived datatype on device memory, and lists that a kernel packs."""
    paths = "aware,aware-datatype,aware-packed"
    words = ("--mpi", str(aware(builds, mpi)), "--count", "9", "--block", "13,4096", "--paths", paths)
    done = wirespeed("blocks", "--device", "emulated", *words, *FIXED, out=tmp_path / "r").ok()
    assert [one["path"] for one in done.entries if one["bytes"] == 13] == paths.split(",")


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_what_copies_messages_copies_lists(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects a path's name: its list is moved by what the path says, and not by a quicker engine."""
    words = ("--paths", "ipc-kernel,ipc-gather,ipc-write", "--count", "7", "--block", "8,4097")
    done = measured("emulated", mpi, tmp_path / "r", *words).ok()
    engine = "copy engine, completion signalled by the stream"
    by = {"ipc-kernel": "kernel", "ipc-gather": "kernel", "ipc-write": engine}
    assert [(one["path"], one["details"]["copied by"]) for one in done.entries] == [
        (path, by[path]) for path in by for _ in range(2)
    ]


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_places_from_a_file(mpi: InstalledMpi, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("# from to\n0 4K\n4096 8193\n0 0\n")
    done = measured("cpu", mpi, tmp_path / "r", "--list", str(tmp_path / "mine.txt"))
    assert done.code == 0 and {one["bandwidth_bytes"] for one in done.entries} == {3 * 4096}, done.err


EIGHT = {"WIRESPEED_EMULATED": "count=8"}


def to_seven(mpi: InstalledMpi, out: Path, *words: str) -> Done:
    """Rank 0's lists to seven ranks at once, each with a GPU of its own."""
    paths = f"host,{PATHS['emulated']}"
    where = ("--ranks", "8", "--device", "emulated", "--mpi", str(mpi.mpiexec), "--paths", paths)
    return wirespeed("blocks", *where, *FIXED, "--oversubscribe", *words, out=out, environment=EIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_lists_to_seven_ranks_at_once(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects every path whose lists share a step, and the figure: bytes out of rank 0."""
    done = to_seven(mpi, tmp_path / "r", "--count", "5", "--block", "13,4097", "--test", "offset=1").ok()
    assert len(done.entries) == 2 * 12
    for entry in done.entries:
        assert entry["bandwidth_bytes"] == 7 * 5 * entry["bytes"]
        assert entry["baseline"]["seconds"]["median"] > 0
        checked = entry["checked"]
        assert checked["batches"] == checked["of_batches"] == 2
        assert checked["bytes"] == (checked["iterations"] + 2) * 5 * entry["bytes"]
    prepared = {entry["path"] for entry in done.entries if entry.get("prepare_s")}
    assert prepared == {entry["path"] for entry in done.entries} - {"host"} - {
        *("staged", "staged-pinned", "staged-pipelined", "ipc-kernel")
    }


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("fault", ["misplaced-block", "stray-byte", "drop-byte"])
def test_faults_of_one_of_seven_are_found(fault: str, mpi: InstalledMpi, tmp_path: Path) -> None:
    done = to_seven(mpi, tmp_path / "r", "--count", "5", "--block", "13", "--test", f"fault={fault}")
    assert done.code == 1 and not done.entries
    assert len(done.failures) == 12 and {failure["what"] for failure in done.failures} == {"mismatch"}
    said = re.compile(r"from rank 0 to rank [1-7]: byte \d+ of (13 of block [0-4] of 5|the pool, outside)")
    assert all(said.search(failure["text"]) for failure in done.failures), done.failures


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("device", ["emulated", "offload"])
def test_planted_faults_are_found(device: str, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the check: a block in the place of another, a byte between blocks, a byte that is lost."""
    faults = {
        "misplaced-block": "byte 0 of 13 of block (0|6) of 7 differs",
        "stray-byte": "outside of all 7 blocks, was changed",
        "drop-byte": "byte 12 of 13 of block [0-6] of 7 differs",
    }
    paths = PATHS[device] if device == "offload" else f"host,{PATHS[device]}"
    for fault, said in faults.items():
        words = ("--count", "7", "--block", "13", "--test", f"fault={fault}", "--paths", paths)
        done = measured(device, mpi, tmp_path / fault, *words)
        assert done.code == 1 and not done.entries
        assert {failure["what"] for failure in done.failures} == {"mismatch"}
        assert sorted(failure["path"] for failure in done.failures) == sorted(paths.split(","))
        assert all(re.search(said, failure["text"]) for failure in done.failures), done.failures


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_list_that_changed_is_measured_again(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects --resume from the figures of other places."""
    file, out = tmp_path / "mine.txt", tmp_path / "r.jsonl"
    for text, count in (("0 0\n4K 8K\n", 1), ("4K 8K # last\n0 0\n", 2), ("4K 8K\n0 0\n", 2)):
        file.write_text(text)
        done = measured("cpu", mpi, out, "--list", str(file), "--paths", "host", "--resume")
        assert done.code == 0 and len(done.entries) == count, done.err


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_soak_checks_every_block(mpi: InstalledMpi, tmp_path: Path) -> None:
    where = ("--device", "emulated", "--mpi", str(mpi.mpiexec), "--paths", "host-packed,ipc-write")
    words = ("--soak", "0.3", "--count", "20", "--block", "4097")
    done = wirespeed("blocks", *where, *words, out=tmp_path / "r").ok()
    soaks = [soak for soak in done.of("soak") if soak["complete"]]
    assert len(soaks) == 2 and all(soak["messages"] >= 40 for soak in soaks)
    assert not any(sum(soak["wrong"].values()) for soak in soaks)


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_short_block_of_an_earlier_iteration_is_stale(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects what a soak says of blocks whose single bytes may be those of another iteration."""
    where = ("--device", "cpu", "--mpi", str(mpi.mpiexec), "--paths", "host-packed")
    words = ("--soak", "0.5", "--count", "20", "--block", "12,13", "--test", "offset=1")
    fault = ("--test", "fault=soak-stale", "--test", "soak-every=200")
    done = wirespeed("blocks", *where, *words, *fault, out=tmp_path / "r")
    assert done.code == 1, done.err + done.out
    soaks = [soak for soak in done.of("soak") if soak["complete"]]
    assert {soak["bytes"]: soak["wrong"]["stale"] for soak in soaks} == {
        soak["bytes"]: soak["planted"] for soak in soaks if soak["planted"]
    }
    assert len(soaks) == 2 and not any(soak["wrong"]["damaged"] for soak in soaks)


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_check_finds_lists_that_are_slow(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects acceptance tests: only the list waits 5 ms before each of its copies."""
    site = tmp_path / "site.toml"
    site.write_text(
        '[[require]]\npattern = "blocks"\npath = "ipc-write"\noptions = {count = 8}\n'
        '[require.sizes]\n4K = "at least 20 % of contiguous"\n'
    )
    where = ("--device", "emulated", "--mpi", str(mpi.mpiexec))
    slow = {"WIRESPEED_EMULATED": "latency=0.005"}
    done = wirespeed("check", "--require", site, "--measure", *where, out=tmp_path / "r", environment=slow)
    said = done.out.splitlines()[0]
    waited = said.startswith("cannot tell") and "but ranks waited for CPUs" in said
    assert done.code == (8 if waited else 6) and re.search(r": 0?\.\d+ % of contiguous \(", said), done.out
    assert waited or said.startswith("FAILED")


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_struck_rank_is_named(number: int, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the rest of a run from a rank that dies, or is stopped, between two blocks."""
    words = "blocks --device emulated --paths host,ipc-write --block 4K,1M --total 4M"
    done = struck(measure, words, *PATIENCE, *LONG, mpi=mpi, number=number)
    assert done.code == 1
    (failure,) = done.failures
    is_struck(failure, number)
    assert {entry["path"] for entry in done.entries} == {"host", "ipc-write"}
