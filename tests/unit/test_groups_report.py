"""What a report says of many ranks: the slowest team, the matrix, the limit, a placement that misleads."""

from __future__ import annotations

from typing import Any

from support.records import as_read, entry, shown

from wirespeed.limits import Used, ceiling
from wirespeed.results.runs import Run, collect


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
    plan = {"pattern": pattern, "options": step.pop("options", [])}
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


def test_the_slowest_group_is_named_with_how_far_it_is_behind() -> None:
    run = run_of("groups", of_teams({"group 0": 1e-3, "group 1": 1e-3, "group 2": 1.5e-3}, "groups"))
    text = " ".join(shown(run, 120).split())
    assert "slowest group 2: 1.50 ms (0.699 GB/s), 50 % more than the median of 3" in text


def test_the_matrix_has_both_halves_and_times_for_short_messages() -> None:
    pairs = {"0-1": 1e-6, "0-2": 2e-6, "1-2": 1e-6}
    run = run_of("pairs", of_teams(pairs, "pairs", size=8), of_teams(pairs, "pairs", size=1 << 20))
    lines = [line.split() for line in shown(run, 120).splitlines()]
    assert ["0", ".", "1.00", "2.00"] in lines and ["2", "2.00", "1.00", "."] in lines
    assert ["0", ".", "1049", "524"] in lines


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
