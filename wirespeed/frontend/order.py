"""What will be measured, decided before any process starts: the plan completed, its paths, and the rest."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path

from wirespeed import launchers
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend import machine
from wirespeed.frontend.fitting import with_room
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.rank_limit import refuse_too_many
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
from wirespeed.job.path_selection import unsuited
from wirespeed.job.plan import Plan
from wirespeed.paths import TransferPath
from wirespeed.patterns import Shape, find_pattern
from wirespeed.programs import A_GPU_EACH
from wirespeed.results.store import shared_gpus_before

MAX_CPU_RANKS = 8
"""Without GPUs and --ranks."""


@dataclass(frozen=True)
class Order:
    """One run, as it will be measured."""

    plan: Plan
    """Completed: its ranks, sizes and options."""
    found: Machine
    paths: tuple[TransferPath, ...]
    """Those that can be tried here, in the order measured."""
    lacking: tuple[tuple[TransferPath, str], ...] = ()
    """The others, and why."""
    left_out: str | None = None
    """Sizes without room, in words."""

    @property
    def launcher(self) -> str:
        """Name of what starts the ranks. Raises WirespeedError where it is not there."""
        chosen = launchers.choose(self.plan.launcher, self.found.mpis[0])
        launchers.check_installed(chosen)
        return chosen.name


def resolve(plan: Plan) -> Order:
    """Every default, every refusal, what fits into memory, and which paths. Raises WirespeedError."""
    refuse_too_many([plan])
    asked = plan
    plan = dataclasses.replace(plan, device=devices.with_slices(plan.device, os.environ))
    if plan.profile:
        PROFILERS[plan.profile].command(plan.profile, Path(), "")
    found = machine.look(plan)
    plan = dataclasses.replace(plan, share_gpus=plan.share_gpus or shared_gpus_before(plan))
    plan = completed(plan, plan.ranks or _usual_ranks(plan, found), found.kind)
    refuse_multiprocessors(plan, found.devices)
    paths = chosen_paths(plan, found.kind)
    found = dataclasses.replace(found, too_few_gpus=too_few_gpus(plan, found))
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
        if not asked.sizes:
            plan, left_out = with_room(plan, _room(plan, found))
    reasons = [(path, _why_not(plan, found, path)) for path in paths]
    # Risky ones come last: all others share their processes.
    able = sorted((path for path, why in reasons if not why), key=lambda path: path.gpu_aware_mpi)
    lacking = tuple((path, why) for path, why in reasons if why)
    return Order(plan, found, tuple(able), lacking, left_out)


def _why_not(plan: Plan, found: Machine, path: TransferPath) -> str | None:
    options, pattern = dict(plan.options), find_pattern(plan.pattern)
    return found.availability(path) or unsuited(path, pattern, plan.allocator, plan.device, options)


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


def too_few_gpus(plan: Plan, found: Machine) -> str | None:
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
            f"{plan.pattern} --ranks {plan.ranks}: {A_GPU_EACH}, and here the ranks would share {own}; take "
            f"--ranks {own}; {plan.ranks} GPUs would also show what the transfers between them cost",
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
            f"--size {shape.options['size']}: each rank needs two buffers of "
            f"{_in_mib(needed)}, and there is free memory for {_in_mib(room)}; write a smaller size"
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
