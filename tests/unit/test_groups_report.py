"""What a report says of many ranks: the slowest team, the matrix, the limit, a placement that misleads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.records import as_read, entry, shown

from wirespeed.limits import Used, ceiling
from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts.slowest_teams import describe
from wirespeed.report.page import read_sources
from wirespeed.report.page.machines import machine_names
from wirespeed.report.views import pairs
from wirespeed.results.runs import Run, collect

RESULTS = Path(__file__).parents[2] / "results"


def of_teams(
    names: dict[str, float], pattern: str, size: int = 1 << 20, moved: int | None = None
) -> dict[str, Any]:
    """An entry whose teams took so many seconds."""
    worst = max(names.values())
    members = [
        {"name": name, "first": first, "ranks": 2, "seconds": {"median": s, "low": s, "high": s, "min": s}}
        for first, (name, s) in enumerate(names.items())
    ]
    record = entry("aware", size, worst)
    return {
        **record,
        "pattern": pattern,
        "bandwidth_bytes": moved or size,
        "teams": members,
        "definition": "slowest: x",
    }


def run_of(pattern: str, *entries: dict[str, Any], **step: Any) -> Run:
    plan = {"pattern": pattern, "options": step.pop("options", []), **step.pop("plan", {})}
    path = {"path": "aware", "transport": "mpi", "memory": "device"}
    job = {"kind": "step", "run": "r", "step": 0, **path, **step}
    return collect(as_read([{"kind": "run", "run": "r", "plan": plan}, job, *entries]))[0]


def h200s(count: int, hosts: tuple[str, ...] = ("n1",), name: str = "NVIDIA H200") -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "host": hosts[rank % len(hosts)],
            "pid": 1,
            "cpus": "0",
            "device": {"kind": "cuda", "index": rank, "name": name, "id": f"GPU-{rank}"},
        }
        for rank in range(count)
    ]


def test_lists_to_several_ranks_have_the_senders_links_as_limit() -> None:
    record = {**entry("aware", 4096, 1e-4), "pattern": "blocks"}
    for count, how in ((2, "if all of these links lead to the other GPU"), (8, "GB/s out of a GPU")):
        limit = run_of("blocks", record, ranks=h200s(count), plan={"ranks": count}).ceiling("aware")
        assert limit is not None and how in limit.equation and limit.rate == 450e9


def test_the_slowest_group_is_named_with_how_far_it_is_behind() -> None:
    run = run_of("groups", of_teams({"group 0": 1e-3, "group 1": 1e-3, "group 2": 1.5e-3}, "groups"))
    text = " ".join(shown(run, 120).split())
    assert "slowest group 2: 1.50 ms (0.699 GB/s), 50 % more than the median of 3" in text


def test_what_is_alike_names_no_slowest() -> None:
    """Protects from '0 % more than the median': below 2 % the order of teams is noise."""
    run = run_of("groups", of_teams({"group 0": 1e-3, "group 1": 1.015e-3, "group 2": 1e-3}, "groups"))
    assert "more than the median" not in shown(run, 120)
    assert describe(run.entries["aware", 1 << 20]) == "all 3 within 2 % of the median"


def test_the_matrix_has_both_halves_and_times_for_short_messages() -> None:
    pairs = {"0-1": 1e-6, "0-2": 2e-6, "1-2": 1e-6}
    run = run_of("pairs", of_teams(pairs, "pairs", size=8), of_teams(pairs, "pairs", size=1 << 20))
    lines = [line.split() for line in shown(run, 120).splitlines()]
    assert ["0", ".", "1.00", "2.00"] in lines and ["2", "2.00", "1.00", "."] in lines
    assert ["0", ".", "1049", "524"] in lines


def test_markdown_has_the_matrix() -> None:
    """Protects a wiki's copy of the report: every pair of ranks, with its unit, at every size."""
    text = markdown(*read_sources([str(RESULTS / "h200-x4-pairs.jsonl")]))
    block = text.split("gpu, 64 MiB: GB/s one way; all 6 within 2 % of the median:\n\n")[1].split("\n\n")[0]
    assert block.splitlines() == [
        "| rank | 0 | 1 | 2 | 3 |",
        "| ---: | ---: | ---: | ---: | ---: |",
        "| 0 | . | 364 | 365 | 364 |",
        "| 1 | 364 | . | 365 | 364 |",
        "| 2 | 365 | 365 | . | 364 |",
        "| 3 | 364 | 364 | 364 | . |",
    ]
    assert text.count("| rank | 0 | 1 | 2 | 3 |") == 6


def test_machines_that_call_themselves_alike_are_told_apart() -> None:
    """Protects a report of several machines from saying one: virtual machines often have the same name."""

    def on(host: str, model: str, *gpus: str) -> Run:
        devices = [
            {"kind": "cuda", "index": n, "name": "NVIDIA H200", "id": gpu} for n, gpu in enumerate(gpus)
        ]
        environment = {"host": host, "cpu": {"model": model}, "devices": devices}
        return collect(as_read([{"kind": "run", "run": "r", "environment": environment}]))[0]

    runs = [on("vm", "a", "1", "2"), on("vm", "a", "3", "4"), on("vm", "a"), on("vm", "b"), on("n1", "a")]
    assert machine_names(runs) == ["vm (1)", "vm (2)", "vm (1)", "vm (3)", "n1"]
    # A run may see some of the GPUs only, or none.
    assert machine_names([runs[0], runs[2], on("vm", "a", "2"), on("vm", "")]) == ["vm"] * 4


def test_the_limit_stands_beside_the_figure_with_its_equation() -> None:
    """Protects the utilisation: what leaves a group of four H200s against 4 x 18 x 25 GB/s."""
    moved = 4 * (256 << 20)
    record = of_teams({"group 0": moved / 1530e9, "group 1": moved / 1600e9}, "groups", 256 << 20, moved)
    run = run_of("groups", record, ranks=h200s(8), options=[["group", 4]])
    text = " ".join(shown(run, 120, explain=True).split())
    assert "85 %" in text
    assert "4 x 18 NVLink 4 links x 25 GB/s = 1800 GB/s out of a group" in text
    assert "data sheet" in text


def test_a_limit_that_nobody_knows_is_not_guessed() -> None:
    step = {"ranks": h200s(2), "memory": "device", "transport": "mpi"}
    assert ceiling(Used("pingpong", step)) is not None
    for other in (
        {"ranks": h200s(2, name="NVIDIA Z1")},
        {"ranks": h200s(2, ("n1", "n2"))},
        {"memory": "pageable"},
    ):
        assert ceiling(Used("pingpong", {**step, **other})) is None


def test_ranks_that_are_not_placed_host_by_host_are_reported() -> None:
    """Protects from a group taken for a host: round-robin placement is said in capitals, blocks are not."""
    record = of_teams({"group 0": 1e-3, "group 1": 1e-3}, "groups")
    assert "NOT placed host by host" in " ".join(
        shown(run_of("groups", record, ranks=h200s(4, ("n1", "n2"))), 120).split()
    )
    blocks = [{**rank, "host": f"n{number // 2}"} for number, rank in enumerate(h200s(4))]
    assert "host by host" not in shown(run_of("groups", record, ranks=blocks), 120)
    assert "host by host" not in shown(run_of("pingpong", record, ranks=h200s(4, ("n1", "n2"))), 120)


def test_one_rank_and_all_others_in_a_table_of_ranks() -> None:
    """Protects what --fan shows: a row for each rank, each path and direction beside the other."""
    names = {f"rank {rank} to all": 1e-3 * (1 + rank) for rank in range(3)}
    names |= {f"all to rank {rank}": 2e-3 for rank in range(3)}
    one = of_teams(names, "pairs", moved=3 << 20)
    for number, team in enumerate(one["teams"]):
        team["first"] = number % 3
    run = run_of("pairs", one, options=[["fan", "both"]], ranks=h200s(3))
    lines = [line.split() for line in shown(run).splitlines()]
    heads = next(number for number, line in enumerate(lines) if line == ["aware", "aware"])
    assert lines[heads + 1] == ["rank", "to", "all", "from", "all"]
    rows = {line[0]: line[1:] for line in lines[heads + 2 : heads + 6] if line and line[0] in "012"}
    # 3 MiB in 1 ms, and in 2 ms.
    assert rows["0"] == ["3.15", "1.57"] and rows["2"] == ["1.05", "1.57"]
    heading, fan = next(pairs.fan_tables(run))
    assert heading.endswith("one rank to all others and all others to one")
    assert fan.rows == [0, 1, 2] and len(fan.columns) == 3
    one["teams"] = one["teams"][:3]
    heading, fan = next(pairs.fan_tables(run_of("pairs", one, options=[["fan", "out"]])))
    assert heading.endswith(", one rank to all others") and len(fan.columns) == 2
    limit = run.ceiling("aware")
    assert limit and limit.equation.endswith("out of a GPU, if every GPU reaches every other")
