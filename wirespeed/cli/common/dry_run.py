"""--dry-run: what a command would measure, by which processes, and what it would not, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.units import counted, time_word

if TYPE_CHECKING:
    from wirespeed.frontend.order import Order
    from wirespeed.paths import TransferPath


def print_orders(plans: Sequence[Plan], *, as_json: bool) -> ExitCode:
    """One for each plan. Raises WirespeedError where none of them can be measured, nor written."""
    from wirespeed.cli.common.measuring import bound_of
    from wirespeed.frontend.order import resolve
    from wirespeed.results.store import refusal

    if (out := plans[0].out) and not plans[0].resume and Path(out).exists():
        raise WirespeedError(refusal(Path(out), FileExistsError()), ExitCode.CANNOT_WRITE)
    bound_of(plans[0])
    found: list[dict[str, Any]] = []
    refusals: list[WirespeedError] = []
    for plan in plans:
        try:
            found.append(_facts(resolve(plan)))
        except WirespeedError as error:
            refusals.append(error)
            found.append({"pattern": plan.pattern, "ranks": plan.ranks, "refused": str(error)})
    if len(refusals) == len(plans):
        raise refusals[0]
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        print("\n".join(line for order in found for line in _lines(order)))
        print("nothing was started (--dry-run)")
    return ExitCode.OK


def _facts(order: Order) -> dict[str, Any]:
    plan, found = order.plan, order.found
    lacking = {path.name: why for path, why in order.lacking}
    # What a library lacks, ranks would find out.
    lacking |= {path.name: why for path in order.paths if (why := found.lacks(path))}
    return {
        "pattern": plan.pattern,
        "options": dict(plan.options),
        "chosen": _chosen(plan),
        "ranks": plan.ranks,
        "device": found.kind,
        "hosts": list(plan.hosts),
        "mpi": found.mpis[0].title,
        "launcher": order.launcher,
        "launches": plan.launches,
        "paths": {path.name: list(plan.sizes) for path in order.paths if path.name not in lacking},
        "not_measured": lacking,
        "left_out": order.left_out,
        "precision": plan.stopping.precision,
        "max_time_s": plan.stopping.max_time,
        "loops": plan.stopping.loops,
        "soak_s": plan.soak,
        "resumes": plan.out if plan.resume and plan.out and Path(plan.out).exists() else None,
        "within_s": plan.budget,
        "orders": {path.name: _by_hand(order, path) for path in order.paths if path.name not in lacking},
    }


def _chosen(plan: Plan) -> list[str]:
    """'group 2', 'both ways': options that differ from the defaults."""
    from wirespeed.patterns import find_pattern

    usual = {option.key: (option.default, option.word) for option in find_pattern(plan.pattern).options}
    changed = [(name, value) for name, value in plan.options if value not in (None, usual[name][0])]
    return [
        name.replace("_", " ") + ("" if value is True else f" {usual[name][1](value)}")
        for name, value in changed
    ]


def _by_hand(order: Order, path: TransferPath) -> dict[str, Any]:
    """What the path's ranks would be told: `mpiexec -n 2 python -m wirespeed.rank ORDER.json` does it."""
    from wirespeed.frontend.recording import PathLaunch
    from wirespeed.frontend.starter import Starter, StepKey

    starter = Starter(order.plan, order.found, "by-hand", None, lambda key: None)
    launch = PathLaunch(path, 1, order.plan.sizes)
    return asdict(starter.spec(StepKey((launch,), order.found.mpis[0])))


def _lines(order: dict[str, Any]) -> Iterator[str]:
    from wirespeed.grouping import grouped, size_range

    ranks = counted(order["ranks"], "rank")
    if refused := order.get("refused"):
        yield f"{order['pattern']}, {ranks}: not measured: {refused}"
        return
    where = f" on {','.join(order['hosts'])}" if order["hosts"] else ""
    times = f", {order['launches']} launches" if order["launches"] > 1 else ""
    device = {"host": "host memory"}.get(order["device"], f"{order['device']} devices")
    what = ", ".join([order["pattern"], *order["chosen"]])
    yield f"{what}: {ranks}{where} with {device}, {order['mpi']} by {order['launcher']}{times}"
    same = grouped((tuple(sizes), path) for path, sizes in order["paths"].items())
    for sizes, paths in same.items():
        yield f"  measured: {', '.join(paths)}: {counted(len(sizes), 'size')}, {size_range(sizes)}"
    for why, paths in grouped((why, path) for path, why in order["not_measured"].items()).items():
        yield f"  not measured: {', '.join(paths)}: {why}"
    if order["left_out"]:
        yield f"  {order['left_out']}"
    if order["resumes"]:
        yield f"  of these, what {order['resumes']} has is not measured again"
    if order["soak_s"]:
        yield f"  each size: every message is checked, for {time_word(order['soak_s'])}"
    elif order["loops"]:
        yield f"  each figure: {order['loops']:,} iterations"
    else:
        share, seconds = 100 * order["precision"], order["max_time_s"]
        yield f"  each figure: until within ±{share:g} %, or {seconds:g} s and up to three times that"
    within = order["within_s"]
    yield f"  time: {f'the whole command within {time_word(within)}' if within else 'no bound (--within)'}"
