"""Programs and transports beside each other, and what is left of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import mpis
from support.stand_ins import fake_nccl

pytestmark = pytest.mark.slow(after=1)


def two_ranks(scenario: str, builds: Path, **variables: str) -> dict[str, Any]:
    variables |= fake_nccl(builds)
    found: dict[str, Any] = mpis.installed("mpich").told(2, "two_ranks.py", scenario, **variables)
    return found


@pytest.mark.slow
def test_a_program_keeps_what_it_stages_through(builds: Path) -> None:
    """Protects a program from a later one that needs more memory."""
    assert two_ranks("staging_outlived", builds) == {"moved": "all"}


@pytest.mark.slow
def test_no_communicator_is_left_where_a_peer_has_none(builds: Path) -> None:
    """Protects the GPU's memory, and NCCL's end, after a start that failed on another rank."""
    found = two_ranks("communicator_of_a_peer_that_failed", builds, FAKE_NCCL_INIT_FAILS_ON="1")
    assert "rank 1: ncclCommInitRank" in found["said"]
    assert found["left"] == 0


OWN, OTHER = "own", "another's"
OTHERS: dict[str, list[Any]] = {"first": [1, 1, OWN], "second": [2, 1, OWN], "end": [2, 0]}
"""Where one does not fit on some rank: with settings that a user has changed, too."""
KEPT: dict[str, dict[str, list[Any]]] = {
    "communicator_kept": {
        "first": [1, 1, OWN],
        "second": [1, 1, OTHER, "P2P/CUMEM/read"],
        "end": [1, 0],
        "third": [2, 1, OWN],
        "last": [2, 0, OTHER],
        "no more": [2, 0],
    },
    "communicator_of_other_settings": OTHERS,
    "communicator_that_one_rank_lacks": OTHERS,
    # Nothing of what a failure on one rank has left in NCCL.
    "communicator_spoilt": {"first": [1, 0], "second": [2, 1, OWN], "third": [2, 1, OTHER], "end": [2, 0]},
}


@pytest.mark.parametrize("scenario", KEPT)
def test_what_paths_that_follow_each_other_share(scenario: str, builds: Path) -> None:
    """Protects the time of NCCL's start, its log's facts for both, and the communicator's end.

    Each list: communicators that there have been, and that there are; whose start is described; how its ranks
    are connected, as NCCL's log has it.
    """
    found = two_ranks(scenario, builds)
    for moment, expected in KEPT[scenario].items():
        assert found[moment][: len(expected)] == expected, (moment, found)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["stores", "TMA", "pull", "LL"])
def test_words_that_no_protocol_has_raised_of_late(protocol: str) -> None:
    """Protects a transport that has moved more than 2^31 messages by another protocol.

    Flags and credit are compared by signed difference: a word that stayed behind would pass too early.
    """
    mpi = mpis.installed("openmpi")
    options = f"protocol={protocol};blocks=2;transfers-before={(1 << 31) + 100}"
    words = ("peer_patterns.py", "gpu", "device", "emulated", options)
    found = mpi.told(3, *words, WIRESPEED_EMULATED="count=4")[options]
    assert protocol in {chosen.get("protocol") for chosen in found.values()}
