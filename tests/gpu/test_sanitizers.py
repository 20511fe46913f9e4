"""Every kernel under compute-sanitizer: accesses out of bounds, races in shared memory, barriers.

It does not prove the protocol of flags between GPUs, which lie in global memory: the head of
native/kernels/persistent.h argues for that.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from gpu.conftest import DEVICE, Ranks
from support import every_kernel
from support.command import Record
from support.selection import slow_case

FIRST, *LATER = TOOLS = ("memcheck", "racecheck", "synccheck")
PATTERNS = ("all_patterns.py", DEVICE)
BLOCKS = "blocks=8 threads=128"
KERNELS = {
    **{
        protocol: (f"8,4097,1048576 gpu protocol={protocol} {BLOCKS}", {})
        for protocol in ("LL", "stores", "TMA", "pull", "TMA-pull")
    },
    # One packet a thread and several, in shares and in pieces.
    **{
        f"combine-{protocol}": (f"8,4096,65536 gpu protocol={protocol} {BLOCKS}", {"COLLECTIVES": "2"})
        for protocol in ("LL", "stores", "pull")
    },
    # Long messages, of which a block waits for its own share.
    "ring": (f"4194312 gpu:ring protocol=stores {BLOCKS}", {"COLLECTIVES": "1"}),
    # Short messages, checked by the kernel that moves them, and longer ones beside it.
    "check": ("8,264,4097 gpu", {"SOAK": "0.05"}),
}
"""What all_patterns.py runs, and with which variables."""


@pytest.fixture
def sanitizer() -> str:
    found = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not found:
        pytest.skip("no compute-sanitizer (it comes with CUDA's toolkit)")
    if "gvisor" in Path("/proc/version").read_text().lower() or os.uname().release == "4.4.0":
        pytest.skip("compute-sanitizer does not work under gVisor")
    return found


@pytest.mark.gpus(1)
@pytest.mark.parametrize("tool", [FIRST, *map(slow_case, LATER)])
@pytest.mark.parametrize("part", every_kernel.ONE_GPU)
def test_every_kernel(part: str, tool: str, sanitizer: str, ranks: Ranks, shared: bool) -> None:
    """Protects each kernel once, small, and that it still finds what is planted."""
    words = every_kernel.command(DEVICE, part, shared)
    told = nothing_found(tool, sanitizer, ranks, *words, count=every_kernel.RANKS[part])
    every_kernel.judge(part, told)


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_in_depth(tool: str, name: str, sanitizer: str, ranks: Ranks) -> None:
    """Protects every protocol in every pattern of two ranks, short and long messages, and what combines."""
    words, variables = KERNELS[name]
    nothing_found(tool, sanitizer, ranks, *PATTERNS, *words.split(), count=2, **variables)


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("blocks", [1, 8])
def test_the_kernels_that_exchange_with_several(tool: str, blocks: int, sanitizer: str, ranks: Ranks) -> None:
    """Protects collective operations with three peers, by one block and by several."""
    words = f"64,65536 gpu:direct,gpu:one-shot protocol=LL threads=128 blocks={blocks}"
    nothing_found(tool, sanitizer, ranks, *PATTERNS, *words.split(), COLLECTIVES="1", count=4)


def nothing_found(
    tool: str, sanitizer: str, ranks: Ranks, *words: str, count: int = 2, **variables: str
) -> list[Record]:
    """What rank 0 told, of which the tool says nothing."""
    under = (sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", "9")
    variables = {"PATIENCE": "200", **variables}
    try:
        said = ranks(*words, count=count, under=under, **variables)
    except AssertionError as failure:
        # The tool crashes, or stops a launch until the kernel that waits for this launch ends.
        at_fault = (
            re.search(r"in libsanitizer-", str(failure)),
            re.search("SUMMARY: 0 (err|haz)", str(failure)),
        )
        if not all(at_fault):
            raise
        said = ranks(*words, count=count, under=under, **variables)
    # One for all processes, or one for each.
    summaries = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)
    assert summaries, said[-2000:]
    assert all(re.match(r"0 (errors|hazards displayed)", summary) for summary in summaries), said[-4000:]
    (line,) = (line for line in said.splitlines() if line.startswith("[{"))
    told: list[Record] = json.loads(line)
    failures = [one for one in told if one["kind"] == "failure" and one["what"] != "unavailable"]
    assert not [one for one in failures if one["planted"] is None], failures
    return told
