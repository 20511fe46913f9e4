"""What tests on several hosts share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import hosts
from support.hosts import Hosts


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Hosts n1 and n2, started anew for each module."""
    try:
        with hosts.hosts(["n1", "n2"], tmp_path_factory.mktemp("hosts")) as there:
            yield there
    except hosts.HostsError as why:
        pytest.skip(str(why))
