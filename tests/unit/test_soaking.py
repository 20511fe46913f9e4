"""Which patterns have a soak, and what it leaves out."""

from __future__ import annotations

import pytest

from wirespeed.errors import WirespeedError
from wirespeed.job.messages import Facts
from wirespeed.job.plan import Plan
from wirespeed.job.soaking import refuse
from wirespeed.patterns import find_pattern
from wirespeed.rank.check.soak_run import not_covered


@pytest.mark.parametrize("pattern", ["ring", "copy", "rma", "allreduce", "jacobi"])
def test_what_changes_on_its_way_has_none(pattern: str) -> None:
    """Protects the meaning of a soak."""
    with pytest.raises(WirespeedError, match="--soak checks messages that arrive as they were sent"):
        refuse(Plan(pattern=pattern, soak=1.0), find_pattern(pattern))


def test_collectives_that_move_bytes_have_one() -> None:
    """Protects operations without sums, and from algorithms that forward what arrives."""
    options = (("algorithm", "direct"),)
    for name in ("broadcast", "allgather", "alltoall"):
        refuse(Plan(pattern=name, soak=1.0, options=options), find_pattern(name))
        for plan in (
            Plan(pattern=name, soak=1.0, options=(("algorithm", "library,best"),)),
            Plan(pattern=name, soak=1.0, options=options, paths=("host:ring",)),
        ):
            with pytest.raises(WirespeedError, match="take --algorithm direct"):
                refuse(plan, find_pattern(name))
    with pytest.raises(WirespeedError, match="barrier moves no bytes"):
        refuse(Plan(pattern="barrier", soak=1.0), find_pattern("barrier"))


@pytest.mark.parametrize(
    ("timed", "soaked", "named"),
    [
        ({}, {}, {}),
        ({"protocol": "pull"}, {"protocol": "pull", "work": "beside it"}, {}),
        ({"protocol": "pull", "blocks": 4}, {"protocol": "stores", "blocks": 8}, {"protocol": "pull"}),
        ({"copied by": "kernel"}, {"copied by": "copy engine"}, {"copied by": "kernel"}),
        ({"ready_notice": False}, {"ready_notice": True}, {"ready_notice": "no ready notice"}),
        ({"samples": "back to back"}, {}, {}),
    ],
)
def test_other_choices_are_named(timed: Facts, soaked: Facts, named: dict[str, str]) -> None:
    """Protects the table's column of what no soak covers; numbers of blocks and threads are no protocol."""
    assert not_covered(timed, soaked) == named
