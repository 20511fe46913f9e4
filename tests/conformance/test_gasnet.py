"""GASNet's path without MPI, and where there is no GASNet; test_libraries.py has its messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.test_libraries import SUBJECTS, Subject
from ranks.test_without_mpi import ended, started
from support.command import Measure

pytestmark = pytest.mark.slow

FAST = ("--device", "cpu", "--max-time", "0.02")


@pytest.fixture
def stand_in(builds: Path, session_builds: Path) -> Subject:
    return SUBJECTS["gasnet"](builds, session_builds)


def test_without_mpi(stand_in: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects ranks that torchrun started: a conduit with a master process needs no MPI.

    That process is this Python, which must find its modules from a folder where another one's lie below lib.
    """
    out = tmp_path / "r.jsonl"
    words = ("pingpong", "--paths", "gasnet", "--sizes", "8,64K", *FAST)
    monkeypatch.chdir("/")
    first, second = ended(started(2, *words, out=out, **stand_in.environment), out)
    assert first.code == second.code == 0, first.err
    assert [entry["bytes"] for entry in first.entries] == [8, 1 << 16]


@pytest.mark.parametrize(
    ("environment", "words", "why"),
    [
        ({}, (), "no conduit of GASNet was built; 'wirespeed paths --build gasnet --with PREFIX' builds"),
        ({}, ("--test", "conduit=ibv"), "GASNet's conduit ibv was not built"),
        ({"FAKE_GASNET_FAILS": "1"}, (), "gex_Client_Init(udp): Problem with requested resource"),
    ],
    ids=["nothing-built", "not-this-one", "no-start"],
)
def test_where_there_is_none(
    stand_in: Subject,
    environment: dict[str, str],
    words: tuple[str, ...],
    why: str,
    measure: Measure,
    tmp_path: Path,
) -> None:
    """Protects the one line that says why."""
    data = stand_in.environment if environment else {"XDG_DATA_HOME": str(tmp_path)}
    done = measure("pingpong --paths gasnet --sizes 8", *FAST, *words, environment={**data, **environment})
    (failure,) = done.failures
    assert why in failure["text"] and "\n" not in failure["text"], failure
