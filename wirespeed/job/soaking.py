"""A soak: the plans that have one, and the kinds of wrong messages that it tells apart."""

from __future__ import annotations

from wirespeed.errors import WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.patterns import Pattern
from wirespeed.patterns.rules import COMPUTES

WRONG_KINDS = ("damaged", "late", "stale", "lost")
"""In the order of the core's numbers (WsSoakKind, native/kernels/soak_types.h)."""
FAULT = "soak-"
"""Before a kind: what `--test fault=` plants."""


PLAIN = "direct"
"""The algorithm of collective operations whose every message goes straight from its owner to its receiver."""


def lacks_soak(pattern: Pattern) -> str:
    """Why it has no soak: it 'computes with what arrives'; '': it has one."""
    if pattern.checking.sums:
        return COMPUTES
    if pattern.kind.intra_rank:
        return "sends no messages between ranks"
    return "moves bytes without the receiver" if pattern.kind.one_sided else pattern.checking.no_soak


def refuse(plan: Plan, pattern: Pattern) -> None:
    """Raises WirespeedError where the plan asks for a soak of what has none."""
    if plan.soak is None:
        return
    if why := lacks_soak(pattern):
        raise WirespeedError(
            f"--soak checks messages that arrive as they were sent, and {pattern.name} {why}; take another "
            "pattern, such as pingpong, exchange, stream or halo"
        )
    if pattern.kind.of_all_ranks:
        algorithms = dict(plan.options).get("algorithm") or PLAIN
        named = [word.partition(":")[2] for word in plan.paths if ":" in word]
        if other := next((name for name in (algorithms, *named) if name != PLAIN), None):
            raise WirespeedError(
                f"--soak checks messages that go straight from one rank to another, which {pattern.name} "
                f"by {other} does not promise; take --algorithm {PLAIN}"
            )
    if plan.resume:
        raise WirespeedError(
            "--resume goes on with figures, and a soak has none: leave out --soak or --resume"
        )
    if plan.background:
        raise WirespeedError("--with compares figures, and a soak has none: leave out --with")
