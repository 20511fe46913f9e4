"""The paths that write and read another GPU's memory: every byte, every protocol, patterns of many ranks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support import mpis
from support.command import Done, Measure, Record, is_checked
from support.mpis import InstalledMpi
from support.selection import slow_case

pytestmark = pytest.mark.slow(after=1)

PATHS = ("ipc-write", "ipc-read", "ipc-kernel", "gpu")
# Ranks that spin hand over by time slices here: without a warm-up nothing is measured by the hundred.
FAST = "--max-time 0.005 --warmup 0"
SIZES = {
    **{str(size): size for size in (0, 1, 4, 7, 8, 12, 13, 100, 4097)},
    "64K": 1 << 16,
    "1M": 1 << 20,
    "16M": 1 << 24,
}
FEW = {"0": 0, "1": 1, "8": 8, "13": 13, "4097": 4097, "1M": 1 << 20}
ENGINE, HOST_SIGNALS = (
    "copy engine, completion signalled by the stream",
    "copy engine, completion signalled by the host",
)
WAITS = "kernel that waits for the host's word"
PROTOCOLS = ("LL", "stores", "TMA", "pull", "TMA-pull")
MANY_THREADS = "count=4,blocks=3,threads=64,seed=1"


Pingpong = Callable[..., Done]


@pytest.fixture
def pingpong(tmp_path: Path) -> Pingpong:
    """Runs one over emulated GPUs, by Open MPI unless told."""
    numbers = count()

    def run(paths: str, *words: str, mpi: InstalledMpi | None = None, **variables: str) -> Done:
        return Measure(tmp_path / f"{next(numbers)}.jsonl")(
            *(f"pingpong --device emulated --paths {paths}", *words),
            mpi=mpi or mpis.installed("openmpi"),
            environment=variables,
        )

    return run


def entries_by_path(done: Done, sizes: dict[str, int], paths: tuple[str, ...]) -> dict[str, list[Record]]:
    """All that was asked for is there, and every byte of it was checked."""
    assert done.code == 0, done.err + done.out
    assert not done.failures
    found = {path: [entry for entry in done.entries if entry["path"] == path] for path in paths}
    for entries in found.values():
        assert [entry["bytes"] for entry in entries] == list(sizes.values())
        for entry in entries:
            # Rounds that took more than 50 ms, on a busy machine, are checked before the samples only.
            assert entry["checked"]["iterations"] >= 1
            assert is_checked(entry)
            assert entry["seconds"]["min"] > 0
    return found


@pytest.mark.slow
def test_more_than_one_block_is_to_move(pingpong: Pingpong) -> None:
    """Protects GPUs that run few blocks at once: of a long message even the most of them get much to do."""
    done = pingpong("gpu", "--sizes 24M --loops 2")
    entries_by_path(done, {"24M": 24 << 20}, ("gpu",))


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_every_byte_arrives(mpi: InstalledMpi, pingpong: Pingpong) -> None:
    """Protects all four paths as they run when nothing is fixed, and what the record says of each choice."""
    sizes = SIZES if mpi.name == "openmpi" else FEW | {"16M": 1 << 24}
    done = pingpong(",".join(PATHS), FAST, "--sizes", ",".join(sizes), mpi=mpi)
    found = entries_by_path(done, sizes, PATHS)
    assert {found[path][0]["details"]["copied by"] for path in PATHS[:3]} == {"nothing to copy"}
    by = {path: {entry["details"]["copied by"] for entry in found[path][1:]} for path in PATHS[:3]}
    assert by["ipc-read"] == {HOST_SIGNALS}
    assert by["ipc-kernel"] == {"kernel"}
    # For large messages nothing but an engine is tried.
    assert found["ipc-write"][-1]["details"]["copied by"] == ENGINE
    for entry in found["gpu"]:
        assert set(entry["details"]) == {"protocol", "blocks", "threads", "place"}
        assert entry["details"]["protocol"] in PROTOCOLS
        assert 1 <= entry["details"]["blocks"] <= 2 and 1 <= entry["details"]["threads"] <= 4
    # Packets of 8 bytes do not carry what the ring has no room for.
    assert found["gpu"][-1]["details"]["protocol"] != "LL"
    step = done.of("step")[-1]
    assert step["details"] == {**step["details"], "packet_bytes": 8, "tma": True, "most_blocks": 2}
    assert step["details"]["clock_ns"] >= 1


@pytest.mark.slow
def test_the_fastest_copy_is_taken(pingpong: Pingpong) -> None:
    """Protects the choice of ipc-write, which is measured up to 512 KiB."""
    # An engine takes 0.1 s to start; a kernel, whose speed nobody declares, a fraction of that anywhere.
    done = pingpong("ipc-write", FAST, "--sizes 512K", WIRESPEED_EMULATED="count=2,latency=0.1")
    found = entries_by_path(done, {"512K": 512 << 10}, ("ipc-write",))["ipc-write"]
    assert [entry["details"]["copied by"] in ("kernel", WAITS) for entry in found] == [True]


@pytest.mark.parametrize(
    ("protocol", "offset"),
    [
        *(("LL", "1"), ("stores", "3"), ("TMA", "3"), ("pull", "3"), ("TMA-pull", "0")),
        # Aligned they run in test_many_threads_in_any_order, too.
        *(slow_case(protocol, "0") for protocol in ("LL", "stores", "TMA", "pull")),
    ],
)
def test_each_protocol_of_gpu(protocol: str, offset: str, pingpong: Pingpong) -> None:
    """Protects each protocol by itself, aligned and not; the record says which it was."""
    fixed = f"--test protocol={protocol} --test blocks=2 --test offset={offset}"
    done = pingpong("gpu", FAST, "--sizes", ",".join(FEW), fixed)
    found = entries_by_path(done, FEW, ("gpu",))["gpu"]
    blocks = 1 if protocol == "LL" else 2
    # 1 MiB is more than half of the ring in packets of 8 bytes: there is no room for two such messages.
    used = [entry["details"]["protocol"] for entry in found]
    assert used[:-1] == [protocol] * (len(FEW) - 1)
    assert protocol == "LL" or used[-1] == protocol
    assert all(entry["details"]["blocks"] == blocks for entry in found[:-1])


@pytest.mark.parametrize(
    ("protocol", "threads", "sizes"),
    [
        # Short messages have a kernel each for one packet, one warp and one for each thread.
        *(("LL", 1, "8"), ("LL", 32, "13,256"), ("LL", 64, "300,512,64K")),
        *((protocol, 32, "8,4097,64K") for protocol in ("stores", "TMA", "pull", "TMA-pull")),
    ],
)
def test_many_threads_in_any_order(protocol: str, threads: int, sizes: str, pingpong: Pingpong) -> None:
    """Protects the barriers between a block's threads, which take turns in an order that a seed draws."""
    fixed = f"--test protocol={protocol} --test threads={threads} --test blocks=3"
    done = pingpong("gpu", FAST, "--sizes", sizes, fixed, WIRESPEED_EMULATED=MANY_THREADS).ok()
    assert not done.failures
    for entry in done.entries:
        found = entry["details"]["protocol"], entry["details"]["threads"], entry["details"]["blocks"]
        assert found == (protocol, max(threads, 32), 1 if protocol == "LL" else 3)


@pytest.mark.parametrize(
    ("path", "fixed", "by"),
    [
        ("ipc-write", ("copy=engine", "signal=host"), (HOST_SIGNALS,)),
        ("ipc-write", ("copy=engine", "offset=3"), (ENGINE,)),
        ("ipc-write", ("copy=kernel", "offset=1"), ("kernel",)),
        ("ipc-write", ("copy=waiting-kernel", "offset=3"), (WAITS, ENGINE)),
        slow_case("ipc-write", ("signal=host",), (HOST_SIGNALS, "kernel", WAITS)),
        ("ipc-read", ("offset=3",), (HOST_SIGNALS,)),
    ],
    ids=str,
)
def test_each_way_of_ipc(path: str, fixed: tuple[str, ...], by: tuple[str, ...], pingpong: Pingpong) -> None:
    """Protects engine and kernel, words from the stream and from the host, and places in the sender's buffer.

    Each by itself; aligned they run in test_every_byte_arrives, too.
    """
    done = pingpong(path, FAST, "--sizes", ",".join(FEW), *(f"--test {each}" for each in fixed))
    found = entries_by_path(done, FEW, (path,))[path]
    assert all(entry["details"]["copied by"] in by for entry in found[1:])
    assert found[1]["details"]["copied by"] == by[0] or "signal=host" in fixed


def test_no_kernel_waits_on_a_shared_device(pingpong: Pingpong) -> None:
    """Protects ranks that take turns on a GPU from a kernel that keeps it while it waits."""
    done = pingpong("ipc-write", FAST, "--sizes 8 --between 0,0 --test copy=waiting-kernel")
    (entry,) = entries_by_path(done, {"8": 8}, ("ipc-write",))["ipc-write"]
    assert entry["details"]["copied by"] in (ENGINE, HOST_SIGNALS, "kernel")


@pytest.mark.slow
def test_streams_that_write_no_values(pingpong: Pingpong) -> None:
    """Protects machines whose driver is too old: the host tells the receiver, on all three paths."""
    emulated = {"WIRESPEED_EMULATED": "count=2,values=0"}
    done = pingpong("ipc-write,ipc-read,ipc-kernel", FAST, "--sizes 8,1M", **emulated)
    found = entries_by_path(done, {"8": 8, "1M": 1 << 20}, PATHS[:3])
    assert found["ipc-write"][-1]["details"]["copied by"] == HOST_SIGNALS


@pytest.mark.parametrize("fault", ["drop-byte", "drop-iteration", "repeat-iteration"])
def test_a_lie_is_found_out(fault: str, pingpong: Pingpong) -> None:
    """Protects the check of these paths' bytes: each one's trial ends with the first wrong byte."""
    done = pingpong(",".join(PATHS), FAST, f"--sizes 1,64K --test fault={fault}")
    assert done.code == 1 and not done.entries
    assert [failure["path"] for failure in done.failures] == list(PATHS)
    for failure in done.failures:
        assert failure["what"] == "mismatch" and "wrong data: byte 0 of 1 " in failure["text"]


@pytest.mark.slow
def test_two_ranks_on_one_device(pingpong: Pingpong) -> None:
    """Protects from kernels that wait for each other on one GPU, where one of them may never start."""
    words = (FAST, "--sizes 8,1M --between 0,0")
    done = pingpong("gpu", *words)
    assert done.code == 3 and not done.entries
    (failure,) = done.failures
    assert failure["what"] == "unavailable"
    said = "ranks 0 and 1 share the GPU EMULATED-0 and take turns on it: "
    assert failure["text"] == f"{said}gpu's kernels wait for each other and must run together"
    assert f"gpu: not available: {said.strip()}" in done.out
    # A copy engine serves both.
    done = pingpong("ipc-write,gpu", *words)
    assert done.code == 0 and [entry["bytes"] for entry in done.entries] == [8, 1 << 20]
    assert [failure["path"] for failure in done.failures] == ["gpu"]


def test_what_cannot_be_is_refused(pingpong: Pingpong) -> None:
    """Protects whoever sweeps these from figures of something else than what was asked for."""
    done = pingpong("gpu", FAST, "--sizes 8 --test protocol=magic")
    assert done.code != 0 and not done.entries
    (failure,) = done.failures
    assert "protocol is LL, stores, TMA, pull or TMA-pull, not magic" in failure["text"]


def patterns(ranks: int, transport: str, *options: str, device: str = "count=4") -> Any:
    """Runs the script; what rank 0 printed."""
    words = ("peer_patterns.py", transport, "device", "emulated", *options)
    return mpis.installed("openmpi").told(ranks, *words, WIRESPEED_EMULATED=device)


GPU_PROTOCOLS = (
    "",
    *(f"protocol={protocol};blocks={2 if protocol != 'LL' else 1}" for protocol in PROTOCOLS),
)
IPC_WAYS = ("by=write", "by=write;copy=engine", "by=write;copy=kernel", "by=read")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transport", "ranks", "device"),
    [
        ("gpu", 3, MANY_THREADS),
        ("ipc", 4, MANY_THREADS),
        slow_case("gpu", 3, "count=4"),
        slow_case("ipc", 3, "count=4"),
    ],
)
def test_patterns_of_many_ranks(transport: str, ranks: int, device: str) -> None:
    """Protects all to all, windows, both ways at once, rings, uneven ranks, overlaps and one buffer for both.

    Of several ranks, each option by itself; programs follow each other in one transport: its counters go on.
    """
    ways = {"ipc": IPC_WAYS, "gpu": GPU_PROTOCOLS}[transport]
    found = patterns(ranks, transport, *ways, device=device)
    if transport == "ipc":
        return
    for options, each in found.items():
        protocol = options.removeprefix("protocol=").split(";")[0]
        if not protocol:
            assert each["all_to_all"]["protocol"] in PROTOCOLS
            continue
        assert each["both_ways"]["protocol"] == protocol or protocol == "LL"
        assert each["short_ring"]["protocol"] == protocol
        # Blocks that pull do not wait for each other between steps, nor senders for what is pulled.
        for guarded in ("one_after_the_other", "one_on_top", "relay", "not_yet"):
            assert "pull" not in each[guarded]["protocol"]


@pytest.mark.slow
def test_patterns_by_a_kernel_that_waits() -> None:
    """Protects the order of messages to one peer, several peers of one kernel, and guarded messages."""
    # Two blocks for each of three peers, whose threads take turns in an order that a seed draws.
    way = "by=write;copy=waiting-kernel"
    chosen = patterns(3, "ipc", way, device="count=3,blocks=6,threads=64,seed=1")[way]
    for short in ("all_to_all", "window", "short_ring", "uneven", "relay"):
        assert chosen[short]["copied by"] == WAITS
    assert chosen["one_after_the_other"]["copied by"] == ENGINE


@pytest.mark.slow
def test_a_kernel_whose_peer_never_comes() -> None:
    """Protects the GPU from a kernel that waits for ever: the host tells it to stop, and names the peer."""
    said = patterns(2, "gpu", "nobody")
    assert said.startswith("the persistent kernel got no answer from rank 1 and was told to end"), said


@pytest.mark.slow
def test_one_sample_longer_than_the_watchdog_waits() -> None:
    """Protects --loops of a great many: the kernel tells inside a sample, too, that it goes on."""
    # 259 iterations are stamped in seven parts; without parts there are words at the start and the end alone.
    assert patterns(2, "gpu", "progress") >= 3
