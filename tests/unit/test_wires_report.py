"""What a report says of wires: verdicts, denied declarations, copies per iteration, impossible figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from support.records import entry, make_run, shown, step

from wirespeed.limits import Ceiling
from wirespeed.report.facts.shares import exceeds, share
from wirespeed.report.facts.wire_verdicts import beyond, suspicions
from wirespeed.results.runs import Run

SIZES = (8, 1 << 16, 1 << 20)


def proof(path: str, size: int, verdict: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "evidence",
        "run": "r",
        "path": path,
        "bytes": size,
        "verdict": verdict,
        "text": text,
        "iterations": 10,
        "copies": [],
        **more,
    }


def words(*records: dict[str, Any]) -> str:
    return " ".join(shown(make_run(*records), 140, explain=True).split())


def test_alike_paths_share_a_line_and_sizes_are_told_apart() -> None:
    """Protects the one sentence a path is worth: the small sizes' verdict is not that of the large ones."""
    figures = [entry(path, size, 1e-5) for path in ("aware", "nccl") for size in SIZES]
    few = [proof(path, 8, "unknown", "too few bytes") for path in ("aware", "nccl")]
    many = [
        proof(path, size, "direct", "direct over NVLink (100 % of the bytes)")
        for path in ("aware", "nccl")
        for size in SIZES[1:]
    ]
    said = words(*figures, *few, *many)
    assert "aware, nccl: up to 8 B too few bytes; from 64 KiB direct over NVLink (100 % of the bytes)" in said


def test_a_lie_is_said_once_with_its_sizes() -> None:
    """Protects who reads the last line only."""
    denied = "aware is declared direct, but the counters show no traffic on NVLink"
    told = [proof("aware", size, "staged", "staged", suspicious=denied) for size in SIZES]
    said = words(*(entry("aware", size, 1e-5) for size in SIZES), *told)
    assert said.count("no traffic on NVLink") == 1 and "no traffic on NVLink (at 8 B to 1 MiB)" in said


def test_a_few_bytes_another_way_are_no_lie_about_many() -> None:
    """Protects from crying wolf: an MPI that stages 8 B and sends 1 MiB straight is no bad one."""
    denied = "aware is declared direct, but the counters show staging"
    figures = [entry("aware", size, 1e-5) for size in SIZES]
    small = [proof("aware", 8, "staged", "staged", suspicious=denied)]
    large = [proof("aware", size, "direct", "direct") for size in SIZES[1:]]
    assert suspicions(make_run(*figures, *small, *large)) == [(f"{denied} (at 8 B)", False)]
    always = [proof("aware", size, "staged", "staged", suspicious=denied) for size in SIZES]
    assert suspicions(make_run(*figures, *always)) == [(f"{denied} (at 8 B to 1 MiB)", True)]


def test_copies_a_round() -> None:
    """Protects the count that tells staging from device pointers: the rank with the most, set-up left out."""
    copies = [
        {"rank": 0, "device_to_host": {"count": 40, "bytes": 1}, "host_to_device": {"count": 40, "bytes": 1}},
        {"rank": 1, "device_to_host": {"count": 1, "bytes": 1}},
    ]
    said = words(entry("staged", 8, 1e-5), proof("staged", 8, "staged", "staged", copies=copies))
    assert "copies per iteration and rank: staged 4 to the host, 4 from the host" in said
    orders = [{"rank": 0, "host_to_device": {"count": 10, "bytes": 3120}}]
    said = words(entry("gpu", 1 << 20, 1e-5), proof("gpu", 1 << 20, "direct", "direct", copies=orders))
    assert "gpu 1 of 312 B from the host" in said


def seen_in_memory(rate: float, **more: Any) -> list[dict[str, Any]]:
    wire = {"kind": "memory", "name": "memory", "host": "n1", "device": None, "rate": rate, **more}
    ranks = [{"rank": n, "host": "n1", "device": None} for n in (0, 1)]
    return [
        step("host", transport="mpi", memory="pageable", ranks=ranks),
        {"kind": "wires", "run": "r", "path": "host", "wires": [wire]},
        proof("host", 1 << 20, "shared memory", "through shared memory"),
    ]


def test_more_than_the_limit_of_memory() -> None:
    """Protects from an alarm where caches serve a message, and keeps the one where they cannot."""
    # 64 KiB at 26 GB/s, 256 MiB at 10.5 GB/s, where memory does 12 GB/s.
    figures = [entry("host", 1 << 16, 2.5e-6), entry("host", 1 << 28, 0.0256)]
    said = words(*figures, *seen_in_memory(12e9))
    assert "host: no limit applies up to 64 KiB, which fits the CPU's caches" in said
    assert "218 %" not in said and "of the limit:" not in said
    assert "87 %" in said and "one core copying from memory to memory = 12.0 GB/s" in said
    wrong = words(*figures, *seen_in_memory(5e9))
    assert "210 % of the limit: the rate measured for memory is too low" in wrong


def test_the_caches_on_record_decide() -> None:
    """Protects machines with small caches, and those with large ones, from the guess for old files."""
    figures = [entry("host", size, size / 20e9) for size in (1 << 20, 1 << 24, 1 << 28)]
    for caches, limited in ((2 << 20, [1 << 24, 1 << 28]), (500 << 20, []), (None, [1 << 28])):
        run = make_run(*figures, *seen_in_memory(12e9, **({"caches": caches} if caches else {})))
        limit = run.ceiling("host")
        assert [one.bytes for one in run.of_path("host") if share(one, limit) is not None] == limited
        assert [exceeds(one, limit) for one in run.of_path("host")].count(True) == len(limited)


def test_memory_is_measured_again_for_each_path() -> None:
    """Protects from a red figure because the machine was busy while one path's limit was measured."""
    busy, quiet = seen_in_memory(5e9), seen_in_memory(12e9)
    other = [{**one, "path": "rma-host"} for one in quiet]
    fast = entry("host", 1 << 28, (1 << 28) / 11e9)
    assert "of the limit: the rate" in words(fast, *busy)
    said = words(fast, entry("rma-host", 1 << 28, 0.03), *busy, *other)
    assert "of the limit: the rate" not in said and "limit of host, rma-host: one core" in said


def test_no_alarm_within_the_interval_of_a_measured_limit() -> None:
    """Protects from red figures for a limit that was itself uncertain; beyond the interval they stay."""
    figures = [entry("host", 1 << 28, (1 << 28) / 12.5e9)]
    within = words(*figures, *seen_in_memory(12e9, low=11e9, high=13e9))
    assert "104 %" in within and "of the limit:" not in within
    assert "= 12.0 GB/s (11.0 to 13.0)" in within
    assert "104 % of the limit: the rate" in words(*figures, *seen_in_memory(12e9, low=11e9, high=12.2e9))


BURST = "a shaper or a buffer lets bursts pass faster than the rate of the link"
TOO_LOW = "the rate given with --link is too low"
WRONG = (
    "the figure or the known rate of the links is a little wrong: a bug in wirespeed, please report it "
    "(--link NAME=RATE supplies the right rate)"
)


@pytest.mark.parametrize(
    ("wire", "stated", "fast", "reason"),
    [
        ("network", False, 1 << 16, BURST),
        ("network", True, 1 << 16, BURST),
        ("network", False, 1 << 28, f"{BURST}, or the driver states less than the real rate"),
        ("network", True, 1 << 28, f"{BURST}, or {TOO_LOW}"),
        ("memory", True, 1 << 28, TOO_LOW),
        ("loopback", True, 1 << 16, TOO_LOW),
        ("nvlink", True, 1 << 16, TOO_LOW),
        ("nvlink", False, 1 << 16, WRONG),
        ("pcie", False, 1 << 28, WRONG),
        ("pcie", True, 1 << 28, TOO_LOW),
    ],
)
def test_a_reason_fits_the_wire(
    monkeypatch: pytest.MonkeyPatch, wire: str, stated: bool, fast: int, reason: str
) -> None:
    """Protects from a bug's text for what a network's shaper did."""
    limit = Ceiling(1e9, "made", "made", wire, stated)
    monkeypatch.setattr(Run, "ceiling", lambda self, path: limit)
    # By more than 2 % no known link can be surpassed: tests/unit/test_contradictions.py.
    above = 2e9 if stated or wire == "network" else 1.015e9
    figures = [entry("host", size, size / (above if size == fast else 0.9e9)) for size in (1 << 16, 1 << 28)]
    (line,) = beyond(make_run(*figures))
    assert line.split(" % of the limit: ")[1] == reason


def test_a_link_that_nobody_has_is_said() -> None:
    """Protects who mistypes --link: the name that fits nothing, and those there are."""
    run = make_run(entry("host", 1 << 16, 2.5e-6), *seen_in_memory(12e9))
    plan = replace(run.head.plan, links=(("memory", 1e9), ("nope", 1e9)))
    run.head = structs.replace(run.head, plan=plan)
    said = " ".join(shown(run, 140).split())
    assert "--link nope: no wire here is called so; there are: memory" in said
    assert "--link memory" not in said


def test_a_path_that_is_far_slower_is_never_as_fast() -> None:
    """Protects the recommendation: an interval as wide as all times lets nobody in."""
    wide = entry("staged", 1 << 20, 700e-6, share=0.99)
    run = make_run(wide, entry("gpu", 1 << 20, 33e-6), entry("ipc-write", 1 << 20, 34e-6, share=0.05))
    assert [one.path for one in run.fastest(1 << 20, "GPU")] == ["gpu", "ipc-write"]


def test_texts_of_a_file_are_no_commands_for_a_terminal() -> None:
    """Protects the terminal from escape sequences, and tables from names over several lines."""
    run = make_run(entry("ho\x1b[31mst\n", 8, 1e-6))
    assert "\x1b" not in shown(run, 100) and run.paths == ["ho [31mst "]


def test_wires_whose_rate_cannot_be_are_left_out() -> None:
    """Protects from limits of zero, of less, and of nothing."""
    for rate in (0.0, -3e9, None):
        said = words(entry("host", 1 << 20, 1e-4), *seen_in_memory(rate))  # type: ignore[arg-type]
        assert "limit" not in said


def test_old_files_have_nothing_to_say_of_wires() -> None:
    """Protects files of earlier runs: no head without lines."""
    assert "wire carried" not in words(entry("aware", 8, 1e-5))


def test_a_table_of_many_paths_has_the_share_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the percent in the compact table: of bandwidths only, a dash where no limit is known."""
    limits = {"aware": Ceiling(450e9, "made", "made")}
    monkeypatch.setattr(Run, "ceiling", lambda self, path: limits.get(path))
    paths = ("aware", "nccl", "ipc-write", "ipc-read", "gpu", "shmem")
    sizes = (8, 1 << 20, 1 << 24, 1 << 26, 1 << 28, 1 << 29, 1 << 30)
    figures = [entry(path, size, 1e-6 + size / 360e9) for path in paths for size in sizes]
    text = shown(make_run(*figures), 120)
    block = text.split("% of limit")[1].splitlines()
    rows = [line.split() for line in block[1:7]]
    assert rows[0][:2] == ["1", "MiB"] and rows[-1][2] == "80"
    assert all(row[3:] == ["-"] * 5 for row in rows), rows


def test_a_limit_that_is_not_known_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a column that is silently missing; for a network the way to state it stands there."""
    monkeypatch.setattr(Run, "ceiling", lambda self, path: None)
    figures = [entry("host", size, 1e-5) for size in SIZES]
    assert "limit of host: unknown (state the rate of the wire: --link NAME=RATE)" in words(
        *figures, proof("host", 1 << 20, "network", "over eth0")
    )
    assert "limit of" not in words(*figures, proof("host", 1 << 20, "shared memory", "through shared memory"))
