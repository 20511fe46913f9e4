"""Measures a plan: completes it by what the machine has, refuses what cannot be, and runs it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from wirespeed import interrupts, launchers
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend import machine
from wirespeed.frontend.bound import Bound
from wirespeed.frontend.fitting import with_room
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.rank_limit import refuse_too_many
from wirespeed.frontend.run import PlannedRun
from wirespeed.frontend.run_steps import (
    NO_GPUS,
    chosen_paths,
    completed,
    refuse_multiprocessors,
)
from wirespeed.host import devices, mpi
from wirespeed.host.memory import room_for_buffers
from wirespeed.host.process import allowed_cpus, cores
from wirespeed.host.profilers import PROFILERS
from wirespeed.host.temporary import check_temporary_folder
from wirespeed.job.plan import Plan
from wirespeed.job.shm_cleanup import sweep
from wirespeed.patterns import Shape, find_pattern
from wirespeed.programs import A_GPU_EACH
from wirespeed.results.recorder import Observer
from wirespeed.results.store import shared_gpus_before

MAX_CPU_RANKS = 8
"""Without GPUs and --ranks."""


def discover(plan: Plan) -> Machine:
    """Devices, MPIs and paths of this machine. Raises WirespeedError."""
    return machine.look(plan)


def measure(plan: Plan, observe: Observer, bound: Bound | None = None) -> ExitCode:
    """Measures the plan: in this process if a launcher made it a rank, else in job steps of its own.

    `bound`: its part of the command's time; None: it has none.
    """
    if launchers.launched_rank():
        from wirespeed.frontend.in_launcher import measure_inside

        return measure_inside(plan, observe, bound)
    refuse_too_many([plan])
    plan = dataclasses.replace(plan, device=devices.with_slices(plan.device, os.environ))
    if plan.profile:
        PROFILERS[plan.profile].command(plan.profile, Path(), "")
    found = discover(plan)
    plan = dataclasses.replace(plan, share_gpus=plan.share_gpus or shared_gpus_before(plan))
    plan = completed(plan, plan.ranks or _usual_ranks(plan, found), found.kind)
    refuse_multiprocessors(plan, found.devices)
    paths = chosen_paths(plan, found.kind)
    found = dataclasses.replace(found, too_few_gpus=_too_few_gpus(plan, found))
    if not any(found.availability(path) is None for path in paths):
        path = paths[0]
        raise WirespeedError(f"{path.name}: {found.availability(path)}", ExitCode.UNAVAILABLE)
    check_temporary_folder()
    left_out = None
    if not plan.hosts:
        _check_places(plan, found)
        if all(path.needs_device for path in paths):
            _refuse_shared_gpus(plan, found)
        _check_memory(plan, found)
        plan, left_out = with_room(plan, _room(plan, found))
    sweep()
    with interrupts.deferred():
        return PlannedRun(plan, found, observe, bound).all_steps(paths, left_out)


def _check_places(plan: Plan, found: Machine) -> None:
    """Raises WirespeedError for a processor that this host does not have."""
    if found.kind == "host":
        allowed_cpus(plan.between)
        if plan.ranks_per_gpu:
            raise WirespeedError(NO_GPUS, ExitCode.UNAVAILABLE)
        return
    there = len(found.devices)
    if plan.ranks_per_gpu and plan.ranks > there * plan.ranks_per_gpu:
        raise WirespeedError(devices.too_many(plan.ranks, there, plan.ranks_per_gpu))
    for rank in range(len(plan.between)):
        devices.turn(there, rank, rank, plan.between)


def _too_few_gpus(plan: Plan, found: Machine) -> str | None:
    """Why ranks that nobody told to share GPUs cannot have one each; None where ranks find out themselves."""
    asked = plan.share_gpus or plan.ranks_per_gpu or plan.between
    if asked or plan.hosts or launchers.by_batch_system(plan.launcher) or mpi.in_batch_job():
        return None
    there = len(found.devices)
    # A program's ranks are refused with a reason of their own.
    if find_pattern(plan.pattern).program or not 0 < there < plan.ranks:
        return None
    return devices.too_few(plan.ranks, there)


def _refuse_shared_gpus(plan: Plan, found: Machine) -> None:
    """Raises WirespeedError for a program whose ranks would share a GPU, which has no right figure."""
    there = len(found.devices)
    places = (devices.turn(there, n, n, plan.between, plan.ranks_per_gpu) for n in range(plan.ranks))
    if not find_pattern(plan.pattern).program or found.kind not in devices.GPU_KINDS:
        return
    if (own := len(set(places))) < plan.ranks:
        raise WirespeedError(
            f"{plan.pattern} --ranks {plan.ranks}: {A_GPU_EACH}, and here they share {own}; take --ranks "
            f"{own}; with {plan.ranks} GPUs it would also show what the transfers between them cost",
            ExitCode.UNAVAILABLE,
        )


def _check_memory(plan: Plan, found: Machine) -> None:
    """Raises WirespeedError for a program's grid that this host's memory cannot hold."""
    pattern, shape = find_pattern(plan.pattern), Shape(plan.ranks, dict(plan.options))
    # What goes into a file that has figures already is a failure there, and ends nothing else.
    if not pattern.program or plan.resume:
        return
    room, needed = _room(plan, found), pattern.extent(0, shape, plan.sizes[0])
    if room is not None and needed > room:
        raise WirespeedError(
            f"--size {shape.options['size']}: it takes two buffers of {_in_mib(needed)} on each "
            f"rank; the memory that is free holds {_in_mib(room)}; write a smaller size"
        )


def _room(plan: Plan, found: Machine) -> int | None:
    """Bytes for each of a rank's two buffers, where all ranks are on this host."""
    least = min((int(device.get("bytes") or 0) for device in found.devices), default=0)
    return room_for_buffers(plan.ranks, least, emulated=found.kind == "emulated")


def _in_mib(bytes_: int) -> str:
    return f"{bytes_ >> 20} MiB"


def _usual_ranks(plan: Plan, found: Machine) -> int:
    """How many ranks, where --ranks does not say: one for each GPU, if there are any."""
    pattern, options = find_pattern(plan.pattern), dict(plan.options)
    least = 1 if pattern.intra_rank or pattern.program else 2
    gpus = max(least, len(found.devices) * (plan.ranks_per_gpu or 1)) if found.devices else None
    usual = pattern.wanted_ranks(Shape(0, options))
    if pattern.exact_ranks(options) is None and pattern.usual_ranks is not None:
        usual = gpus or usual
    return len(plan.between) or usual or gpus or max(2, min(cores(), MAX_CPU_RANKS))
