"""What will be measured: defaults, refusals and what fits, on machines and requests of all kinds."""

from __future__ import annotations

from contextlib import suppress
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.fake_facts import MPI

from wirespeed.errors import WirespeedError
from wirespeed.frontend import machine, order
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.order import resolve
from wirespeed.job.plan import Plan
from wirespeed.paths import all_paths
from wirespeed.patterns import Shape, find_pattern

PATTERNS = st.sampled_from(["pingpong", "groups", "stream", "allreduce", "copy", "blocks", "halo", "rma"])
GIB = 1 << 30


def a_machine(kind: str, gpus: int) -> Machine:
    devices = [{"index": n, "kind": kind, "name": "GPU", "id": f"{kind}-{n}"} for n in range(gpus)]
    return Machine(kind if gpus else "host", devices, [MPI], {"cuda": "libcuda.so.1 not found"})


@given(
    pattern=PATTERNS,
    sizes=st.lists(st.sampled_from([1, 8, 4096, 1 << 20, GIB, 64 * GIB]), max_size=4, unique=True),
    paths=st.lists(st.sampled_from([path.name for path in all_paths()]), max_size=3, unique=True),
    ranks=st.sampled_from([0, 0, 2, 2, 3, 4]),
    gpus=st.integers(0, 4),
    room=st.sampled_from([None, 100, 5000, 2 << 20, 8 * GIB]),
    soak=st.sampled_from([None, None, None, 1.0]),
)
@examples(600)
def test_nothing_that_was_named_is_dropped_in_silence(
    pattern: str,
    sizes: list[int],
    paths: list[str],
    ranks: int,
    gpus: int,
    room: int | None,
    soak: float | None,
) -> None:
    """Protects what a user writes: it is measured, or a line says why not; so is each default."""
    found, own = a_machine("cuda", gpus), find_pattern(pattern)
    options = tuple((option.key, option.default) for option in own.options)
    plan = Plan(pattern, tuple(paths), tuple(sizes), soak=soak, ranks=ranks, options=options)
    patches = (
        patch.object(machine, "look", lambda plan: found),
        patch.object(order, "room_for_buffers", lambda *_, **__: room),
        patch.object(order, "numa_nodes", list),
    )
    with patches[0], patches[1], patches[2], suppress(WirespeedError):
        resolved = resolve(plan)
        told = [*resolved.paths, *(path for path, why in resolved.lacking if why)]
        for name in paths:
            assert any(path.name.partition(":")[0] == name for path in told), name
        assert resolved.plan.ranks == (ranks or resolved.plan.ranks) > 0
        rule = own.at(Shape(resolved.plan.ranks, dict(resolved.plan.options))).size_rule
        if sizes and rule.fixed is None:
            assert {max(size, rule.least) for size in sizes} == {*resolved.plan.sizes}
        assert resolved.plan.sizes
        if resolved.left_out:
            assert not sizes and room is not None
        elif not sizes:
            assert resolved.plan.sizes == rule.chosen(soak=soak is not None)


@pytest.mark.parametrize(("gpus", "ranks"), [(0, 2), (1, 2), (3, 3)])
def test_blocks_have_a_rank_for_each_gpu(gpus: int, ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects lists to several ranks, which need two at least."""
    monkeypatch.setattr(machine, "look", lambda plan: a_machine("cuda", gpus))
    assert resolve(Plan("blocks", ("host",), ranks=0, options=(("count", 1),))).plan.ranks == ranks
