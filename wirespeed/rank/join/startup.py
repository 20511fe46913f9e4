"""First work of a rank, before it measures: its environment, its device, who it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host import devices, mps
from wirespeed.host.cgroup import cpu_quota
from wirespeed.host.core import Core, NativeError
from wirespeed.host.handles import DeviceHandle
from wirespeed.host.process import allowed_cpus, host_name, own_cpus, span
from wirespeed.host.processor import cpu_model
from wirespeed.host.profilers import RANK
from wirespeed.job.messages import Message, RankPlace
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import StepSpec
from wirespeed.rank.join.apart import Apart
from wirespeed.rank.world import World

_RELOAD = ("LD_LIBRARY_PATH", "LD_PRELOAD")

MAX_THREADS = 8
"""Threads of a rank for untimed work on host memory: more are seldom faster, since memory is the limit."""


def set_environment(variables: dict[str, str]) -> None:
    """Sets what the launcher did not pass on; starts the process anew where only the loader reads it."""
    reload_needed = any(name in variables and os.environ.get(name) != variables[name] for name in _RELOAD)
    os.environ.update(variables)
    if reload_needed and os.environ.get("WIRESPEED_RELOADED") != "1":
        os.environ["WIRESPEED_RELOADED"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def show_own_slice(plan: Plan, rank: int, local: int) -> None:
    """Before the driver starts: of several MIG slices it shows a process no more than one."""
    if devices.by_slices(plan.device):
        names = devices.names_in(plan.device)
        own = names[devices.turn(len(names), rank, local, plan.between, plan.ranks_per_gpu)]
        os.environ["CUDA_VISIBLE_DEVICES"] = own


def start_profiler(spec: StepSpec, rank: int) -> None:
    """Becomes the profiler, which starts this rank anew. Raises WirespeedError where that fails."""
    command = [word.replace(RANK, str(rank)) for word in spec.profiler]
    os.environ["WIRESPEED_PROFILED"] = "1"
    try:
        Path(spec.profiles).mkdir(parents=True, exist_ok=True)
        os.execv(command[0], [*command, sys.executable, *sys.orig_argv[1:]])
    except OSError as error:
        why = f"{command[0]} does not start on {host_name()}: {error.strerror}"
        raise WirespeedError(f"--profile {spec.plan.profile}: {why}", ExitCode.UNAVAILABLE) from None


def open_device(opened: Core, kind: str, plan: Plan, rank: int, local: int) -> DeviceHandle:
    """This rank's device, or the host. A CPU named by --between is where the process is pinned.

    Raises WirespeedError for a device that is not there, and where the plan's allocator cannot be had.
    """
    if kind == "host":
        if plan.between:
            try:
                os.sched_setaffinity(0, {plan.between[rank % len(plan.between)]})
            except OSError:
                allowed_cpus(plan.between)
        return opened.open_device(kind, 0)
    if devices.by_slices(plan.device):
        if not devices.count(opened, kind):
            own = os.environ["CUDA_VISIBLE_DEVICES"]
            text = f"--device cuda:{own}: the driver shows no such device; 'nvidia-smi -L' lists them"
            raise WirespeedError(text, ExitCode.UNAVAILABLE)
        return _opened(opened, kind, 0, plan)
    devices.emulate(opened, kind, plan.ranks, plan.ranks_per_gpu)
    there = devices.chosen(opened, kind, devices.names_in(plan.device))
    if not there:
        return opened.open_device(kind, 0)  # says why there is none
    turn = devices.turn(len(there), rank, local, plan.between, plan.ranks_per_gpu)
    return _opened(opened, kind, there[turn], plan)


def _opened(opened: Core, kind: str, index: int, plan: Plan) -> DeviceHandle:
    try:
        return opened.open_device(kind, index, plan.allocator, plan.context == "own")
    except NativeError as error:
        if not error.lack:
            raise
        asked = f"--allocator {plan.allocator}"
        text = str(error) if str(error).startswith("--") else f"{asked}: {error}"
        raise WirespeedError(text, ExitCode.UNAVAILABLE) from None


def share_node(opened: Core, neighbours: int) -> None:
    """Lets the core use idle CPUs for untimed work. `neighbours`: ranks of this host, which do the same.

    A control group's quota is theirs together: what is used up now would be missed by what is timed next.
    """
    quota = cpu_quota()
    most = MAX_THREADS if quota is None else min(MAX_THREADS, int(quota / neighbours))
    opened.lib.ws_share_node(neighbours, most)


def introduced(
    opened: Core, comm: World, device: DeviceHandle, kind: str, apart: Apart, cpus: set[int] | None = None
) -> tuple[RankPlace, ...]:
    """Collective. Hands the timed communicator to the core; who and where each rank is, on rank 0 alone.

    `cpus`: those that it will measure on; None: those on which it is.
    """
    comm.open_mpi(opened)
    own = RankPlace(
        rank=comm.rank,
        host=host_name(),
        pid=os.getpid(),
        cpus=span(cpus) if cpus else own_cpus(),
        cpu_quota=cpu_quota(),
        cpu_model=cpu_model(),
        device=None if kind == "host" else opened.identity(device),
        visible=()
        if kind == "host"
        else tuple(str(one["id"]) for one in devices.every_identity(opened, kind)),
        copies=apart.copies,
        apart=apart.own,
    )
    if kind == "cuda":
        own["mps"] = mps.state()
    return tuple(comm.gather(own) or ())


def ignore(message: Message) -> None:
    """Drops the messages of ranks other than 0: nobody reads them."""
