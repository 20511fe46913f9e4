"""Staging in chunks: every byte of every size by each way of handing chunks over, and both copies at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import tools
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi, installed
from support.selection import slow_case

pytestmark = pytest.mark.slow

FAST = ("--max-time", "0.02")


def pingpong(
    mpi: InstalledMpi, out: Path, *words: str, paths: str = "staged-pipelined", **variables: str
) -> Done:
    device = ("--device", "emulated", "--mpi", mpi.mpiexec)
    return wirespeed("pingpong", "--paths", paths, *device, *words, out=out, environment=variables)


def with_test(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--test", pair)]


@pytest.mark.parametrize(
    ("mpi", "offset", "fixed"),
    [
        slow_case("openmpi", "1", ("by=streams",)),
        slow_case("mpich", "0", ("shared=no",)),
        slow_case("openmpi", "1", ("by=streams", "chunk=70001", "slots=3")),
        ("openmpi", "3", ("by=streams", "chunk=70001", "slots=2")),
        ("mpich", "0", ("by=streams", "chunk=4096", "slots=64", "streams=2")),
        slow_case("openmpi", "3", ("by=host", "chunk=70001", "slots=3", "streams=2")),
        ("openmpi", "3", ("shared=no", "chunk=70001", "slots=3")),
    ],
    indirect=["mpi"],
    ids=str,
)
def test_each_way_of_handing_chunks_over(
    mpi: InstalledMpi, offset: str, fixed: tuple[str, ...], tmp_path: Path
) -> None:
    """Protects each way by itself, with chunks that do not divide the message and unaligned buffers."""
    words = ("--sizes", "0,1,7,8,4097,64K,70001,70002,1M,5M", *with_test(*fixed, f"offset={offset}"))
    done = pingpong(mpi, tmp_path / "r.jsonl", *FAST, *words).ok()
    assert len(done.entries) == 10
    (step,) = done.of("step")
    values = dict(pair.split("=") for pair in fixed)
    through = "MPI" if values.get("shared") == "no" else "shared memory ring"
    assert step["details"]["through"] == through
    for entry in done.entries:
        if through == "MPI" or entry["bytes"] == 0:
            assert entry["details"]["by"] == "host"
        else:
            assert entry["details"]["by"] == values["by"]
        for name in {"chunk", "slots"} & set(values):
            assert entry["details"][name] == int(values[name])


@pytest.mark.parametrize(
    ("mpi", "options"),
    [
        slow_case("openmpi", ""),
        slow_case("mpich", "by=streams"),
        ("openmpi", "by=streams"),
        ("openmpi", "chunk=70000;slots=3"),
        ("openmpi", "shared=no;chunk=50001;slots=2"),
    ],
    indirect=["mpi"],
)
def test_many_peers_in_one_step(mpi: InstalledMpi, options: str) -> None:
    """Protects steps with many peers, rings made later, and counters that go on from program to program."""
    found = mpi.told(4, "peer_patterns.py", "pipelined", "device", "emulated", options)
    details = found[options]["transport"]
    assert details["through"] == ("MPI" if "shared=no" in options else "shared memory ring")
    assert details["pinned_bytes"] <= 256 << 20


def test_streams_that_cannot_wait(tmp_path: Path) -> None:
    """Protects machines whose driver is too old: the CPU hands over, and the record says why."""
    done = pingpong(
        installed("mpich"),
        tmp_path / "r.jsonl",
        *FAST,
        "--sizes",
        "8,1M,5M",
        WIRESPEED_EMULATED="count=2,values=0",
    ).ok()
    (step,) = done.of("step")
    assert step["details"]["why_by_host"] == "the emulated driver's streams have no values (values=0)"
    assert [entry["details"]["by"] for entry in done.entries] == ["host"] * 3


def test_little_shared_memory(measure: Measure) -> None:
    """Protects containers, which have 64 MiB of it by default: the slots are made smaller."""
    if why := tools.why_no_mount():
        pytest.skip(why)
    small = 'mount -t tmpfs -o size=24m shm /dev/shm && exec "$@"'
    mpi = installed("openmpi")
    done = measure(
        *("pingpong --paths staged-pipelined --device emulated", *FAST, "--sizes 8,1M,32M"),
        mpi=mpi,
        before=("unshare", "--mount", "sh", "-c", small, "sh"),
    ).ok()
    (step,) = done.of("step")
    assert step["details"]["pinned_bytes"] <= 12 << 20
    assert max(entry["details"]["chunk"] for entry in done.entries) <= 2 << 20


@pytest.mark.parametrize("fixed", ["by=streams", "by=host", "shared=no"])
def test_both_copies_run_at_once(fixed: str, tmp_path: Path) -> None:
    """Protects the point of the path, in each way of handing chunks over: less time than copy after copy."""
    size, rate = 16 << 20, 1e8
    done = pingpong(
        installed("openmpi"),
        tmp_path / "r.jsonl",
        *("--sizes", str(size), "--max-time", "1", *with_test(fixed, "chunk=2097152")),
        WIRESPEED_EMULATED=f"count=2,h2d={rate},d2h={rate}",
    ).ok()
    (entry,) = done.entries
    # 189 ms by eight chunks of 21 ms, or 336 ms: of the fastest of several, whatever runs besides.
    assert size / rate <= entry["seconds"]["min"] < 2 * size / rate


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        ("chunk=0", "chunk is a number from 1 to 67108864, not '0'"),
        ("chunk=1x", "chunk is a number"),
        ("slots=1", "slots is a number from 2 to 64"),
        ("by=magic", "by is auto, streams or host, not 'magic'"),
        ("shared=maybe", "shared is yes or no"),
        ("chunk=67108864 slots=8", "8 slots of 67108864 bytes are more than"),
    ],
)
def test_what_cannot_be_is_refused(pair: str, text: str, tmp_path: Path) -> None:
    """Protects whoever sweeps these from figures of something else than what was asked for."""
    done = pingpong(
        installed("mpich"), tmp_path / "r.jsonl", *FAST, "--sizes", "8", *with_test(*pair.split())
    )
    assert done.code != 0 and not done.entries
    (failure,) = done.failures
    assert text in failure["text"]
