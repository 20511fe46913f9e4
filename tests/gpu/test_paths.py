"""Every path over real GPUs: every byte of every size and pattern, loads, and what finds a faulty path."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu.conftest import DEVICE, Ranks, by_pattern_and_path, sharing
from support.command import Done, Measure, wirespeed
from support.selection import slow_case

from wirespeed.job.path_selection import unsuited
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.patterns import all_patterns
from wirespeed.patterns.collectives.operation import CollectivePattern

SIZES = {str(size): size for size in (0, 1, 7, 8, 13, 4097)} | {"64K": 1 << 16, "1M": 1 << 20, "16M": 1 << 24}
FAST = ("--max-time", "0.005")
PAIR = (
    *("host", "staged", "staged-pinned", "staged-pipelined", "aware", "aware-nogdr", "aware-managed"),
    *("aware-d2h", "aware-h2d"),
    *("nccl", "nccl-stream", "nccl-nop2p", "ipc-write", "ipc-read", "ipc-kernel"),
    *("gpu", "rma", "rma-get", "shmem"),
)
"""Paths between two GPUs of one host."""
ANY_PATTERN = (
    *("staged", "staged-pipelined", "nccl", "nccl-stream", "ipc-write", "ipc-read", "ipc-kernel"),
    "gpu",
)
"""Those that need no variables of their own in the ranks."""


@pytest.fixture(scope="module")
def words(shared: bool) -> tuple[str, ...]:
    """What lets kernels of ranks that share a GPU wait for each other."""
    return ("share=yes",) * shared


@pytest.fixture(scope="module")
def any_pattern(shared: bool) -> tuple[str, ...]:
    """NCCL's ranks share no GPU, and have no emulated one."""
    without = shared or DEVICE == "emulated"
    return tuple(path for path in ANY_PATTERN if not (without and path.startswith("nccl")))


@pytest.mark.nvidia
@pytest.mark.parametrize("offset", ["0", slow_case("3")])
def test_every_byte_arrives(offset: str, prefix: Path, measure: Measure) -> None:
    """Protects each path as users run it, also where messages do not lie on words."""
    done = measure(
        *(f"pingpong --device {DEVICE} --paths", ",".join(PAIR), *FAST, "--mpi", prefix, "--sizes"),
        *(",".join(SIZES), f"--test offset={offset}"),
    )
    lacking = {failure["path"] for failure in done.failures if failure["what"] == "unavailable"}
    broken = [failure for failure in done.failures if failure["what"] != "unavailable"]
    assert not broken, "\n".join(f"{f['path']}, {f['bytes']}: {f['what']}, {f['text']}" for f in broken)
    for path in PAIR:
        sizes = [entry["bytes"] for entry in done.entries if entry["path"] == path]
        assert sizes == ([] if path in lacking else list(SIZES.values())), path
    for entry in done.entries:
        compared = entry["checked"]["iterations"] + entry["checked"]["batches"]
        assert entry["checked"]["bytes"] == compared * entry["bytes"]
    assert lacking <= {"shmem"}, done.failures


@pytest.mark.gpus(1)
def test_every_pattern(
    words: tuple[str, ...], any_pattern: tuple[str, ...], shared: bool, ranks: Ranks, tmp_path: Path
) -> None:
    """Protects programs of many transfers and steps, and sums on the device."""
    custom = tmp_path / "custom.csv"
    custom.write_text("step,from,to,bytes\n0,0,1,4K\n0,0,1,7\n0,1,0,8\n1,1,0,64K\n")
    # Where ranks share a GPU, each turn of theirs is a time slice of the driver's.
    sizes = "8,4097" if shared else "1,8,4097,65536,1048576"
    told = ranks("all_patterns.py", DEVICE, sizes, ",".join(any_pattern), *words, CUSTOM_FILE=str(custom))
    found = by_pattern_and_path(told)
    wanted = [
        one
        for one in all_patterns().values()
        if not (isinstance(one, CollectivePattern) or one.kind.intra_rank or one.kind.one_sided)
    ]
    paths = {path: find_path(path) for path in any_pattern}
    assert set(found) == {
        (one.name, name) for one in wanted for name, path in paths.items() if not unsuited(path, one, Plan())
    }
    for (pattern, path), messages in found.items():
        assert not [message for message in messages if message["kind"] == "failure"], (
            pattern,
            path,
            messages,
        )
        entries = [message for message in messages if message["kind"] == "entry"]
        assert entries, (pattern, path)
        assert all(entry["checked"]["bytes"] > 0 for entry in entries)


@pytest.mark.gpus(1)
@pytest.mark.parametrize("fault", ["drop-byte", *map(slow_case, ("drop-iteration", "repeat-iteration"))])
def test_a_path_that_lies_is_found_out(
    fault: str, words: tuple[str, ...], any_pattern: tuple[str, ...], ranks: Ranks
) -> None:
    """Protects the check itself, whose kernels run on the GPU."""
    lies = (f"fault={fault}", *words)
    told = ranks("all_patterns.py", DEVICE, "8,65536", ",".join(any_pattern), *lies, ONLY="pingpong")
    found = by_pattern_and_path(told)
    for path in any_pattern:
        failures = [m for m in found["pingpong", path] if m["kind"] == "failure"]
        # A path that is tried before it is measured ends there.
        assert failures and {failure["what"] for failure in failures} == {"mismatch"}, (path, failures)
        assert not [m for m in found["pingpong", path] if m["kind"] == "entry"], path


@pytest.mark.gpus(1)
@pytest.mark.parametrize("protocol", [*map(slow_case, ("LL", "stores", "TMA", "pull", "TMA-pull"))])
def test_irregular_patterns(protocol: str, words: tuple[str, ...], ranks: Ranks) -> None:
    """Protects each protocol of `gpu`: windows, several steps, one buffer for both ways, odd addresses."""
    blocks = (1,) if protocol == "LL" else (1, 16, 100)
    options = [";".join((f"protocol={protocol}", f"blocks={count}", *words)) for count in blocks]
    found = ranks("peer_patterns.py", "gpu", "device", DEVICE, *options)
    for chosen in found.values():
        assert chosen["short_ring"]["protocol"] == protocol


OPERATIONS = (
    ("protocol=LL",),
    ("protocol=stores", "blocks=16"),
    ("protocol=pull", "blocks=16"),
    ("offset=8",),
)


@pytest.mark.parametrize("count", [2, *map(slow_case, (4, 8))])
@pytest.mark.parametrize("options", [(), *map(slow_case, OPERATIONS)])
def test_collective_operations_in_the_kernel(options: tuple[str, ...], count: int, ranks: Ranks) -> None:
    """Protects what the kernel combines by itself: every operation, type and reduction, odd ends."""
    paths = "gpu:ring,gpu:doubling,gpu:direct,gpu:one-shot"
    # Of messages above 1 MiB, also of eight ranks, a block waits for its own share.
    sizes = "8,1002,65536,1048576" + (",9437192" if "protocol=stores" in options else "")
    told = ranks("all_patterns.py", DEVICE, sizes, paths, *options, count=count, COLLECTIVES="5")
    found = by_pattern_and_path(told)
    for (pattern, path), messages in found.items():
        failures = [m for m in messages if m["kind"] == "failure" and m["what"] != "unavailable"]
        assert not failures, (pattern, path, failures)
        for entry in (m for m in messages if m["kind"] == "entry"):
            assert entry["checked"]["wrong"] == 0
            assert pattern != "allreduce" or entry["details"]["work"] == "by the same kernel"
    assert {path for pattern, path in found if pattern == "allreduce"} == set(paths.split(","))


@pytest.mark.slow
def test_counts_beyond_the_sign(prefix: Path, measure: Measure) -> None:
    """Protects a transport that has moved more than 2^31 messages by another protocol."""
    done = measure(
        *(f"pingpong --device {DEVICE} --paths gpu --sizes 8,64K,16M", *FAST, "--mpi", prefix),
        f"--test transfers-before={(1 << 31) + 100}",
    ).ok()
    assert len(done.entries) == 3


LOADED = {"64K": 1 << 16, "2M": 2 << 20, "256M": 256 << 20}
LOADS = ("rma", "--operation", "load", "--device", DEVICE)


def loads(prefix: Path, out: Path, *words: str) -> Done:
    return wirespeed(*LOADS, "--mpi", prefix, *words, out=out, environment={"WIRESPEED_NO_EVIDENCE": ""})


@pytest.mark.nvidia
def test_a_load_from_each_memory(prefix: Path, tmp_path: Path) -> None:
    """Protects the figure: each end right, the way to the other GPU in it, the first-level cache not."""
    done = loads(prefix, tmp_path / "r.jsonl", "--sizes", ",".join(LOADED))
    assert done.code == 0 and not done.failures, done.err + done.out
    found = {(entry["path"], entry["bytes"]): entry for entry in done.entries}
    assert set(found) == {(path, size) for path in ("gpu-load", "gpu-load-own") for size in LOADED.values()}
    for (path, size), entry in found.items():
        assert entry["checked"]["iterations"] >= min(size // 128, 4096), (path, size)
        # From samples of many loads: a single one would be as long as a step or two of the clock.
        assert entry["iterations_per_sample"] > 1, (path, size)
    for size in LOADED.values():
        assert found["gpu-load", size]["seconds"]["low"] > found["gpu-load-own", size]["seconds"]["high"]
    # 64 KiB lie in the owner's second-level cache, 256 MiB do not.
    small, large = LOADED["64K"], LOADED["256M"]
    for path in ("gpu-load", "gpu-load-own"):
        assert found[path, large]["seconds"]["low"] > found[path, small]["seconds"]["high"], path


@pytest.mark.nvidia
@pytest.mark.slow
def test_the_wire_of_a_load(prefix: Path, tmp_path: Path) -> None:
    """Protects the verdict: where counters can be read, they show that loads cross the wire."""
    done = loads(prefix, tmp_path / "r.jsonl", "--sizes", "2M")
    evidence = done.of("evidence")
    assert [record["path"] for record in evidence] == ["gpu-load"]
    assert evidence[0]["suspicious"] is None, evidence[0]["text"]


@pytest.mark.gpus(1)
@pytest.mark.parametrize("path", ["gpu-load", slow_case("gpu-load-own")])
def test_a_wrong_link_is_found_out(path: str, prefix: Path, tmp_path: Path) -> None:
    words = ("--paths", path, "--sizes", "64K", "--test", "wrong-link=5", *sharing())
    done = loads(prefix, tmp_path / "r.jsonl", *words)
    assert not done.entries
    assert [failure["what"] for failure in done.failures] == ["mismatch"], done.failures
