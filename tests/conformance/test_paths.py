"""Every path over every device and MPI moves every byte of every size, and says so in valid records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import Measure, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.shim import aware

pytestmark = pytest.mark.slow(after=1)

SIZES = {"0": 0, "1": 1, "7": 7, "8": 8, "4097": 4097, "64K": 1 << 16, "1M": 1 << 20}
FAST = ("--max-time", "0.02")
EMULATED = ("--device", "emulated")


def test_every_byte_arrives(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the payload check and each path's transport, on memory that faults when the CPU touches it.

    Buffers grow after 1 MiB; 64 MiB, whose bytes take their time, go through one MPI.
    """
    paths = ("host", "host-pinned", "staged", "staged-pinned")
    sizes = SIZES | ({"64M": 1 << 26} if mpi.name == "openmpi" else {"3M": 3 << 20})
    done = measure(
        "pingpong --paths", ",".join(paths), *EMULATED, "--sizes", ",".join(sizes), *FAST, mpi=mpi
    ).ok()
    expected = [(path, size) for path in paths for size in sizes.values()]
    assert sorted((entry["path"], entry["bytes"]) for entry in done.entries) == sorted(expected)
    for entry in done.entries:
        checked = entry["checked"]
        assert checked["iterations"] == 1 <= checked["batches"] <= checked["of_batches"]
        # Rank 0 checks what came back to it; rank 1 does the same for its own part.
        assert checked["bytes"] == (checked["iterations"] + checked["batches"]) * entry["bytes"]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_every_byte_arrives_without_mpi(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the paths that stand in for MPI's: messages of no byte, of many chunks, and of odd sizes."""
    for words in (("pingpong",), ("halo", "--ranks", "3", "--oversubscribe"), ("stream", "--window", "5")):
        out = tmp_path / f"{words[0]}.jsonl"
        sizes = ("--sizes", "0,1,4097,1M,5M" if words == ("pingpong",) else "0,4097,64K")
        done = wirespeed(
            *(*words, "--paths", "host-shared,host-tcp", *sizes, *FAST, "--mpi", mpi.mpiexec), out=out
        ).ok()
        assert {entry["path"] for entry in done.entries} == {"host-shared", "host-tcp"}
        assert all(entry["checked"]["iterations"] for entry in done.entries)


@pytest.mark.slow
@pytest.mark.parametrize(("mpi", "offset"), [("openmpi", "1"), slow_case("impi", "3")], indirect=["mpi"])
def test_unaligned_buffers(mpi: InstalledMpi, offset: str, measure: Measure) -> None:
    """Protects content and check where words do not lie on word boundaries, in host and in GPU memory."""
    done = measure(
        *("pingpong --paths host,staged", *EMULATED, *FAST, f"--sizes 1,7,8,4097,1M --test offset={offset}"),
        mpi=mpi,
    ).ok()
    assert [entry["path"] for entry in done.entries] == ["host"] * 5 + ["staged"] * 5


@pytest.mark.parametrize("mpi", [slow_case("impi"), "debian"], indirect=True)
def test_messages_beyond_the_int(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the derived datatypes of large messages, with the int's range lowered to 1000 bytes.

    test_onesided.py has MPICH, of the other ABI.
    """
    done = measure(
        *("pingpong --paths host", *FAST, "--sizes 999,1000,1001,2000,4097,1M --test largest-count=1000"),
        mpi=mpi,
    ).ok()
    sent_as = {entry["bytes"]: entry["details"].get("sent_as") for entry in done.entries}
    derived = "a derived datatype"
    assert sent_as == {999: None, 1000: None, **dict.fromkeys((1001, 2000, 4097, 1 << 20), derived)}
    assert f"host: messages from 1001 B on go as {derived}" in " ".join(done.out.split())


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_real_message_beyond_two_gib(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects messages of more than 2^31 bytes as they are."""
    available = next(
        int(line.split()[1])
        for line in Path("/proc/meminfo").read_text().splitlines()
        if "MemAvailable" in line
    )
    if available < 14 << 20:
        pytest.skip("less than 14 GiB of memory available")
    done = measure("pingpong --paths host --loops 1 --warmup 0 --sizes", str((1 << 31) + 5), mpi=mpi).ok()
    assert [entry["bytes"] for entry in done.entries] == [(1 << 31) + 5]


def test_an_mpi_that_takes_device_pointers(mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects the aware path's way to success, by an MPI that stands for a GPU-aware one."""
    done = measure(
        *("pingpong --paths aware", *EMULATED, "--mpi", aware(builds, mpi), *FAST, "--sizes 1,4097,1M"),
        environment=mpi.variables,
    ).ok()
    assert [entry["bytes"] for entry in done.entries] == [1, 4097, 1 << 20]


@pytest.mark.parametrize(
    ("mpi", "pattern"),
    [
        ("openmpi", "pingpong"),
        ("impi", "exchange"),
        slow_case("mpich", "pingpong"),
        slow_case("debian", "halo"),
    ],
    indirect=["mpi"],
)
def test_mixed_buffers(pattern: str, mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects messages between device and host buffers: each leg the same way, into the other buffer."""
    paths = ("aware-d2h", "aware-h2d")
    loops = ("--loops", "3") if pattern == "pingpong" else ()
    done = measure(
        *(pattern, "--paths", ",".join(paths), *EMULATED, "--mpi", aware(builds, mpi), *FAST),
        *("--sizes 1,4097,1M", *loops),
        environment=mpi.variables,
    ).ok()
    moved = [(entry["path"], entry["bytes"]) for entry in done.entries]
    assert moved == [(path, size) for path in paths for size in (1, 4097, 1 << 20)]
    steps = {record["path"]: record for record in done.records if record["kind"] == "step"}
    ends = {path: (steps[path]["memory"], steps[path]["into"]) for path in paths}
    assert ends == {"aware-d2h": ("device", "pageable"), "aware-h2d": ("pageable", "device")}
    data = {path: f"{one} to {other}" for path, (one, other) in ends.items()}
    assert {entry["path"]: entry["memory"] for entry in done.entries} == data


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_mixed_buffers_are_checked_and_refused(mpi: InstalledMpi, builds: Path, tmp_path: Path) -> None:
    """Protects the check of what lies in the other memory, and a ring from a path with two kinds of it."""
    prefix = aware(builds, mpi)
    common = (*EMULATED, "--mpi", prefix, *FAST, "--sizes", "4097")
    wrong = wirespeed(
        *("pingpong", "--paths", "aware-d2h,aware-h2d", *common, "--test", "fault=drop-byte"),
        out=tmp_path / "wrong.jsonl",
    )
    assert ["wrong data" in failure["text"] for failure in wrong.failures] == [True] * 2, wrong.err
    ring = wirespeed("ring", "--paths", "aware-d2h", *common, out=tmp_path / "ring.jsonl")
    (failure,) = ring.failures
    assert failure["text"] == "it needs two buffers, and ring works in one"


def test_an_mpi_that_does_not(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the rest of the run from an MPI that dies of a device pointer, and names where it died.

    By `rma` it dies of a window over device memory, or hangs there: one line each, on every MPI.
    """
    done = measure(
        "pingpong --paths host,aware,rma,staged", *EMULATED, *FAST, "--sizes 8,64K --timeout 2", mpi=mpi
    )
    assert {entry["path"] for entry in done.entries} == {"host", "staged"}, done.failures
    # Risky paths come last, so that all others share their processes.
    pids = [[rank["pid"] for rank in step["ranks"]] for step in done.of("step")[:2]]
    assert pids[0] == pids[1] and [step["path"] for step in done.of("step")[:2]] == ["host", "staged"]
    by_path = {failure["path"]: failure for failure in done.failures}
    assert len(done.failures) == 2 and set(by_path) == {"aware", "rma"}
    failure = by_path["aware"]
    assert failure["what"] == "unavailable"
    assert "on a device pointer" in failure["text"]
    assert failure["remedy"]
    if mpi.name == "openmpi":
        # Which of its functions touches the bytes first is Open MPI's affair; that one is named is ours.
        assert re.search(r"crashed on a device pointer in (opal|ompi|mca)_\w+", failure["text"])
    assert "\n" not in by_path["rma"]["text"]


@pytest.mark.parametrize("fault", ["batch-stale", slow_case("batch-lost"), slow_case("batch-damaged")])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_fault_of_timed_batches_is_found(
    mpi: InstalledMpi, fault: str, builds: Path, measure: Measure
) -> None:
    """Protects figures from faults that show only when iterations run freely: single ones are right."""
    paths = ("host", "staged", "aware", "ipc-write", "gpu")
    done = measure(
        *("pingpong --paths", ",".join(paths), *EMULATED, "--mpi", aware(builds, mpi), *FAST),
        *("--sizes 1,4097 --test", f"fault={fault}", "--no-evidence"),
    )
    assert done.code == 1 and not done.entries, done.out + done.err
    assert sorted((failure["path"], failure["bytes"]) for failure in done.failures) == sorted(
        (path, size) for path in paths for size in (1, 4097)
    )
    for failure in done.failures:
        assert failure["what"] == "mismatch" and " differs after a batch of " in failure["text"]


@pytest.mark.parametrize("fault", ["drop-byte", "drop-iteration", "repeat-iteration"])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_lie_is_found_out(mpi: InstalledMpi, fault: str, builds: Path, measure: Measure) -> None:
    """Protects the check itself: a transport that drops or repeats is caught on every path and size."""
    done = measure(
        *("pingpong --paths host,staged,aware", *EMULATED, "--mpi", aware(builds, mpi), *FAST),
        *("--sizes 1,7,4097,64K --test", f"fault={fault}"),
    )
    assert done.code != 0
    assert not done.entries
    wrong = {"drop-byte": (0, 6, 4096, 65535)}.get(fault, (0, 0, 0, 0))
    for path in ("host", "staged"):
        failures = sorted(
            (failure for failure in done.failures if failure["path"] == path), key=lambda one: one["bytes"]
        )
        assert [failure["what"] for failure in failures] == ["mismatch"] * 4
        for failure, offset, size in zip(failures, wrong, (1, 7, 4097, 65536), strict=True):
            assert f"byte {offset} of {size} " in failure["text"]
    (failure,) = (failure for failure in done.failures if failure["path"] == "aware")
    assert "wrong data" in failure["text"]


def test_a_test_option_of_one_path(measure: Measure) -> None:
    """Protects a study of one path from changing the others of its run."""
    done = measure(
        "pingpong --device emulated --paths staged,staged-pipelined --sizes 8 --max-time 0.01 --test",
        "chunk@staged-pipelined=x",
    )
    assert [entry["path"] for entry in done.entries] == ["staged"]
    assert {one["path"] for one in done.of("failure")} == {"staged-pipelined"}


WORDS = ("--device", "emulated", "--sizes", "1,4097", "--max-time", "0.02")
UCX_WITH_CUDA = "libuct_cuda.so.0"


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_the_switch_is_set_for_its_path_alone(mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects aware-nogdr's way to success, and the other paths from its switch."""
    prefix = aware(builds, mpi, needs=UCX_WITH_CUDA)
    done = measure(
        "pingpong --mpi", prefix, "--paths aware-nogdr,aware", *WORDS, environment=mpi.variables
    ).ok()
    assert [entry["path"] for entry in done.entries] == ["aware-nogdr"] * 2 + ["aware"] * 2
    switched, other = done.of("step")
    assert switched["variables"]["UCX_TLS"] == "^cuda_ipc"
    assert "UCX_TLS" not in other["variables"]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_an_mpi_that_the_switch_means_nothing_to(mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects the table from a second `aware` under another name: no UCX with CUDA, no figure."""
    prefix = aware(builds, mpi)
    done = measure(
        "pingpong --mpi", prefix, "--paths aware-nogdr,aware", *WORDS, environment=mpi.variables
    ).ok()
    assert {entry["path"] for entry in done.entries} == {"aware"}
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("aware-nogdr", "unavailable")
    # Ranks found that before any device pointer was tried: the MPI is not blamed for one, nor replaced.
    lack = "libuct_cuda is not loaded, so that UCX_TLS has no effect here"
    assert re.fullmatch(rf"MPICH \S+: {lack}", failure["text"]) and failure["remedy"] is None


@pytest.mark.parametrize(
    ("mpi", "environment", "lack"),
    [
        # A switch that comes after MPI's start is too late.
        ("openmpi", {}, "start the ranks with UCX_TLS=^cuda_ipc for this path"),
        # In time it is not missing, and only UCX itself may be.
        ("mpich", {"UCX_TLS": "^cuda_ipc"}, "libuct_cuda is not loaded, so that UCX_TLS has no effect here"),
    ],
    indirect=["mpi"],
)
def test_a_switch_inside_a_launcher(
    mpi: InstalledMpi, environment: dict[str, str], lack: str, measure: Measure
) -> None:
    """Protects what `mpirun wirespeed` measures from a switch that does nothing."""
    words = ("pingpong --paths host,aware-nogdr", *WORDS)
    done = measure(*words, inside=mpi, environment=environment).ok()
    assert {entry["path"] for entry in done.entries} == {"host"}
    (failure,) = done.failures
    assert (failure["path"], failure["what"], failure["text"]) == ("aware-nogdr", "unavailable", lack)
