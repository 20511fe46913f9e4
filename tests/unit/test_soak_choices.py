"""What a soak's transport chose otherwise than that of the timed program."""

from __future__ import annotations

import pytest

from wirespeed.job.messages import Facts
from wirespeed.rank.check.soak_run import not_covered


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
