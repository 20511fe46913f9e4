"""Named pairs of ranks, measured by real ranks."""

from __future__ import annotations

import pytest
from support.command import Measure
from support.mpis import InstalledMpi


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_pair_among_idle_ranks_has_a_figure_of_its_own(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the fleet: who was measured is known even of one pair alone, and whether it had CPUs."""
    done = measure(
        "pairing --ranks 3 --rank-pairs 2-0 --paths host --sizes 8 --max-time 0.02 --device cpu", mpi=mpi
    ).ok()
    (entry,) = done.entries
    (team,) = entry["teams"]
    assert (team["name"], team["first"], team["ranks"]) == ("0-2", 0, 2)
    assert team["seconds"]["median"] == entry["seconds"]["median"] > 0
    assert 0 <= team["waited"] <= 1
