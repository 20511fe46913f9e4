"""What a report says of wires: verdicts size by size, lies in red, copies a round, figures that cannot be."""

from __future__ import annotations

from typing import Any

from support.records import entry, make_run, shown, step

SIZES = (8, 1 << 16, 1 << 20)


def proof(path: str, size: int, verdict: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "evidence",
        "run": "r",
        "path": path,
        "bytes": size,
        "verdict": verdict,
        "text": text,
        "rounds": 10,
        "copies": [],
        **more,
    }


def words(*records: dict[str, Any]) -> str:
    return " ".join(shown(make_run(*records), 140).split())


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
    lie = "aware was to go straight between the GPUs, but NVLink stayed silent"
    told = [proof("aware", size, "staged", "staged", suspicious=lie) for size in SIZES]
    said = words(*(entry("aware", size, 1e-5) for size in SIZES), *told)
    assert said.count("stayed silent") == 1 and "stayed silent (at 8 B to 1 MiB)" in said


def test_copies_a_round() -> None:
    """Protects the count that tells staging from device pointers: the rank with the most, set-up left out."""
    copies = [
        {"rank": 0, "device_to_host": {"count": 40, "bytes": 1}, "host_to_device": {"count": 40, "bytes": 1}},
        {"rank": 1, "device_to_host": {"count": 1, "bytes": 1}},
    ]
    said = words(entry("staged", 8, 1e-5), proof("staged", 8, "staged", "staged", copies=copies))
    assert "copies a round and rank: staged 4 to the host, 4 from it" in said


def seen_in_memory(rate: float) -> list[dict[str, Any]]:
    wire = {"kind": "memory", "name": "memory", "host": "n1", "device": None, "rate": rate}
    ranks = [{"rank": n, "host": "n1", "device": None} for n in (0, 1)]
    return [
        step("host", transport="mpi", memory="pageable", ranks=ranks),
        {"kind": "wires", "run": "r", "path": "host", "wires": [wire]},
        proof("host", 1 << 20, "shared memory", "through shared memory"),
    ]


def test_more_than_the_limit_is_flagged_with_its_reason() -> None:
    """Protects from figures that cannot be: in cache at the small sizes, or a wrong limit at the largest."""
    # 64 KiB at 26 GB/s, 1 MiB at 10.5 GB/s, where memory does 12 GB/s.
    cached = [entry("host", 1 << 16, 2.5e-6), entry("host", 1 << 20, 1e-4)]
    said = words(*cached, *seen_in_memory(12e9))
    assert "is 218 % of the limit, which cannot be: up to 64 KiB the data stay in the CPU's caches" in said
    assert "87 %" in said and "one core's copy from memory to memory = 12.0 GB/s" in said
    wrong = words(*cached, *seen_in_memory(5e9))
    assert "the limit is wrong, or a wire that nobody counts helped" in wrong
    assert "which cannot be" not in words(*cached, *seen_in_memory(30e9))


def test_old_files_have_nothing_to_say_of_wires() -> None:
    """Protects files of earlier runs: no head without lines."""
    assert "wire carried" not in words(entry("aware", 8, 1e-5))
