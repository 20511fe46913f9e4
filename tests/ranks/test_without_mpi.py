"""Ranks that no MPI joins, started as torchrun starts them: with its variables, and nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command import PATIENCE, Done, captured, read, whole_lines

from wirespeed.host.process import cpu_list, on_cpus
from wirespeed.job.status_page import own_folder
from wirespeed.rank.join.pinning import cores_of

pytestmark = pytest.mark.slow(after=1)

QUICK = ("--max-time", "0.02", "--device", "emulated")


def started(
    ranks: int, *words: str, out: Path, before: tuple[str, ...] = (), **variables: str
) -> list[subprocess.Popen[str]]:
    """As torchrun does: a process a rank, which finds the others by variables. `before`: but for rank 0."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = {
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": os.uname().nodename,
        "MASTER_PORT": "29500",
        "WIRESPEED_PORT": str(port),
        "WIRESPEED_EMULATED": f"count={ranks}",
        **variables,
    }
    command = [sys.executable, "-I", "-m", "wirespeed", *words, "--out", str(out)]
    return [
        subprocess.Popen(
            [*(before if rank else ()), *command],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]


def ran(ranks: int, *words: str, out: Path, **variables: str) -> list[Done]:
    return ended(started(ranks, *words, out=out, before=(), **variables), out)


def ended(processes: list[subprocess.Popen[str]], out: Path) -> list[Done]:
    """Each rank's code and words; the file's records are rank 0's."""
    told = [process.communicate(timeout=PATIENCE) for process in processes]
    found = [Done(one.returncode, *said) for one, said in zip(processes, told, strict=True)]
    found[0].records = read(out)
    return found


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (2, ("pingpong", "--sizes", "8,64K")),
        (2, ("pingpong", "--sizes", "8", "--paths", "all")),
        (2, ("blocks", "--block", "4K", "--count", "9")),
        (4, ("blocks", "--block", "4K", "--count", "9")),
        (4, ("pairs", "--sizes", "1K", "--paths", "gpu,ipc-write")),
        (2, ("lbm", "--size", "64x24", "--steps", "4", "--picture", "field.png")),
    ],
)
def test_paths_that_need_no_mpi(ranks: int, words: tuple[str, ...], tmp_path: Path) -> None:
    """Protects users of torchrun: the same figures, evidence, checks and pictures."""
    words = tuple(str(tmp_path / word) if word.endswith(".png") else word for word in words)
    first, *others = ran(ranks, *words, *QUICK, out=tmp_path / "r.jsonl")
    assert first.code == 0 and not any(one.out for one in others), first.err
    assert {entry["path"] for entry in first.entries} >= {"gpu", "ipc-write"}
    assert all(entry["wrong"] == 0 for entry in first.entries if "wrong" in entry)
    (step, *_) = first.of("step")
    assert step["launcher"] == "torchrun" and step["mpi"] is None and len(step["ranks"]) == ranks
    assert ("--picture" in words) == (tmp_path / "field.png").exists()


def test_a_collective_operation_has_figures_by_default(tmp_path: Path) -> None:
    """Protects a first try without MPI: the defaults between host buffers have no library's operation."""
    out = tmp_path / "r.jsonl"
    words = ("allreduce", "--sizes", "1K", "--max-time", "0.02", "--device", "cpu")
    first, *_ = ran(2, *words, out=out)
    assert first.code == 0, first.err
    assert {entry["path"] for entry in first.entries} == {"host-shared:best", "host-tcp:best"}
    assert not first.failures
    # torchrun binds no rank: without a CPU of its own, each would wait for the other one's.
    if len(cores_of(sorted(os.sched_getaffinity(0)))) > 1:
        one, other = (set(cpu_list(rank["cpus"])) for rank in first.of("step")[0]["ranks"])
        assert one and other and not one & other


def test_ranks_without_cores_are_told(tmp_path: Path) -> None:
    """Protects from figures of ranks that nobody could pin, without a word of it."""
    out, cpu = tmp_path / "r.jsonl", min(os.sched_getaffinity(0))
    words = ("pingpong", "--sizes", "8", "--paths", "host-shared", "--max-time", "0.02", "--device", "cpu")
    with on_cpus((cpu,)):
        processes = started(2, *words, out=out)
    first, *_ = ended(processes, out)
    assert first.code == 0, first.err
    told = (
        f"ranks are not pinned: {os.uname().nodename} has fewer cores than ranks; --between {cpu},{cpu} pins"
    )
    assert told in first.err


LATE_S = 1.0


@pytest.mark.parametrize(
    ("paths", "cpus", "words", "by"),
    [
        ("host-shared,host-tcp", None, "", "agreed time"),
        ("ipc-write", None, "", "agreed time"),
        ("host-tcp", 1, "--loops 5 --test late=1", "agreed time"),
        ("host-tcp", None, "--loops 5 --test late=1 --test start=barrier", "dissemination"),
    ],
)
def test_samples_start_at_one_moment(
    paths: str, cpus: int | None, words: str, by: str, tmp_path: Path
) -> None:
    """Protects short figures from the order in which ranks leave a barrier, and from the wait for the last.

    On a crowded CPU, too.
    """
    out, device = tmp_path / "r.jsonl", "emulated" if "ipc" in paths else "cpu"
    common = ("halo", "--sizes", "8,64K", "--paths", paths, "--max-time", "0.02", "--device", device)
    with on_cpus(sorted(os.sched_getaffinity(0))[:cpus]):
        processes = started(3, *common, *words.split(), out=out)
    first, *_ = ended(processes, out)
    assert first.code == 0 and len(first.entries) == 2 * len(paths.split(",")), first.err
    for entry in first.entries:
        assert entry["start"]["by"] == by and entry["start"]["why"] is None
        assert entry["start"]["samples"] >= entry["samples"]
        assert 0 < entry["start"]["skew_s"] <= entry["start"]["skew_max_s"] < LATE_S / 2
        assert 0 < entry["samples"] * entry["seconds"]["mean"] < LATE_S / 2 or not words


def test_a_path_that_needs_mpi_is_one_line(tmp_path: Path) -> None:
    """Protects from an error of a library that never was loaded."""
    first, _ = ran(2, "pingpong", "--paths", "aware", *QUICK, out=tmp_path / "r")
    assert first.code == 3 and first.err.count("\n") == 1
    assert "torchrun joins ranks without MPI, which aware needs" in first.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "paths", "statuses"),
    [
        # In a timed batch the watchdog ends the rank, which then writes no end; outside one the rank does.
        ("pingpong", "gpu,ipc-write", ["", "interrupted"]),
        ("pingpong", "host-tcp", ["complete"]),
        ("pingpong", "host-tcp,host-shared", ["interrupted"]),
        ("halo", "host-shared", ["", "complete"]),
    ],
)
def test_a_rank_that_dies_costs_nothing_before_it(
    pattern: str, paths: str, statuses: list[str], tmp_path: Path
) -> None:
    """Protects what was measured: rank 0 says which rank has gone, and whether paths are missing; it ends."""
    out = tmp_path / "r.jsonl"
    words: tuple[str, ...] = (pattern, "--paths", paths, "--sizes", "8,4M", "--loops", "1000000")
    if pattern == "halo":  # many samples
        words = (*words[:-2], "--precision", "0.0001%", "--max-time", "1000")
    processes = started(2, *words, "--timeout", "5", "--device", "emulated", out=out)
    while not any(record["kind"] == "step" for record in whole_lines(out)):
        assert processes[0].poll() is None
        time.sleep(0.05)
    processes[1].send_signal(signal.SIGKILL)
    first, _ = ended(processes, out)
    # The killed rank's page stays as long as the process that started it.
    shutil.rmtree(own_folder(f"job-{os.getpid()}"), ignore_errors=True)
    assert first.code != 0
    assert ("rank 1" in first.err or "peer 1" in first.err) and first.failures
    ends = [record["status"] for record in first.records if record["kind"] == "end"] or [""]
    assert len(ends) == 1 and ends[0] in statuses


@pytest.mark.slow
def test_a_rank_that_comes_alone_says_for_whom_it_waited(tmp_path: Path) -> None:
    """Protects from a report of a hang: ranks may come later than a start may usually take."""
    short = "from wirespeed.frontend import in_launcher; in_launcher.startup_limit = lambda plan: 3.0"
    run = "import sys; sys.argv[0] = 'wirespeed'; from wirespeed.cli.main import main; sys.exit(main())"
    place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    environment = {**os.environ, **place, "WIRESPEED_RENDEZVOUS_TIMEOUT": "4"}
    command = [sys.executable, "-I", "-c", f"{short}; {run}", "pingpong", "--out", str(tmp_path / "r.jsonl")]
    done = captured(command, env=environment, timeout=PATIENCE)
    assert done.returncode == 5 and "rank 1 of 2 did not come to 127.0.0.1" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "code", "says"),
    [
        ({"RANK": "1", "WIRESPEED_SECRET_FILE": "/nowhere"}, 5, "rank 1: WIRESPEED_SECRET_FILE=/nowhere: "),
        # What is in another user's, or a site's, variables is no order to a terminal.
        (
            {"RANK": "1", "WIRESPEED_SECRET_FILE": "/n\x1b]0;x\x07\nwirespeed: well"},
            5,
            "rank 1: WIRESPEED_SE",
        ),
        ({"RANK": "1", "WORLD_SIZE": "3"}, 2, "rank 1 of 3: pingpong takes exactly two ranks, not 3: start"),
        *(
            ({"MASTER_PORT": word}, 5, f"MASTER_PORT={word[:60]}: write a number from 1 to 65534\n")
            for word in ("9" * 5000, "x", "0", "65536")
        ),
    ],
    ids=["secret", "terminal", "ranks", "long", "word", "zero", "large"],
)
def test_what_is_wrong_on_one_rank_is_its_one_line(
    variables: dict[str, str], code: int, says: str, tmp_path: Path
) -> None:
    """Protects users from rank 0's guess alone: it cannot know what another rank lacks."""
    place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    command = [sys.executable, "-I", "-m", "wirespeed", "pingpong", "--out", str(tmp_path / "r.jsonl")]
    done = captured(command, env={**os.environ, **place, **variables}, timeout=PATIENCE)
    assert done.returncode == code and done.stderr.startswith(f"wirespeed: {says}"), done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr[:-1].isprintable()


@pytest.mark.slow
def test_ranks_that_say_different_numbers_name_both(tmp_path: Path) -> None:
    """Protects whoever has set WORLD_SIZE on each host by hand: each log says what is wrong."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def start(rank: int, size: int) -> subprocess.Popen[str]:
        variables = {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1"}
        variables |= {"WIRESPEED_PORT": str(port), "TMPDIR": str(tmp_path)}
        return subprocess.Popen(
            [sys.executable, "-I", "-m", "wirespeed", "groups", "--out", str(tmp_path / "r.jsonl")],
            env=os.environ | variables,
            stderr=subprocess.PIPE,
            text=True,
        )

    ranks = [start(0, 2), start(1, 4)]
    said = [rank.communicate(timeout=PATIENCE)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [5, 5]
    assert all(one.count("\n") == 1 and "rank 1 of 4 connected to rank 0 of 2: " in one for one in said), said
