"""Which rank reads a host's health, and what rank 0 makes of all hosts' readings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wirespeed.evidence.health import HealthReading, HealthSource
from wirespeed.rank.observe import host_health
from wirespeed.rank.observe.host_health import HostHealth


class Rising(HealthSource):
    """A counter that one error is added to before each reading."""

    def __init__(self) -> None:
        self.read_times = self.closed = 0

    def read(self, into: HealthReading) -> None:
        self.read_times += 1
        into.errors["eth0", "receive errors"] = self.read_times

    def close(self) -> None:
        self.closed += 1


class World:
    """Two ranks on each of two hosts, as one of them sees them; the others gathered the same."""

    size = 4

    def __init__(self, rank: int) -> None:
        self.rank, self.barriers = rank, 0

    def everyone(self, mine: Any) -> list[Any]:
        _, identity = mine
        return [(f"n{rank // 2}", identity) for rank in range(4)]

    def gather(self, mine: Any) -> list[Any] | None:
        other = (
            None if mine is None else {**mine, "errors": [{**one, "host": "n1"} for one in mine["errors"]]}
        )
        return [mine, None, other, None] if self.rank == 0 else None

    def barrier(self) -> None:
        self.barriers += 1


def opened(
    monkeypatch: pytest.MonkeyPatch, rank: int, **identity: Any
) -> tuple[HostHealth, list[Any], Rising, World]:
    source, asked, world = Rising(), [], World(rank)

    def find(devices: Any, several_hosts: bool) -> Any:
        asked.append((devices, several_hosts))
        return [source], ["amd: broken"]

    monkeypatch.setattr(host_health, "find_health_sources", find)
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(nodename=f"n{rank // 2}"))
    core: Any = SimpleNamespace(identity=lambda device: identity)
    return HostHealth(world, core, None), asked, source, world  # type: ignore[arg-type]


def around(monkeypatch: pytest.MonkeyPatch, rank: int) -> tuple[Any, list[Any], Rising, World]:
    gpu = {"kind": "cuda", "id": "GPU-0", "index": 0, "pci": "0000:00:00.0"}
    health, asked, source, world = opened(monkeypatch, rank, **gpu)
    health.begin()
    found = health.end("aware")
    health.close()
    return found, asked, source, world


def test_rank_0_joins_all_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked, source, world = around(monkeypatch, 0)
    assert [(one["host"], one["count"]) for one in found["errors"]] == [("n0", 1), ("n1", 1)]
    assert found["counted"] == ["receive errors"] and found["lacks"] == ["amd: broken"]
    assert found["kind"] == "health" and found["path"] == "aware"
    ((devices, several),) = asked
    assert several and [one["id"] for one in devices] == ["GPU-0"], "a GPU that ranks share is read once"
    assert (source.read_times, source.closed, world.barriers) == (2, 1, 4)


@pytest.mark.parametrize(("rank", "reads"), [(1, 0), (2, 2), (3, 0)])
def test_the_first_rank_of_each_host_reads(monkeypatch: pytest.MonkeyPatch, rank: int, reads: int) -> None:
    """Protects the other ranks' time; all of them wait while one reads, so that nothing is disturbed."""
    found, _, source, world = around(monkeypatch, rank)
    assert found is None and source.read_times == reads and world.barriers == 4


def test_the_last_reading_of_a_path_is_the_first_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects time: a reading takes 90 ms on two GPUs, and no error falls between two paths."""
    health, _, source, _ = opened(monkeypatch, 0, kind="host")
    for path in ("host", "staged"):
        health.begin()
        found = health.end(path)
        assert found and [one["count"] for one in found["errors"]] == [1, 1] and found["path"] == path
    assert source.read_times == 3
