"""An iteration is done when its last launch of work has ended, on every class of program.

Each launch of work sleeps at least so long on these emulated devices, and a sleep never ends early: a sample
that is shorter than its launches has left some of them out. A rank that comes late to a batch is waited for
before the clock starts: a sample that is longer than its lateness would hold it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from support.command import Done, Measure, wirespeed
from support.selection import slow_case

from wirespeed.errors import ExitCode

WORK_S, LATE_S = 0.005, 0.3
LAUNCHES = {"host": 2, "staged": 2, "staged-pipelined": 2, "ipc-write": 2, "host-tcp": 2, "gpu": 1}
"""Of a step, by path: its inner part and its edges one after the other, or one launch ordered by flags.

Their programs: the loop of the CPU (host, staged, ipc-write, host-tcp), a chain (staged-pipelined), and work
beside a persistent kernel (gpu).
"""
CLASSES = ("host", "staged-pipelined", "gpu")
"""One path of each class."""
SIZES = {"jacobi": "64x64", "lbm": "64x64"}


def measured(out: Path, program: str, *words: str, work: float = WORK_S) -> Done:
    done = wirespeed(
        *(program, "--ranks", "2", "--device", "emulated", "--paths", ",".join(LAUNCHES), "--no-evidence"),
        *("--size", SIZES[program], "--steps", "2", *words),
        out=out,
        environment={"WIRESPEED_EMULATED": f"count=2,work={work}"},
    ).ok()
    assert [entry["path"] for entry in done.entries] == list(LAUNCHES)
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "warmup", "loops"),
    [
        ("jacobi", 1, 3),
        *(slow_case(*one) for one in (("lbm", 0, 1), ("jacobi", 0, 1), ("lbm", 1, 3), ("jacobi", 0, 3))),
    ],
)
def test_a_sample_holds_all_its_launches_and_no_waiting(
    program: str, warmup: int, loops: int, tmp_path: Path
) -> None:
    """Protects a step's time from launches that are left out, and from the time in which ranks meet."""
    words = ("--warmup", str(warmup), "--loops", str(loops), "--test", f"late={LATE_S}")
    done = measured(tmp_path / "r.jsonl", program, *words)
    for entry in done.entries:
        assert (entry["samples"], entry["iterations_per_sample"]) == (1, loops)
        steps = entry["program"]["steps_per_iteration"]
        least = LAUNCHES[entry["path"]] * WORK_S
        # A machine of few cores adds to it, but not as much as the lateness.
        assert least <= entry["seconds"]["min"] < LATE_S / loops / steps + least, entry["path"]


@pytest.mark.slow
@pytest.mark.parametrize("program", ["jacobi", slow_case("lbm")])
def test_every_sample_of_many(program: str, tmp_path: Path) -> None:
    """Protects batches of several samples, the computation alone, and the agreement of both clocks."""
    done = measured(tmp_path / "r.jsonl", program, "--max-time", "0.1")
    for entry in done.entries:
        least = LAUNCHES[entry["path"]] * WORK_S
        assert entry["samples"] >= 3 and entry["seconds"]["min"] >= least, entry["path"]
        assert entry["program"]["compute"]["median"] >= least, entry["path"]
        clock = entry["clock"]
        assert clock["batches"] and not clock["long"] and not clock["short"], entry["path"]


@pytest.mark.slow
def test_the_last_launch_has_ended_when_a_batch_has(measure: Measure) -> None:
    """Protects work beside a persistent kernel: stamps of its transfers come a launch before its end."""
    # Of four launches one is more than a busy host may see late.
    work = 0.1
    done = measure(
        *("jacobi --ranks 2 --device emulated --paths gpu --no-evidence --size", SIZES["jacobi"]),
        "--steps 2 --warmup 1 --loops 1",
        environment={"WIRESPEED_EMULATED": f"count=2,work={work}"},
    ).ok()
    (clock,) = (entry["clock"] for entry in done.entries)
    assert clock["batches"] == 1 and clock["stamped_s"] >= 4 * work
    assert not clock["long"] and not clock["short"], clock


@pytest.mark.slow
def test_a_collective_of_several_steps_does_not_time_the_meeting(measure: Measure) -> None:
    """Protects operations that are chains of programs: the ranks meet before the clock starts."""
    done = measure(
        "allreduce --ranks 2 --paths host-shared,host --algorithm ring --sizes 1M --loops 1 --warmup 0",
        f"--test late={LATE_S} --no-evidence",
    ).ok()
    assert {entry["path"].split(":")[0] for entry in done.entries} == {"host-shared", "host"}
    for entry in done.entries:
        assert 0 < entry["seconds"]["median"] < LATE_S, entry["path"]


def test_a_ring_of_chains_does_not_time_the_meeting(measure: Measure) -> None:
    """Protects rings by way of pipelined staging, whose links are programs of their own."""
    done = measure(
        "ring --ranks 2 --device emulated --paths staged-pipelined --sizes 64K --steps 2 --loops 1 --warmup",
        f"0 --test late={LATE_S} --no-evidence",
    ).ok()
    assert 0 < done.entries[0]["seconds"]["median"] < LATE_S


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "rule", "paths"),
    [
        ("early-stamp", "clock", CLASSES),
        *(slow_case(fault, "clock", LAUNCHES) for fault in ("fast-clock", "slow-clock", "early-stamp")),
        slow_case("lost-work", "computation", LAUNCHES),
    ],
)
def test_a_false_clock_gives_no_figure(fault: str, rule: str, paths: Collection[str], tmp_path: Path) -> None:
    """Protects users from a clock, or stamps, that are wrong, on every path that has work."""
    # One stamp of a few is a large part of the batch: more than ranks without a CPU excuse.
    batches = ("--loops", "1", "--warmup", "1") if fault == "early-stamp" else ("--max-time", "0.4")
    excused = list(paths)
    for number in range(3):
        done = wirespeed(
            *("jacobi", "--ranks", "2", "--device", "emulated", "--paths", ",".join(excused)),
            *("--size", SIZES["jacobi"], "--steps", "2", *batches, "--test", f"fault={fault}"),
            "--no-evidence",
            out=tmp_path / f"{number}.jsonl",
            # So long that what is missing is more than a busy host may see late.
            environment={"WIRESPEED_EMULATED": f"count=2,work={3 * WORK_S}"},
        )
        assert done.code == ExitCode.IMPOSSIBLE, done.out + done.err
        assert [entry["path"] for entry in done.entries] == excused
        table = done.out.split("fastest")[0]
        assert table.count("impossible") >= len(excused) and "fastest for GPU data: gpu" not in done.out
        rules = {entry["path"]: [found["rule"] for found in entry["impossible"]] for entry in done.entries}
        # A rank that hardly had a CPU in one batch is excused from one rule, hardly three times.
        if not (excused := [path for path in excused if rule not in rules[path]]):
            break
    assert not excused, rules


@pytest.mark.slow
def test_a_field_in_the_cache_is_sound(measure: Measure) -> None:
    """Protects figures that are fast, and true: no byte that memory must move."""
    done = measure(
        "jacobi --ranks 2 --device emulated --paths gpu --no-evidence --size 256x256 --steps 8"
    ).ok()
    assert not any(entry["impossible"] for entry in done.entries)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["pull", "TMA-pull"])
def test_what_is_fetched_after_the_last_stamp_is_no_contradiction(protocol: str, tmp_path: Path) -> None:
    """Protects large messages that receivers fetch: their sender is done a message before its kernel is.

    Two iterations make a batch: the last message is a quarter of it. A clock that counts half is still found.
    """
    words = [
        *("pingpong", "--device", "emulated", "--paths", "gpu", "--sizes", "32M", "--no-evidence"),
        *("--loops", "1", "--warmup", "0", "--test", f"protocol={protocol}"),
    ]
    for fault, code in ((), ExitCode.OK), (("--test", "fault=slow-clock"), ExitCode.IMPOSSIBLE):
        for number in range(3):
            out = tmp_path / f"{len(fault)}-{number}.jsonl"
            done = wirespeed(*words, *fault, out=out, environment={"WIRESPEED_EMULATED": "count=2"})
            if done.code == code:
                break  # An emulated kernel whose threads wait for CPUs ends late, whatever the clock.
        assert done.code == code, done.out + done.err
