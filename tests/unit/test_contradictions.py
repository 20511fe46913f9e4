"""Figures that cannot be true: each rule on both sides of its threshold, and what becomes of such figures."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import report_files as made
from support.fake_run import FakeRun
from support.fleet_files import write_fleet
from support.golden import Golden
from support.impossible import CLOCK, FALSE, WHY, WIDE, last_run, program_run
from support.measured import KINDS, measured, name_of, result
from support.records import SIZES, as_read, console, end, entry, figure, head, make_run, shown, step

from wirespeed.cli.main import main
from wirespeed.errors import PRECEDENCE, ExitCode, gravest
from wirespeed.fleet.history import read_history
from wirespeed.job.plan import Plan
from wirespeed.limits import Ceiling
from wirespeed.paths import find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.report.drift.detection import Drift
from wirespeed.report.page import read_sources, render
from wirespeed.report.terminal.progress import ProgressLines
from wirespeed.results import recorder
from wirespeed.results.contradiction import Contradiction
from wirespeed.results.decoding import fitted
from wirespeed.results.reading import read
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


def found(run: Run) -> list[Contradiction]:
    return [why for one in run.impossible.values() for why in one.impossible]


def rules(run: Run) -> list[str]:
    return [why.rule for why in found(run)]


# ---- rules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["alltoall", "allgather", "reducescatter"])
def test_an_operation_that_moves_nothing_has_no_figure(name: str) -> None:
    """Protects from the fastest figure of all: that of a call which returns at once, as NCCL's did here."""
    (run,) = collect(read(result(f"eight/h200-x8-{name}")).records)
    assert set(run.impossible) == {(path, 8) for path in ("gpu:best", "nccl-stream", "nccl-stream:best")}
    assert set(rules(run)) == {"nothing"}
    assert found(run)[0].text == "nothing was moved: 8 B are less than an element for each rank"
    assert all(entry.bytes > 8 for entry in run.entries.values())


def waited(share: float, **more: Any) -> dict[str, Any]:
    return {"cores": {"waited": share, "rank": 0, "preempted": 9, "shared": None, **more}}


def step_of(seconds: float, **more: Any) -> Run:
    """A program's step, whose computation alone takes 600 us."""
    return last_run(program_run(seconds, compute=(600e-6, 598e-6, 602e-6), **more))


def without_interval(longest: float) -> Run:
    times = {"median": 80e-6, "low": None, "high": None, "min": 79e-6, "max": longest}
    return step_of(80e-6, times=times, precision=None)


H200 = {"kind": "cuda", "name": "NVIDIA H200"}


def h200s(count: int) -> list[dict[str, Any]]:
    return [{"rank": n, "host": "n1", "device": {**H200, "id": f"GPU-{n}"}} for n in range(count)]


def over_nvlink(rate: float, share: float = 0.004, *more: dict[str, Any]) -> Run:
    figure = entry("gpu", 1 << 30, (1 << 30) / rate, share)
    return make_run(step("gpu", transport="gpu", memory="device", ranks=h200s(2)), figure, *more)


def listed(ranks: int) -> Run:
    """Blocks, faster than any link."""
    begin = head(pattern="blocks")
    begin["plan"]["ranks"] = ranks
    place = step("aware", transport="mpi", memory="device", ranks=h200s(ranks))
    return last_run([begin, place, entry("aware", 1 << 30, 1e-5, pattern="blocks"), end()])


def all_reduced(path: str, **variables: str) -> Run:
    """481 GB/s on the bus of eight GPUs whose links carry 450; NVIDIA expects 480 of switches that sum."""
    pattern = find_pattern("allreduce")
    figure = pattern.at(Shape(8, {one.key: one.default for one in pattern.options})).figure(1 << 30)
    begin = head(pattern="allreduce", variables=variables)
    begin["plan"]["ranks"] = 8
    made = entry(path, 1 << 30, figure.bytes / 481e9, 0.004)
    made |= {"pattern": "allreduce", "memory": "device", "bandwidth_bytes": figure.bytes}
    made["bytes_per_second"] = {"median": 481e9, "low": 480e9, "high": 482e9}
    made["checked"] = {"iterations": 2, "bytes": 2 << 30, "wrong": 0}
    return last_run([begin, step(path, transport="ccl", memory="device", ranks=h200s(8)), made, end()])


def in_memory(rate: float, size: int, **wire: Any) -> Run:
    """Through shared memory of 9 to 11 GB/s, beside caches of 32 MiB."""
    measured = {"rate": 10e9, "low": 9e9, "high": 11e9, "caches": 32 << 20}
    proof = {"kind": "evidence", "run": "r", "path": "host", "bytes": size, "text": "through shared memory"}
    return make_run(
        step("host", transport="mpi", memory="pageable", ranks=[{"rank": n, "host": "n1"} for n in (0, 1)]),
        entry("host", size, size / rate),
        wires("host", {"kind": "memory", "name": "memory", **measured, **wire}),
        proof | {"verdict": "shared memory"},
    )


def wires(path: str, wire: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "wires", "run": "r", "path": path, "wires": [{"host": "n1", **wire}]}


def field(share: float, size: str = "16384x16384", **more: Any) -> Run:
    """A step in this share of the time that an array of 1 GiB takes to be read and written."""
    return last_run(program_run(share * 2 * (1 << 30) / 4.8e12, options={"size": size}, **more))


LARGE = {"size": "16384x16384"}


def scaled(two: float, one: float, share: float = 0.004, options: Any = LARGE, **more: Any) -> Run:
    """Weak scaling: milliseconds on two ranks, and on one."""
    alone = program_run(one * 1e-3, path="compute", ranks=1, run="a", options=options, share=share, **more)
    return last_run(alone, program_run(two * 1e-3, run="b", options=options, share=share))


def throttled() -> Run:
    reasons = [{"place": "GPU 0", "reason": "its power cap"}]
    held = {"kind": "health", "run": "a", "path": "compute", "throttled": reasons}
    alone = program_run(1.2e-3, path="compute", ranks=1, run="a", options=LARGE)
    return last_run([*alone, held], program_run(1e-3, run="b", options=LARGE))


def clocked(batches: int = 40, long: int = 0, short: int = 0, **more: Any) -> Run:
    clock = {"batches": batches, "long": long, "short": short, "host_s": 0.4, "stamped_s": 1.3}
    clock |= {"host_s": 1.5} if short else {}
    return make_run(entry("host", 8, 1e-6, clock=clock, **more))


NVLINK_BY_HAND = {"kind": "nvlink", "name": "GPU 0", "rate": 100e9, "stated": True}
CASES = {
    "a step below its own computation": step_of(80e-6),
    "5.05 % below": step_of(0.9495 * 598e-6, share=0.0),
    "4.95 % below: clocks and caches explain it": step_of(0.9505 * 598e-6, share=0.0),
    "one batch without an interval, whose longest sample reaches 90 us": without_interval(90e-6),
    "the same, 590 us": without_interval(590e-6),
    **{
        f"ranks waited for CPUs {share:.0%} of the time, {of}": step_of(390e-6, **more)
        for share in (0.0, 0.3, 0.4)
        for of, more in (("in the step", waited(share)), ("in the computation", {"waited": share}))
    },
    "131,072 GB/s over NVLink": over_nvlink(131072e9),
    "103 % of its links": over_nvlink(1.03 * 450e9),
    "103 %, or 101": over_nvlink(1.03 * 450e9, 0.02),
    "101.9 %": over_nvlink(1.019 * 450e9),
    **{f"lists of blocks to {ranks - 1} GPUs": listed(ranks) for ranks in (2, 8)},
    "above a rate of --link, which may be too low": over_nvlink(440e9, 0.004, wires("gpu", NVLINK_BY_HAND)),
    "above the links of a switch that sums": all_reduced("nccl-stream"),
    "the same by CUDA graphs": all_reduced("nccl-stream:graph"),
    "the same by a ring, which no switch sums": all_reduced("nccl-stream:ring"),
    "the same by a ring of the environment": all_reduced("nccl-stream", NCCL_ALGO="Ring"),
    "four times the memory's rate, far beyond its caches": in_memory(40e9, 1 << 30),
    "a little more, of which caches hold a sixteenth": in_memory(11.3e9, 1 << 30),
    "messages of which the caches hold half": in_memory(40e9, 64 << 20),
    "messages that fit the caches": in_memory(40e9, 16 << 20),
    "a memory that was measured once": in_memory(40e9, 1 << 30, low=None, high=None),
    "a memory's rate by hand": in_memory(40e9, 1 << 30, stated=True),
    "a field that passes its memory in 63 % of the time": field(0.63),
    "the same in 99 %": field(0.99),
    "a field in the cache": field(0.1, "2048x2048"),
    "a field on a GPU of which nothing is known": field(0.01, gpu="unknown"),
    "an efficiency of 120 %": scaled(1.0, 1.2),
    "of 105.5 %, or less than 105": scaled(1.0, 1.055),
    "of 106.5 %": scaled(1.0, 1.065),
    "of 120 % by wide figures": scaled(1.0, 1.2, share=0.1),
    "of 120 % in a cache": scaled(0.1, 0.12, options={"size": "2048x2048"}),
    "of 400 % in strong scaling": scaled(1.0, 4.0, options={**LARGE, "scaling": "strong"}),
    "of 120 % beside a rank that waited for CPUs": scaled(1.0, 1.2, **waited(0.5)),
    "of 120 % beside a throttled one": throttled(),
    "of 120 % beside a figure that is itself impossible": scaled(1.0, 1.2, clock={**CLOCK, "long": 1}),
    "samples that are longer than the host's clock": clocked(long=3),
    "samples that are shorter, in most batches": clocked(short=30),
    "the same, without a CPU to look": clocked(short=30, **waited(0.2)),
    "nothing is said of clocks, as in older files": make_run(entry("host", 8, 1e-6)),
}


def test_rules(golden: Golden) -> None:
    """Protects sound figures as well as from those that cannot be: both sides of each threshold."""
    said = {case: "\n".join(f"{one.rule}: {one.text}" for one in found(run)) for case, run in CASES.items()}
    golden("results/contradictions", said)


@given(st.floats(1e-7, 10), st.floats(0.5, 1.5), st.floats(0, 0.4), st.floats(0, 0.4))
def test_the_bounds_of_both_decide(alone: float, ratio: float, share: float, spread: float) -> None:
    """Protects sound figures whose intervals reach each other."""
    compute = (alone, alone * (1 - spread), alone * (1 + spread))
    run = last_run(program_run(ratio * alone, share=share, compute=compute, gpu="unknown"))
    high, low = run.figures["gpu", 1 << 26].high, compute[1]
    assert rules(run) == ["computation"] * (high < 0.95 * low)


def test_a_switch_that_sums_has_no_limit_that_is_told() -> None:
    run = all_reduced("nccl-stream")
    text = shown(run)
    assert run.ceiling("nccl-stream") is None
    assert "481" in text and "trust: yes" in text and "limit" not in text


@pytest.mark.parametrize(("wire", "wrong"), [("network", False), ("loopback", True)])
def test_bursts(monkeypatch: pytest.MonkeyPatch, wire: str, wrong: bool) -> None:
    """Protects from bursts that a network lets pass."""
    monkeypatch.setattr(Run, "ceiling", lambda self, path: Ceiling(1e9, "made", "made", wire))
    assert rules(make_run(entry("host", 1 << 20, 1e-6))) == ["limit"] * wrong


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
@example(10, 0, 5)
@example(100, 0, 51)
@example(10, 1, 0)
def test_samples_add_up_to_the_host_s_clock(batches: int, long: int, short: int) -> None:
    """Protects from clocks that run fast or slow; a busy host may interrupt up to half of the batches."""
    assert rules(clocked(batches, long, short)) == ["clock"] * (long > 0 or 2 * short > batches)


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


def recorded(plan: Plan, told: Entry, step: recorder.StepJob | None = None) -> ExitCode:
    """The exit code of a run that measured this."""
    made = recorder.Recorder(plan, lambda event: None)
    made.begin(["wirespeed"], [], {"cost_s": 0, "resolution_s": 0})
    if step:
        made.started(0, find_path(told.path), step)
    made.take(told, 0)
    return made.end("complete")


def test_the_file_has_the_mark_and_the_run_its_code(tmp_path: Path) -> None:
    """Protects readers of the file alone, and scripts; a second try makes both good again."""
    file = tmp_path / "r.jsonl"
    for more, code in ((FALSE, ExitCode.IMPOSSIBLE), ({}, ExitCode.OK)):
        plan = Plan(pattern="pingpong", sizes=(8,), out=str(file), resume=not more)
        assert recorded(plan, figure_of_host(**more)) == code
        with Store(file, resume=True) as store:
            assert bool(store.done(replace(plan, resume=True))) is (code == ExitCode.OK)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    marks = [one["impossible"] for one in lines if one["kind"] == "entry"]
    assert [[why["rule"] for why in each] for each in marks] == [["clock"], []]
    ends = [one["impossible"] for one in lines if one["kind"] == "end"]
    assert ends[0][0].startswith("host at 8 B: the samples of a batch count") and ends[1] == []
    (run,) = resumed(collect(read(file).records))
    assert not run.impossible and run.entries["host", 8]


def test_a_figure_of_one_rank_that_comes_later_decides_too(tmp_path: Path) -> None:
    """Protects `--ranks 2,1`: the run of one rank makes the exit code."""
    schema = {"schema": 2, "environment": {"host": "n1"}}
    begin, *records = program_run(1.0e-3, run="b", options=LARGE)
    file = made.write(tmp_path / "r.jsonl", begin | schema, *records)
    options = (("size", "16384x16384"), ("scaling", "weak"))
    plan = Plan(pattern="jacobi", ranks=1, sizes=(1 << 30,), options=options, out=file, resume=True)
    seconds = dict.fromkeys(("median", "low", "high", "min", "max", "p99", "mean"), 1.2e-3)
    told = figure_of_host(pattern="jacobi", path="compute", memory="device", bytes=1 << 30, seconds=seconds)
    assert recorded(plan, told) == ExitCode.IMPOSSIBLE


def test_the_limit_of_messages_waits_for_their_wires(tmp_path: Path) -> None:
    """Protects a path that is declared staged and goes straight from a mark that its counters refute."""
    file, ranks = tmp_path / "r.jsonl", h200s(2)
    told = figure_of_host(path="gpu", memory="device", bytes=1 << 30, bandwidth_bytes=1 << 30)
    plan = Plan(pattern="pingpong", sizes=(1 << 30,), out=str(file))
    step_job = recorder.StepJob({}, ranks=ranks)  # type: ignore[arg-type]
    assert recorded(plan, told, step_job) == ExitCode.IMPOSSIBLE
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


# ---- what guards a machine does without them ------------------------------------------------------------


def test_watch_has_no_verdict_of_it() -> None:
    """Protects a watched machine from being called slower, or lost, by a figure that cannot be."""
    drift = Drift(first=2)
    for more in ({}, {}, FALSE, FALSE):
        drift.add(make_run(entry("host", 8, 1e-6), entry("host", 64, 1e-6, **more)))
    assert not drift.harmed and [one.key.bytes for one in drift.verdicts.figures] == [8]


def test_a_fleet_leaves_it_out(tmp_path: Path) -> None:
    """Protects a node from being judged by it; a warning says which file."""
    write_fleet(tmp_path, nodes=4, days=1, rounds=1)
    before = read_history(str(tmp_path))
    file = min(tmp_path.glob("*.jsonl"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text(
        "".join(json.dumps(one | (FALSE if one["kind"] == "entry" else {})) + "\n" for one in lines)
    )
    after = read_history(str(tmp_path))
    assert len(after.loose) == len(before.loose) - 1 and not before.warnings
    assert after.warnings == [f"{file}: 1 figure that cannot be true, left out ('wirespeed show' says why)"]


GOOD, BAD, WRONG = ExitCode.OK, ExitCode.FAILED_ENTRY, ExitCode.IMPOSSIBLE


@pytest.mark.parametrize(
    ("codes", "code"), [((GOOD, WRONG), WRONG), ((WRONG, BAD), WRONG), ((BAD, GOOD), BAD)]
)
def test_the_code_of_several_plans(fake: FakeRun, codes: tuple[ExitCode, ...], code: ExitCode) -> None:
    """Protects `--ranks 2,4`: the gravest code is the command's, and what follows is measured too."""
    left = iter(codes)
    fake.begins = lambda plan: setattr(fake, "code", next(left))
    assert main(["ring", "--ranks", "2,4", "--paths", "host", "--sizes", "8"]) == code
    assert len(fake.plans) == 2


# ---- progress and page; golden/report/impossible.transcript has the rest --------------------------------


def test_progress() -> None:
    """Protects who watches a run from a number that its file calls impossible."""
    stream = io.StringIO()
    progress = ProgressLines(console(100))
    progress._console.file = stream
    (one,) = make_run(entry("host", 8, 1e-9, **FALSE)).impossible.values()
    progress(one)
    assert f"impossible: {WHY}" in stream.getvalue() and "us" not in stream.getvalue().split()


def page_files(folder: Path) -> list[str]:
    def curve(path: str, latency: float) -> list[dict[str, Any]]:
        return [made.entry(path, size, latency + size / 4e10) for size in made.SIZES]

    records = [made.head(), made.step("aware"), made.step("gpu"), *curve("aware", 2e-6), *curve("gpu", 1e-6)]
    for one in records:
        if (one.get("path"), one.get("bytes"), one["kind"]) == ("gpu", 1 << 10, "entry"):
            one |= FALSE
        if (one.get("path"), one.get("bytes"), one["kind"]) == ("aware", 1 << 16, "entry"):
            one |= made.entry("aware", 1 << 16, one["seconds"]["median"], precision=WIDE)
    return [made.write(folder / "a.jsonl", *records, made.end())]


def test_the_page_s_data(tmp_path: Path) -> None:
    """Protects curves from the point that cannot be; the table names its size."""
    page = render(*read_sources(page_files(tmp_path)))
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    curves = {one["path"]: one for one in data["charts"][0]["series"]}
    assert curves["gpu"]["impossible"] == [1 << 10] and 1 << 10 not in curves["gpu"]["bytes"]
    assert "impossible" not in curves["aware"]
    assert f"impossible: {WHY.replace(chr(39), '&#39;')}" in page
