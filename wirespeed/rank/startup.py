"""What a rank does before it measures: its environment, its device, who it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host import devices
from wirespeed.host.cgroup import cpu_quota
from wirespeed.host.core import Core, NativeError
from wirespeed.host.process import allowed_cpus, own_cpus
from wirespeed.host.profilers import RANK
from wirespeed.job.messages import Message
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import StepSpec
from wirespeed.rank.ranges import Ranges
from wirespeed.rank.world import World

_RELOAD = ("LD_LIBRARY_PATH", "LD_PRELOAD")


def set_environment(variables: dict[str, str]) -> None:
    """Sets what the launcher did not pass on; starts the process anew where only the loader reads it."""
    reload_needed = any(name in variables and os.environ.get(name) != variables[name] for name in _RELOAD)
    os.environ.update(variables)
    if reload_needed and os.environ.get("WIRESPEED_RELOADED") != "1":
        os.environ["WIRESPEED_RELOADED"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def start_profiler(spec: StepSpec, rank: int) -> None:
    """Becomes the profiler, which starts this rank anew. Raises WirespeedError where that fails."""
    command = [word.replace(RANK, str(rank)) for word in spec.profiler]
    os.environ["WIRESPEED_PROFILED"] = "1"
    try:
        Path(spec.profiles).mkdir(parents=True, exist_ok=True)
        os.execv(command[0], [*command, sys.executable, *sys.orig_argv[1:]])
    except OSError as error:
        why = f"{command[0]} does not start on {os.uname().nodename}: {error.strerror}"
        raise WirespeedError(f"--profile {spec.plan.profile}: {why}", ExitCode.UNAVAILABLE) from None


def open_device(opened: Core, kind: str, plan: Plan, rank: int, local: int) -> Any:
    """This rank's device, or the host. A CPU named by --between is where the process is pinned.

    Raises WirespeedError where the plan's allocator cannot be had.
    """
    between = plan.between
    if kind == "host" and between:
        try:
            os.sched_setaffinity(0, {between[rank % len(between)]})
        except OSError:
            allowed_cpus(between)
    index = devices.pick(kind, devices.count(opened, kind), rank, local, between)
    try:
        return opened.open_device(kind, index, plan.allocator, plan.context == "own")
    except NativeError as error:
        if not error.lack:
            raise
        asked = f"--allocator {plan.allocator}"
        text = str(error) if str(error).startswith("--") else f"{asked}: {error}"
        raise WirespeedError(text, ExitCode.UNAVAILABLE) from None


def open_ranges(opened: Core, plan: Plan, rank: int, began: float) -> Ranges:
    """This rank's ranges. `began`: time.monotonic() when the process began its work."""
    ahead = float(dict(plan.test).get("clock", "0")) if rank % 2 else 0.0
    ranges = Ranges(opened, rank, plan.timing or plan.timeline is not None, ahead)
    ranges.add("start", round((began + ahead) * 1e9), ranges.clock())
    return ranges


def introduced(opened: Core, comm: World, device: Any, kind: str) -> list[Any] | None:
    """Collective. Hands the timed communicator to the core; who and where each rank is, on rank 0."""
    comm.open_mpi(opened)
    own = {"rank": comm.rank, "host": os.uname().nodename, "pid": os.getpid()}
    own |= {"cpus": own_cpus(), "cpu_quota": cpu_quota()}
    return comm.gather(own | {"device": None if kind == "host" else opened.identity(device)})


def ignore(message: Message) -> None:
    """What ranks other than 0 tell: nobody hears it."""
