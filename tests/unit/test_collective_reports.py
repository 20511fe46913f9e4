"""Collective operations in tables, limits and other programs' layouts."""

from __future__ import annotations

import pytest
from support.limited import used

from wirespeed.errors import WirespeedError
from wirespeed.job.path_selection import by_algorithms, select, unsuited
from wirespeed.limits import ceiling
from wirespeed.paths import find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.patterns.collectives.operation import CollectivePattern


def test_entries_of_a_path() -> None:
    """Protects --algorithm: the library's own only where it has one, and each of ours."""
    allreduce = find_pattern("allreduce")
    assert isinstance(allreduce, CollectivePattern)

    def names(algorithm: str, *paths: str) -> list[str]:
        shape = Shape(4, {"algorithm": algorithm})
        return [path.name for path in by_algorithms(map(find_path, paths), allreduce, shape)]

    assert names("library,best", "host", "staged") == ["host", "host:best", "staged:best"]
    assert names("all", "host") == ["host", "host:ring", "host:doubling", "host:direct", "host:one-shot"]
    assert names("library", "staged") == ["staged"]
    assert "--algorithm best" in str(unsuited(find_path("staged"), allreduce))
    (named,) = select(["host:ring"])
    assert by_algorithms([named], allreduce, Shape(4)) == [named]
    assert "is an algorithm of collective operations" in str(unsuited(named, find_pattern("pingpong")))
    with pytest.raises(WirespeedError, match="there are: ring, doubling, direct, one-shot, best"):
        select(["host:tree"])
    assert unsuited(find_path("staged:ring"), allreduce) is None and find_path("staged:ring").staged


def test_the_limit_is_of_the_bus_bandwidth() -> None:
    """Protects the percentage: what leaves a GPU over all of its links."""
    found = ceiling(used("allreduce"))
    assert found and found.rate == 450e9
    assert found.equation.endswith("out of a GPU, if every GPU reaches every other")


def test_ways_of_a_library() -> None:
    """Protects `nccl:registered` and alike: entries of their own, beside ours, on paths that have them."""
    pattern = find_pattern("allreduce")
    assert isinstance(pattern, CollectivePattern)
    chosen = by_algorithms(select(("host", "nccl")), pattern, Shape(4, {"algorithm": "all"}))
    ways = ("registered", "symmetric", "graph")
    assert [path.name for path in chosen if path.name.startswith("nccl")][:4] == [
        "nccl",
        *(f"nccl:{way}" for way in ways),
    ]
    assert not [path for path in chosen if path.name in {f"host:{way}" for way in ways}]
    for way, option in zip(
        ways, ("buffers=registered", "buffers=symmetric", "enqueue=graph-only"), strict=True
    ):
        path = find_path(f"nccl-stream:{way}")
        # By the library, so nothing is ours.
        assert not path.algorithm and path.options == f"iterations=stream;{option}"
        assert unsuited(path, pattern) is None
    handed_out = find_path("nccl:symmetric")
    assert "--allocator" in str(unsuited(handed_out, pattern, allocator="pool"))
    with pytest.raises(WirespeedError, match="the paths nccl, nccl-stream, nccl-nop2p have it"):
        by_algorithms(select(("host",)), pattern, Shape(4, {"algorithm": "symmetric"}))
    with pytest.raises(WirespeedError, match="no algorithm called 'graph'"):
        select(("host:graph",))
