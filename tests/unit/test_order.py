"""What will be measured: defaults, refusals and what fits, on machines and requests of all kinds."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.fake_facts import MPI

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend import machine, order
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.order import resolve
from wirespeed.host import visible_devices
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


@pytest.mark.parametrize(
    ("plan", "code", "text"),
    [
        (Plan(paths=("gpu",), ranks=2), 3, "gpu: needs two GPUs; --ranks-per-gpu 2"),
        (Plan("ring", ("staged",), ranks=3, ranks_per_gpu=2), 2, "--ranks-per-gpu 2: 1 GPU holds 2 ranks"),
        (Plan(paths=("staged",), between=(0, 1)), 2, "--between 0,1: there is no device 1"),
        (Plan("jacobi", ("aware",), ranks=2), 3, "jacobi --ranks 2: a program needs a GPU for each rank"),
    ],
)
def test_a_lack_of_gpus_names_the_variable_that_hides_them(
    plan: Plan, code: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from buying a GPU that a wrong entry of CUDA_VISIBLE_DEVICES hides."""
    hidden = visible_devices.explained("cuda", 1, {"CUDA_VISIBLE_DEVICES": "1,99,0"})
    found = dataclasses.replace(a_machine("cuda", 1), hidden=hidden)
    monkeypatch.setattr(machine, "look", lambda plan: found)
    with pytest.raises(WirespeedError) as refused:
        resolve(plan)
    said = str(refused.value)
    assert said.startswith(text) and refused.value.code == ExitCode(code), said
    assert "; CUDA_VISIBLE_DEVICES=1,99,0 shows 1 GPU, not 3: the driver knows no GPU '99'" in said


def test_no_variable_is_blamed_for_another_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a machine without MPI from a line about its GPUs."""
    hidden = visible_devices.explained("cuda", 1, {"CUDA_VISIBLE_DEVICES": "1,99"})
    found = dataclasses.replace(a_machine("cuda", 1), mpis=[], hidden=hidden)
    monkeypatch.setattr(machine, "look", lambda plan: found)
    with pytest.raises(WirespeedError) as refused:
        resolve(Plan(paths=("gpu",), ranks=2))
    assert "CUDA_VISIBLE_DEVICES" not in str(refused.value)
