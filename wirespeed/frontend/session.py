"""Measures a plan: what is ordered, in job steps of its own or in the user's own launcher's job."""

from __future__ import annotations

from wirespeed import interrupts, launchers
from wirespeed.errors import ExitCode
from wirespeed.frontend import machine
from wirespeed.frontend.bound import Bound
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.order import resolve
from wirespeed.frontend.run import PlannedRun
from wirespeed.job.plan import Plan
from wirespeed.job.shm_cleanup import sweep
from wirespeed.results.recorder import Observer


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
    order = resolve(plan)
    sweep()
    with interrupts.deferred():
        return PlannedRun(order, observe, bound).all_steps()
