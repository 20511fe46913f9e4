"""A message of each kind that ranks send to the front end."""

from __future__ import annotations

from typing import Any

from wirespeed.job.messages import (
    Accepted,
    ClockPlace,
    Done,
    Hello,
    Measured,
    Message,
    Note,
    PathFailure,
    PathStart,
    Picture,
    Progress,
    RankAddresses,
    RankError,
    RankPlace,
    RankRanges,
    RankReport,
)

_PLACE = {"path": "host", "bytes": 8}
_WIRE = {"host": "n1", "kind": "network", "name": "eth0"}
_TIMES = {"median": 1e-6, "low": 9e-7, "high": 1.1e-6, "min": 8e-7, "max": 2e-6, "p99": 2e-6, "mean": 1e-6}
_FRAMES = (["f (libmpi.so)"], ["a.py:1"])
STUCK = RankReport("stuck", 1, 7, "n1", "host", 8, 5, "MPI_Recv", 0, "no progress for 10 s", "", *_FRAMES)


def rank_place(rank: int) -> RankPlace:
    """A rank without a device, alone on its host."""
    return RankPlace(
        rank=rank,
        host=f"n{rank}",
        pid=100 + rank,
        cpus="0-3,8",
        cpu_quota=None,
        cpu_model="",
        device=None,
        visible=(),
        copies=None,
        apart=(),
    )


RECORDS: tuple[Any, ...] = (
    {
        "kind": "entry",
        "pattern": "pingpong",
        **_PLACE,
        "memory": "pageable",
        "definition": "one way: half of a round trip",
        "bandwidth_bytes": 8,
        "derived": [{"name": "both ways", "unit": "GB/s", "amount": 16.0}],
        "seconds": _TIMES,
        "confidence": 0.95,
        "precision": 0.01,
        "samples": 120,
        "batches": 12,
        "iterations_per_sample": 4,
        "stopped": "precision",
        "histogram": {"base": 1.04, "unit_s": 1e-9, "first": 0, "counts": [120]},
        "checked": {"iterations": 1, "batches": 2, "of_batches": 12, "bytes": 8},
        "details": {"protocol": "eager"},
        "cores": {"waited": 0.0, "rank": 0, "preempted": 0},
        "clock": None,
        "start": None,
        "teams": [],
        "elapsed_s": 0.1,
    },
    {"kind": "wires", "path": "host", "wires": [_WIRE]},
    {
        "kind": "evidence",
        "pattern": "pingpong",
        **_PLACE,
        "verdict": "confirmed",
        "text": "over eth0",
        "wires": [{**_WIRE, "sent": 9, "received": 9, "expected_sent": 8, "expected_received": 8}],
        "nics": [{"rank": 0}, {"rank": 1}],
    },
    {"kind": "health", "path": "host", "seconds": 1.0, "reading_s": 0.1, "errors": [], "throttled": []},
    {"kind": "fresh", "pattern": "pingpong", **_PLACE, "messages": 9, "seconds": 9e-6, "known_s": 2e-6},
    {"kind": "soak", "pattern": "pingpong", **_PLACE, "messages": 9, "wrong": {}, "elapsed_s": 1.0},
)
MESSAGES: tuple[Message, ...] = (
    Hello(
        (rank_place(0), rank_place(1)),
        {"vendor": "openmpi", "version": "5.0.11", "string": "Open MPI", "library": "/a/libmpi.so"},
        0.5,
    ),
    PathStart(0),
    Accepted({"calls": "MPI_Send"}, [], ([], [{"name": "mlx5_0:1"}])),
    Progress("host", 8, 0, 3, samples=12, precision=0.02),
    RECORDS[0],
    Measured(),
    *RECORDS[1:4],
    PathFailure("error", "no room", 64, 1, fatal=False),
    Note("something to know"),
    RankRanges(
        "host",
        1,
        "n1",
        (("size", "8 B", 1_700_000_000_000_000_001, 1_700_000_000_000_000_003, {"bytes": 8}),),
        0,
        {},
        ClockPlace(same=False, ahead=-12, uncertainty=100),
        "boot-1",
        1_700_000_000_000_000_003,
    ),
    Picture("jacobi", "temperature", 9, (2, 1), 1, 1, 0, "AAAAAAAAAAA="),
    *RECORDS[4:],
    STUCK,
    STUCK._replace(kind="crash"),
    RankAddresses("n2", (("eth0", "10.0.0.2"), ("docker0", "172.17.0.1"))),
    RankError(1, "no room"),
    Done(),
)
