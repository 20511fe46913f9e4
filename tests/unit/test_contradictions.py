"""Figures that cannot be true: each rule on both sides of its threshold, and what becomes of such figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.impossible import CLOCK, FALSE, last_run, program_run
from support.measured import KINDS, measured, name_of, result
from support.records import SIZES, as_read, end, entry, figure, head, make_run, shown, step

from wirespeed.errors import PRECEDENCE, ExitCode, gravest
from wirespeed.job.plan import Plan
from wirespeed.limits import Ceiling
from wirespeed.paths import find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.results import recorder
from wirespeed.results.contradiction import Contradiction
from wirespeed.results.decoding import fitted
from wirespeed.results.reading import read
from wirespeed.results.recorder import StepJob
from wirespeed.results.runs import Entry, Run, collect, resumed
from wirespeed.results.store import Store

IMPOSSIBLE_FILES = dict.fromkeys(
    ("h200-x2-budget-2",),
    "gpu at 512 MiB: true, but the rule did not know that the last message is fetched after its last stamp",
) | dict.fromkeys(
    ("h200-x8-alltoall", "h200-x8-allgather", "h200-x8-reducescatter"),
    "8 B on 8 ranks: no element for each, so that nothing was moved; NCCL returned after 25 to 39 ns",
)
"""Measured files with figures that are marked impossible, and why."""
ALONE = (600e-6, 598e-6, 602e-6)


def found(run: Run) -> list[Contradiction]:
    return [why for one in run.impossible.values() for why in one.impossible]


def rules(run: Run) -> list[str]:
    return [why.rule for why in found(run)]


# ---- nothing moved ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["alltoall", "allgather", "reducescatter"])
def test_an_operation_that_moves_nothing_has_no_figure(name: str) -> None:
    """Protects from the fastest figure of all: that of a call which returns at once, as NCCL's did here."""
    (run,) = collect(read(result(f"eight/h200-x8-{name}")).records)
    assert set(run.impossible) == {(path, 8) for path in ("gpu:best", "nccl-stream", "nccl-stream:best")}
    assert set(rules(run)) == {"nothing"}
    assert found(run)[0].text == "nothing was moved: 8 B are less than an element for each rank"
    assert all(entry.bytes > 8 for entry in run.entries.values())


# ---- a program's own computation -------------------------------------------------------------------------


def test_a_step_below_its_own_computation() -> None:
    """Protects from 80 us a step where the computation alone takes 600; both figures are named."""
    (why,) = found(last_run(program_run(80e-6, compute=ALONE)))
    assert (why.rule, why.figure.value, why.other.value, why.other.unit) == (
        "computation",
        80e-6,
        600e-6,
        "s",
    )
    assert (why.other.low, why.other.high) == (598e-6, 602e-6)
    assert why.text == (
        "a step takes 80.0 us (79.7 us to 80.3 us), its computation alone 600 us (598 us to 602 us)"
    )


@pytest.mark.parametrize(("ratio", "wrong"), [(0.9495, True), (0.9505, False)])
def test_the_share_of_a_computation(ratio: float, wrong: bool) -> None:
    """Protects clocks and caches that make a step a little shorter than its computation alone."""
    run = last_run(program_run(ratio * 598e-6, share=0.0, compute=ALONE))
    assert rules(run) == ["computation"] * wrong


@given(st.floats(1e-7, 10), st.floats(0.5, 1.5), st.floats(0, 0.4), st.floats(0, 0.4))
def test_the_bounds_of_both_decide(alone: float, ratio: float, share: float, spread: float) -> None:
    """Protects sound figures whose intervals reach each other."""
    compute = (alone, alone * (1 - spread), alone * (1 + spread))
    run = last_run(program_run(ratio * alone, share=share, compute=compute, gpu="unknown"))
    high, low = run.figures["gpu", 1 << 26].high, compute[1]
    assert rules(run) == ["computation"] * (high < 0.95 * low)


def test_without_an_interval_the_samples_bound_a_figure() -> None:
    """Protects from one batch that no interval can doubt: its longest sample must not reach either."""
    for longest, wrong in ((90e-6, True), (590e-6, False)):
        times = {"median": 80e-6, "low": None, "high": None, "min": 79e-6, "max": longest}
        run = last_run(program_run(80e-6, compute=ALONE, times=times, precision=None))
        assert rules(run) == ["computation"] * wrong


@pytest.mark.parametrize(("waited", "wrong"), [(0.0, True), (0.3, True), (0.4, False)])
def test_a_computation_that_waited_for_a_cpu_is_shorter_by_that(waited: float, wrong: bool) -> None:
    """Protects a step on a busy host, whose computation alone was measured in worse moments."""
    cores = {"waited": waited, "rank": 0, "preempted": 9, "shared": None}
    assert rules(last_run(program_run(390e-6, compute=ALONE, cores=cores))) == ["computation"] * wrong
    # The step may come first in each turn, and wait for nothing.
    assert rules(last_run(program_run(390e-6, compute=ALONE, waited=waited))) == ["computation"] * wrong


# ---- limits ----------------------------------------------------------------------------------------------


def over_nvlink(rate: float, share: float = 0.004, size: int = 1 << 30, **more: Any) -> Run:
    ranks = [
        {"rank": n, "host": "n1", "device": {"kind": "cuda", "id": f"GPU-{n}", "name": "NVIDIA H200"}}
        for n in (0, 1)
    ]
    return make_run(
        step("gpu", transport="gpu", memory="device", ranks=ranks),
        entry("gpu", size, size / rate, share, **more),
    )


def test_more_than_the_links_carry() -> None:
    """Protects from 131,072 GB/s, and a figure that only may be above 102 % from being called so."""
    (why,) = found(over_nvlink(131072e9))
    assert (why.rule, why.other.value, why.other.unit) == ("limit", 450e9, "B/s")
    assert "131072 GB/s" in why.text and "18 NVLink 4 links x 25 GB/s = 450 GB/s" in why.text
    assert rules(over_nvlink(1.03 * 450e9)) == ["limit"]
    assert rules(over_nvlink(1.03 * 450e9, share=0.02)) == rules(over_nvlink(1.019 * 450e9)) == []


def all_reduced(path: str, **variables: str) -> Run:
    """481 GB/s on the bus of eight GPUs whose links carry 450."""
    pattern = find_pattern("allreduce")
    shape = Shape(8, {option.key: option.default for option in pattern.options})
    figure = pattern.at(shape).figure(1 << 30)
    device = {"kind": "cuda", "name": "NVIDIA H200"}
    ranks = [{"rank": n, "host": "n1", "device": device | {"id": f"GPU-{n}"}} for n in range(8)]
    begin = head()
    begin["plan"] = {**begin["plan"], "pattern": "allreduce", "ranks": 8}
    begin["environment"] = {"variables": variables}
    made = entry(path, 1 << 30, figure.bytes / 481e9, 0.004)
    made |= {"pattern": "allreduce", "memory": "device", "bandwidth_bytes": figure.bytes}
    made["bytes_per_second"] = {"median": 481e9, "low": 480e9, "high": 482e9}
    made["checked"] = {"iterations": 2, "bytes": 2 << 30, "wrong": 0}
    records = [begin, step(path, transport="ccl", memory="device", ranks=ranks), made, end()]
    return last_run([{**record, "run": "r"} for record in records])


def test_a_bus_bandwidth_above_the_links_of_a_switch_that_sums() -> None:
    """Protects 481 GB/s, of which NVIDIA expects 480, from being called impossible; ours from being lost."""
    run = all_reduced("nccl-stream")
    assert not run.impossible and run.ceiling("nccl-stream") is None
    text = shown(run)
    assert "481" in text and "trust: yes" in text and "limit" not in text
    for path, variables in (
        ("nccl-stream:graph", {}),
        ("nccl-stream:ring", {}),
        ("nccl-stream", {"NCCL_ALGO": "Ring"}),
    ):
        known = path.endswith("ring") or bool(variables)
        assert rules(all_reduced(path, **variables)) == ["limit"] * known, path


def in_memory(rate: float, size: int, **wire: Any) -> Run:
    wire = {"kind": "memory", "name": "memory", "host": "n1", "rate": 10e9, "caches": 32 << 20} | wire
    ranks = [{"rank": n, "host": "n1"} for n in (0, 1)]
    proof = {"kind": "evidence", "run": "r", "path": "host", "bytes": size, "text": "through shared memory"}
    return make_run(
        step("host", transport="mpi", memory="pageable", ranks=ranks),
        entry("host", size, size / rate),
        {"kind": "wires", "run": "r", "path": "host", "wires": [wire]},
        proof | {"verdict": "shared memory"},
    )


def test_a_user_s_rate_and_a_network_contradict_nothing() -> None:
    """Protects from a rate of --link that is too low, and from bursts that a network lets pass."""
    wire = {"kind": "nvlink", "name": "GPU 0", "host": "n1", "rate": 100e9, "stated": True}
    run = over_nvlink(440e9)
    for record in as_read([{"kind": "wires", "run": "r", "path": "gpu", "wires": [wire]}]):
        run.add(record)
    assert (limit := run.ceiling("gpu")) and limit.rate == 100e9 and rules(run) == []


@pytest.mark.parametrize(("wire", "wrong"), [("network", False), ("loopback", True)])
def test_bursts(monkeypatch: pytest.MonkeyPatch, wire: str, wrong: bool) -> None:
    monkeypatch.setattr(Run, "ceiling", lambda self, path: Ceiling(1e9, "made", "made", wire))
    assert rules(make_run(entry("host", 1 << 20, 1e-6))) == ["limit"] * wrong


def test_a_cache_explains_a_rate() -> None:
    """Protects messages that fit the caches, wholly or in part, and limits that nobody measured twice."""
    ends = {"low": 9e9, "high": 11e9}
    assert rules(in_memory(40e9, 1 << 30, **ends)) == ["limit"]
    assert rules(in_memory(11.3e9, 1 << 30, **ends)) == [], "the caches hold a sixteenth of it"
    assert rules(in_memory(40e9, 64 << 20, **ends)) == rules(in_memory(40e9, 16 << 20, **ends)) == []
    assert rules(in_memory(40e9, 1 << 30)) == [], "measured once"
    assert rules(in_memory(40e9, 1 << 30, stated=True, **ends)) == [], "the user may be wrong"


def test_no_field_passes_its_memory_faster() -> None:
    """Protects from 282 us for an array that takes 447: 16384 x 16384 numbers of 32 bits."""
    options, least = {"size": "16384x16384"}, 2 * (1 << 30) / 4.8e12
    assert rules(last_run(program_run(0.63 * least, options=options))) == ["limit"]
    assert rules(last_run(program_run(0.99 * least, options=options))) == []


@pytest.mark.slow
def test_a_field_in_the_cache_is_sound() -> None:
    """Protects small fields, which never pass the memory, and GPUs of which nothing is known."""
    assert rules(last_run(program_run(1e-6, options={"size": "2048x2048"}))) == []
    assert rules(last_run(program_run(1e-6, options={"size": "16384x16384"}, gpu="unknown"))) == []


# ---- weak scaling ----------------------------------------------------------------------------------------

LARGE = {"size": "16384x16384"}


def scaled(two: float, one: float, share: float = 0.004, options: Any = LARGE, **more: Any) -> Run:
    alone = program_run(one, path="compute", ranks=1, run="a", options=options, share=share, **more)
    return last_run(alone, program_run(two, run="b", options=options, share=share))


def test_more_than_the_whole_of_weak_scaling() -> None:
    """Protects from an efficiency of 120 %; the one rank's own figure is named."""
    (why,) = found(scaled(1.0e-3, 1.2e-3))
    assert why.rule == "one rank" and why.text.endswith(", 1 GiB: an efficiency of 120 %")
    assert rules(scaled(1.0e-3, 1.055e-3)) == [], "the intervals reach 105 %"
    assert rules(scaled(1.0e-3, 1.065e-3)) == ["one rank"]
    assert rules(scaled(1.0e-3, 1.2e-3, share=0.1)) == []


def test_what_explains_more_than_the_whole() -> None:
    """Protects fields in a cache, strong scaling, and figures beside a rank that was itself slowed."""
    assert rules(scaled(1.0e-4, 1.2e-4, options={"size": "2048x2048"})) == []
    assert rules(scaled(1.0e-3, 4.0e-3, options={**LARGE, "scaling": "strong"})) == []
    cores = {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}
    assert rules(scaled(1.0e-3, 1.2e-3, cores=cores)) == []
    throttled = {
        "kind": "health",
        "run": "a",
        "path": "compute",
        "throttled": [{"place": "GPU 0", "reason": "its power cap"}],
    }
    alone = program_run(1.2e-3, path="compute", ranks=1, run="a", options=LARGE)
    assert rules(last_run([*alone, throttled], program_run(1e-3, run="b", options=LARGE))) == []


def test_a_false_figure_of_one_rank_contradicts_no_other() -> None:
    """Protects the figure of two ranks from one that is itself impossible."""
    assert rules(scaled(1.0e-3, 1.2e-3, clock={**CLOCK, "long": 1})) == []


# ---- the host's clock ------------------------------------------------------------------------------------


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
@example(10, 0, 5)
@example(100, 0, 51)
@example(10, 1, 0)
def test_samples_add_up_to_the_host_s_clock(batches: int, long: int, short: int) -> None:
    """Protects from clocks that run fast or slow; a busy host may interrupt up to half of the batches."""
    clock = {**CLOCK, "host_s": 2.0, "stamped_s": 1.0, "batches": batches, "long": long, "short": short}
    run = make_run(entry("host", 8, 1e-6, clock=clock))
    assert rules(run) == ["clock"] * (long > 0 or 2 * short > batches)


def test_the_worst_batch_is_named_by_both_clocks() -> None:
    clock = {"batches": 40, "long": 3, "short": 0, "host_s": 0.4, "stamped_s": 1.3}
    (why,) = found(make_run(entry("host", 8, 1e-6, clock=clock)))
    assert why.text == "the samples of a batch count 1.30 s of 400 ms by the host's clock, in 3 of 40 batches"
    clock |= {"long": 0, "short": 30, "host_s": 1.5}
    (why,) = found(make_run(entry("host", 8, 1e-6, clock=clock)))
    assert "explain only 1.30 s" in why.text and why.text.endswith("30 of 40 batches")
    late = {"waited": 0.2, "rank": 0, "preempted": 9}
    assert found(make_run(entry("host", 8, 1e-6, clock=clock, cores=late))) == [], "it had no CPU to look"
    assert found(make_run(entry("host", 8, 1e-6))) == [], "older files do not say"


# ---- what becomes of it ----------------------------------------------------------------------------------


def test_it_takes_part_in_nothing() -> None:
    """Protects everything that is made of figures; the path and the size stay in the table."""
    run = make_run(entry("host", 8, 1e-9, **FALSE), entry("host-tcp", 8, 5e-6), entry("host-shared", 8, 6e-6))
    assert [one.path for one in run.fastest(8, "CPU")] == ["host-tcp"]
    assert ("host", 8) not in run.entries and ("host", 8) in run.figures
    assert "host" in run.paths and run.sizes == [8] and run.of_path("host") == []
    (failure,) = run.failures
    assert (failure.what, failure.path, failure.bytes) == ("impossible", "host", 8)


def test_one_false_launch_makes_the_figure_impossible() -> None:
    """Protects the median of several launches from the one that cannot be."""
    launches = [entry("host", 8, 1e-6, launch=n, **(FALSE if n == 2 else {})) for n in (1, 2, 3)]
    run = make_run(*launches)
    assert not run.entries and run.impossible["host", 8].launches == 3
    assert [one.launch for one in run.failures] == [2]


def test_an_uncertain_figure_is_not_the_fastest() -> None:
    """Protects from a winner whose interval is wider than itself."""
    wide = figure("host", 8, 1e-6, 1.2)
    assert wide.uncertain and not figure("host", 8, 1e-6, 0.99).uncertain
    run = make_run(entry("host", 8, 1e-6, 1.2), entry("host-tcp", 8, 5e-6))
    assert [one.path for one in run.fastest(8, "CPU")] == ["host-tcp"]


def figure_of_host(**more: Any) -> Entry:
    """What a rank tells of the path host."""
    seconds = dict.fromkeys(("median", "low", "high", "min", "max", "p99", "mean"), 1e-06)
    told = {"kind": "entry", "pattern": "pingpong", "path": "host", "memory": "pageable", "bytes": 8}
    told |= {"bandwidth_bytes": 8, "derived": [], "samples": 1, "iterations_per_sample": 1}
    return fitted(Entry, {**told, "seconds": seconds, **more, "run": ""})


def test_the_file_has_the_mark_and_the_run_its_code(tmp_path: Path) -> None:
    """Protects readers of the file alone, and scripts; a second try makes both good again."""
    file, seen = tmp_path / "r.jsonl", list[Any]()
    plan = Plan(pattern="pingpong", sizes=(8,), out=str(file))
    for told, code in ((figure_of_host(**FALSE), ExitCode.IMPOSSIBLE), (figure_of_host(), ExitCode.OK)):
        made = recorder.Recorder(plan, seen.append)
        made.begin(["wirespeed"], [], {"cost_s": 0, "resolution_s": 0})
        made.take(told, 0)
        assert made.end("complete") == code
        plan = Plan(pattern="pingpong", sizes=(8,), out=str(file), resume=True)
        with Store(file, resume=True) as store:
            assert bool(store.done(plan)) is (code == ExitCode.OK)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    marks = [one["impossible"] for one in lines if one["kind"] == "entry"]
    assert [[why["rule"] for why in each] for each in marks] == [["clock"], []]
    ends = [one["impossible"] for one in lines if one["kind"] == "end"]
    assert ends[0][0].startswith("host at 8 B: the samples of a batch count") and ends[1] == []
    (run,) = resumed(collect(read(file).records))
    assert not run.impossible and run.entries["host", 8]


def test_a_figure_of_one_rank_that_comes_later_decides_too(tmp_path: Path) -> None:
    """Protects `--ranks 2,1`: the run of one rank makes the exit code."""
    file = tmp_path / "r.jsonl"
    records = program_run(1.0e-3, run="b", options=LARGE)
    schema = {"schema": 2, "environment": {"host": "n1"}}
    file.write_text(
        "".join(json.dumps(one | (schema if one["kind"] == "run" else {})) + "\n" for one in records)
    )
    options = (("size", "16384x16384"), ("scaling", "weak"))
    plan = Plan(pattern="jacobi", ranks=1, sizes=(1 << 30,), options=options, out=str(file), resume=True)
    made = recorder.Recorder(plan, lambda event: None)
    made.begin(["wirespeed"], [], {"cost_s": 0, "resolution_s": 0})
    seconds = dict.fromkeys(("median", "low", "high", "min", "max", "p99", "mean"), 1.2e-3)
    made.take(
        figure_of_host(pattern="jacobi", path="compute", memory="device", bytes=1 << 30, seconds=seconds), 0
    )
    assert made.end("complete") == ExitCode.IMPOSSIBLE


def test_the_limit_of_messages_waits_for_their_wires(tmp_path: Path) -> None:
    """Protects a path that is declared staged and goes straight from a mark that its counters refute."""
    file, device = tmp_path / "r.jsonl", {"kind": "cuda", "name": "NVIDIA H200"}
    made = recorder.Recorder(Plan(pattern="pingpong", sizes=(1 << 30,), out=str(file)), lambda event: None)
    made.begin(["wirespeed"], [], {"cost_s": 0, "resolution_s": 0})
    ranks: Any = [{"rank": n, "host": "n1", "device": {**device, "id": f"GPU-{n}"}} for n in (0, 1)]
    made.started(0, find_path("gpu"), StepJob({}, ranks=ranks))
    told = {"path": "gpu", "memory": "device", "bytes": 1 << 30, "bandwidth_bytes": 1 << 30}
    made.take(figure_of_host(**told), 0)
    assert made.end("complete") == ExitCode.IMPOSSIBLE
    lines = {one["kind"]: one for one in map(json.loads, file.read_text().splitlines())}
    assert lines["entry"]["impossible"] == [] and "of the limit" in lines["end"]["impossible"][0]


def test_precedence() -> None:
    """Protects scripts: an impossible figure outweighs a failure and a bound, not an interruption."""
    assert set(PRECEDENCE) == set(ExitCode)
    assert gravest(ExitCode.FAILED_ENTRY, ExitCode.IMPOSSIBLE, ExitCode.WORSE) == ExitCode.IMPOSSIBLE
    assert gravest(ExitCode.IMPOSSIBLE, ExitCode.INTERRUPTED) == ExitCode.INTERRUPTED
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    assert f"returned: {', '.join(str(int(code)) for code in PRECEDENCE)}." in page


# ---- what was measured -----------------------------------------------------------------------------------


@pytest.mark.parametrize("file", measured(always=(*KINDS, *IMPOSSIBLE_FILES)))
def test_measured_files_are_judged(file: Path) -> None:
    """Protects measured files from a rule that calls sound figures impossible."""
    runs = resumed(collect(read(file).records))
    false = [
        f"{path} at {size}: {one.why_impossible}"
        for run in runs
        for (path, size), one in run.impossible.items()
    ]
    assert bool(false) == (name_of(file) in IMPOSSIBLE_FILES), false
    assert any(run.figures or run.soaks for run in runs)


def test_sizes_of_all_kinds_are_judged() -> None:
    """Protects a reader from a file by hand: no size and no time breaks the judgement."""
    run = make_run(*(entry("gpu", size, 1e-14, bandwidth_bytes=1 << 62) for size in (0, *SIZES)))
    assert len(run.figures) == len(SIZES) + 1


def test_a_newer_mark_is_judged_again() -> None:
    """Protects a sound figure from what another version wrote of it."""
    quantity = {"name": "step", "unit": "s", "value": 1.0}
    mark = {"rule": "clock", "figure": quantity, "other": quantity, "text": "they differ"}
    (one,) = as_read([entry("host", 8, 1e-6, impossible=[mark])])
    assert make_run(entry("host", 8, 1e-6, impossible=[mark])).entries["host", 8].impossible == []
    assert isinstance(one, Entry) and one.why_impossible == "they differ"
