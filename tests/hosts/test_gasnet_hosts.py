"""GASNet's conduit for any network between two hosts, where GASNET_PREFIX names a GASNet."""

from __future__ import annotations

import pytest
from conformance.test_libraries import Subject, subject
from hosts.test_two_hosts import FAST, across, is_sane, pair
from support.command import Measure
from support.hosts import Hosts
from support.mpis import InstalledMpi

__all__ = ["pair", "subject"]


@pytest.mark.parametrize("subject", ["gasnet-udp"], indirect=True)
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_between_hosts(pair: Hosts, subject: Subject, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the way in which ranks elsewhere find the master process; the wire counts the bytes."""
    before = pair["n1"].sent_bytes()
    done = measure(
        "pingpong --paths gasnet",
        *FAST,
        before=pair["n1"].enter(*across(mpi)),
        environment={**mpi.variables, **pair.environment, **subject.environment},
    )
    is_sane(done, pair["n1"].sent_bytes() - before)
