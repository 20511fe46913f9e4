"""Figures against a known truth: an emulated device that keeps the bandwidth it declares, by sleeping.

A sleep never ends early, and all iterations lie within the time that their size took: that holds anywhere.
How near the figures are is what bench/declared.py prints.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import mpis
from support.command import Done, Measure, Record, wirespeed

pytestmark = pytest.mark.slow

SIZE, RATE = 8 << 20, 2.5e8


def measured(measure: Measure, declared: str, *command: str) -> Done:
    return measure(
        *command,
        f"--device emulated --sizes {SIZE} --warmup 0",
        environment={"WIRESPEED_EMULATED": declared if "count" in declared else f"count=2,{declared}"},
    ).ok()


@pytest.mark.slow
def test_messages_between_devices(measure: Measure) -> None:
    """Protects the way from samples to GB/s of paths whose copies are all there is to it."""
    fastest = {"ipc-write": RATE, "ipc-read": RATE, "staged": RATE / 2}
    words = ("pingpong", "--paths", ",".join(fastest), "--max-time", "1")
    entries = measured(measure, f"peer={RATE},h2d={RATE},d2h={RATE}", *words).entries
    assert [entry["path"] for entry in entries] == [*fastest]
    for entry in entries:
        found = entry["bytes_per_second"]
        assert found["median"] == pytest.approx(SIZE / entry["seconds"]["median"])
        assert SIZE / entry["seconds"]["min"] <= fastest[entry["path"]]
        # One way is half of an iteration, and all of them lie within the time that the size took.
        assert 2 * entry["iterations"] * entry["seconds"]["mean"] <= entry["elapsed_s"]


def test_copies_of_one_rank_and_of_two(measure: Measure) -> None:
    """Protects each way by itself, and that each rank alone and both together are told apart."""
    rates = {"h2d-pinned": RATE, "d2h-pinned": RATE / 2, "d2d": 2 * RATE}
    declared = f"h2d={RATE},d2h={RATE / 2},d2d={2 * RATE}"
    done = measured(measure, declared, "copy", "--messages", "--paths", ",".join(rates), "--loops", "6")
    copies = [entry for entry in done.entries if entry["pattern"] == "copy"]
    assert {entry["path"] for entry in copies} == set(rates)
    for entry in copies:
        assert [member["name"] for member in entry["teams"]] == [
            *(f"rank {rank} alone" for rank in range(2)),
            *(f"rank {rank} with all" for rank in range(2)),
        ]
        # Each of the two emulated devices has its own copy engines: alone or not is all the same to it.
        for member in entry["teams"]:
            assert entry["bandwidth_bytes"] / member["seconds"]["min"] <= rates[entry["path"]]
        # Rank 0 alone, then rank 1, then both at once.
        first, second, *both = (member["seconds"]["median"] for member in entry["teams"])
        assert entry["iterations"] * (first + second + max(both)) <= entry["elapsed_s"]
    # MPI from pageable and from pinned memory stands in the same file.
    assert {entry["path"] for entry in done.entries if entry["pattern"] == "pingpong"} == {
        "host",
        "host-pinned",
    }


def test_a_slow_gpu_beside_good_ones(measure: Measure) -> None:
    """Protects the name of the one GPU that is slow: each process has its line, and this one a sentence."""
    words = ("copy", "--ranks", "3", "--paths", "h2d-pinned", "--max-time", "0.5", "--oversubscribe")
    done = measured(measure, f"count=3,slow=1,h2d={RATE}", *words)
    (entry, *_) = done.entries
    alone = [member for member in entry["teams"] if member["name"].endswith("alone")]
    rates = [SIZE / member["seconds"]["min"] for member in alone]
    assert len(rates) == 3 and max(rates) <= RATE and rates[1] <= RATE / 2
    assert [line.split()[:3] for line in done.out.splitlines() if "GPU" in line.split()[1:2]] == [
        [str(rank), "GPU", str(rank)] for rank in range(3)
    ]
    # What waited for a CPU is no fault of a GPU.
    quiet = "uncertain" not in done.out and not any(member["waited"] for member in alone)
    said = "with emulated GPU 1: copies more slowly than the others, each alone"
    assert not quiet or said in " ".join(done.out.split())
    assert done.out.count("copies more slowly") <= 1


def test_copies_both_ways(measure: Measure) -> None:
    """Protects that both directions run at once, the slower one decides, and all bytes are checked."""
    words = ("copy", "--both-ways", "--paths", "h2d-pinned", "--ranks", "1", "--max-time", "1")
    slower, faster = RATE / 4, RATE / 2
    done = measured(measure, f"h2d={faster},d2h={slower}", *words)
    (entry,) = [one for one in done.entries if one["pattern"] == "copy"]
    assert [(one["name"], one["amount"]) for one in entry["derived"]] == [("each way", entry["bytes"])]
    assert entry["bandwidth_bytes"] == 2 * entry["bytes"]
    assert (
        entry["checked"]["bytes"]
        == (entry["checked"]["iterations"] + entry["checked"]["batches"]) * 2 * entry["bytes"]
    )
    # 134 ms beside 67 ms, or 201 ms one after the other: of the fastest of several, whatever runs besides.
    assert SIZE / slower <= entry["seconds"]["min"] < SIZE / slower + SIZE / faster
    assert entry["samples"] >= 5


def test_messages_follow_copies_where_they_are_asked_for(tmp_path: Path) -> None:
    """Protects from a second table, of a ping-pong that is to show what pinned memory is worth."""
    words = ("copy", "--ranks", "1", "--sizes", "4K", "--max-time", "0.01")
    emulated = ("--device", "emulated", "--paths", "h2d-pinned")
    for number, more in enumerate((("--device", "cpu", "--messages"), emulated, (*emulated, "--both-ways"))):
        done = wirespeed(*words, *more, out=tmp_path / f"{number}.jsonl")
        assert done.code == 0 and "pingpong" not in done.out, more
        assert {run["plan"]["pattern"] for run in done.of("run")} == {"copy"}
    done = wirespeed(*words, *emulated, "--messages", out=tmp_path / "s.jsonl")
    assert "what pinned memory is worth to messages between two ranks:\npingpong on" in done.out


def test_host_memory_of_one_numa_node(measure: Measure) -> None:
    """Protects --node: memory is bound to the node. test_refused_early.py has one that is not there."""
    done = measure(
        "copy --paths h2d-pinned,h2h --device emulated --sizes 64K --node 0 --ranks 1 --max-time 0.01"
    )
    copies = [entry for entry in done.entries if entry["pattern"] == "copy"]
    assert done.code == 0 and [entry["details"]["numa_node"] for entry in copies] == [0, 0]


@pytest.mark.slow(after=1)
def test_another_pattern_at_the_same_time(measure: Measure) -> None:
    """Protects --with: alone, then while it runs; both in the file, the ratio in the table, nobody left."""
    done = measure("pingpong --paths host --sizes 8 --max-time 0.05 --with stream:host:64K").ok()
    runs = [record for record in done.records if record["kind"] == "run"]
    assert [run["plan"]["background"] for run in runs] == [None, "stream:host:64K"]
    assert len(done.entries) == 2
    words = "while stream:host:64K is running: how many times longer it takes than alone"
    assert words in done.out
    assert words in wirespeed("show", measure.out).out


def test_several_plans_are_one_document(measure: Measure) -> None:
    """Protects programs that read --format json: lists of groups and of ranks give one object."""
    done = measure("groups --ranks 2,4 --group 1,2 --paths host --sizes 1K --loops 2 --format json").ok()
    records = json.loads(done.out)["records"]
    plans = [record["plan"] for record in records if record["kind"] == "run"]
    # Two ranks in groups of two are one group: that combination is left out.
    assert [(plan["ranks"], dict(plan["options"])["group"]) for plan in plans] == [(2, 1), (4, 1), (4, 2)]
    assert len(done.entries) == 3


def test_a_failure_costs_no_other_plan(measure: Measure) -> None:
    """Protects the second of two plans: the first one's path fails, and everything else is measured."""
    done = measure("groups --ranks 2,4 --group 1 --paths host --sizes 1K --loops 2 --test fault=drop-byte")
    assert done.code == 1
    runs = [record["run"] for record in done.records if record["kind"] == "run"]
    failed = [record["run"] for record in done.records if record["kind"] == "failure"]
    assert len(runs) == 2 and failed == runs


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--group", "1,2"), "one number each"),
        (("--ranks", "3"), "--ranks 3, but the launcher has started 2 ranks"),
        (("--with", "stream:host"), "not inside a launcher's job"),
        (("--count", "4", "--sizes", "8"), "leave --sizes out"),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else "",
)
def test_what_a_launchers_world_cannot_do(words: tuple[str, ...], text: str, measure: Measure) -> None:
    """Protects mpirun's users from a half-measured list, and from a world that is not the one asked for."""
    done = measure("groups", *words, inside=mpis.installed("mpich"))
    assert done.code != 0 and text in done.err


ROUND, STEPS = 1 << 20, 6
PACE = 5e7
"""21 ms a copy: the sums between them, which nothing slows down, take a small part of that."""
STEP_S = {
    "ipc-write": ROUND / PACE,
    "ipc-read": ROUND / PACE,
    "staged": ROUND / PACE + ROUND / (2 * PACE),
}
"""What the copies of one step take: from GPU to GPU, or to the host and then from the host."""


def ring(measure: Measure, *limits: str) -> dict[str, Record]:
    """The entries of a ring of two ranks, by path, whose emulated GPUs copy at the rates above."""
    done = measure(
        *(f"ring --ranks 2 --steps {STEPS} --device emulated --paths", ",".join(STEP_S)),
        *(f"--sizes {ROUND} --warmup 0", *limits),
        environment={"WIRESPEED_EMULATED": f"count=2,peer={PACE},d2h={PACE},h2d={2 * PACE}"},
    ).ok()
    assert len(done.entries) == len(STEP_S)
    return {entry["path"]: entry for entry in done.entries}


@pytest.mark.slow
def test_a_round_takes_all_its_steps(measure: Measure) -> None:
    """Protects a ring's figure from samples that begin too late, end too early or leave steps out."""
    for path, entry in ring(measure, "--max-time", "1").items():
        assert entry["seconds"]["min"] >= STEPS * STEP_S[path]
        assert entry["iterations_per_sample"] == 1 and entry["samples"] >= 3
        assert entry["samples"] * entry["seconds"]["mean"] <= entry["elapsed_s"]
        (step,) = entry["derived"]
        assert step["name"] == "a step"
        assert step["median"] == pytest.approx(entry["seconds"]["median"] / STEPS)


@pytest.mark.slow
def test_a_sample_of_several_rounds_is_the_time_of_one(measure: Measure) -> None:
    """Protects figures of a fixed count: a sample is divided by its rounds, and none of these is left out."""
    loops = 6
    for path, entry in ring(measure, "--loops", str(loops)).items():
        assert (entry["iterations"], entry["samples"]) == (loops, 1)
        assert entry["seconds"]["median"] >= STEPS * STEP_S[path]
        assert loops * entry["seconds"]["median"] <= entry["elapsed_s"]
