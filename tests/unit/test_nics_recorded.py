"""How the NICs get into the result file: from the ranks' messages, and from lines of UCX on the way."""

from __future__ import annotations

from typing import Any, cast

from support.rank_messages import rank_place

from wirespeed.evidence.nics.ucx_log import UcxLog
from wirespeed.frontend.rank_messages import received
from wirespeed.frontend.recording import StepRecorder
from wirespeed.job.messages import Accepted, Facts, Hello
from wirespeed.paths import find_path
from wirespeed.results.model import Evidence, RankRecord
from wirespeed.results.recorder import Recorder, StepJob

MIB = 1 << 20
RANKS = (rank_place(0), rank_place(1))
UCX = (
    "[1.5] [n{0}:10{0}   :0]      ucp_worker.c:1912 UCX  INFO    mpi inter-node cfg#1 tag(rc_mlx5/mlx5_{0}:1)"
)
NAMED: tuple[list[Facts], ...] = tuple(
    [{"name": f"mlx5_{rank}:1", "transport": "IB", "gpudirect": True}] for rank in (0, 1)
)


class Kept:
    """Stands for the recorder of a run."""

    def __init__(self) -> None:
        self.records: list[RankRecord] = []

    def started(self, number: int, path: object, job: object, **found: object) -> None:
        """A step's record is of no interest here."""

    def take(self, record: RankRecord, number: int, launch: int) -> None:
        self.records.append(record)


def recorded(path: str, between_hosts: tuple[int, ...] = (0, 1)) -> Evidence:
    """A step on two hosts each of whose port carried everything, with both logs there."""
    kept, log = Kept(), UcxLog()
    step = StepRecorder(0, find_path(path), cast(Recorder, kept), lambda _: None, StepJob({}), ucx_log=log)
    step.take(Hello(RANKS, {}, 0.1))
    assert all(log.take(UCX.format(rank)) for rank in (0, 1))
    step.take(Accepted({}, [], NAMED))
    wires = [{"kind": "infiniband", "name": f"mlx5_{rank} port 1", "host": f"n{rank}"} for rank in (0, 1)]
    step.take(received({"kind": "wires", "path": path, "wires": wires}))
    both = {"sent": MIB, "received": MIB, "expected_sent": MIB, "expected_received": MIB}
    counted = [{**wire, **both, "background": 0, "granularity": 4} for wire in wires]
    evidence = {"path": path, "bytes": MIB, "verdict": "network", "text": "over InfiniBand", "wires": counted}
    nics = [{"rank": rank} for rank in between_hosts]
    counts: Any = {"kind": "evidence", **evidence, "nics": nics}
    step.take(received(counts))
    found = kept.records[-1]
    assert isinstance(found, Evidence)
    return found


def of(found: Evidence) -> list[tuple[int, str, str, object]]:
    return [
        (one.rank, nic.name, nic.transport, nic.gpudirect is True) for one in found.nics for nic in one.nics
    ]


def test_an_mpi_s_nics_are_those_of_ucx() -> None:
    """Protects paths over MPI: the front end finds each rank's lines of UCX by its host and pid."""
    assert of(recorded("host")) == [(rank, f"mlx5_{rank}:1", "rc_mlx5", False) for rank in (0, 1)]


def test_the_nics_of_nccl_are_those_of_its_own_log() -> None:
    """Protects NCCL's paths from the NICs of the MPI by which its ranks have found each other."""
    assert of(recorded("nccl")) == [(rank, f"mlx5_{rank}:1", "IB", True) for rank in (0, 1)]


def test_ranks_that_send_within_their_host_have_none() -> None:
    """Protects them from the NICs of the ranks beside them."""
    assert recorded("host", ()).nics == []
