"""The NICs that UCX and NCCL name in their logs.

Lines with a source are quoted from there, with fewer blanks.
"""

from __future__ import annotations

import pytest
from support.golden import Golden

from wirespeed.evidence.nics import nccl_log, ucx_log

RAILS = (
    "[1750940428.181226] [jpbo-007-31:2814548:0] ucp_worker.c:1903 UCX  INFO    ucp_context_0 inter-node "
    "cfg#8 tag(rc_mlx5/mlx5_2:1 rc_mlx5/mlx5_0:1 rc_mlx5/mlx5_1:1 rc_mlx5/mlx5_3:1 "
    "rc_mlx5/mlx5_2:1 rc_mlx5/mlx5_0:1 rc_mlx5/mlx5_1:1 rc_mlx5/mlx5_3:1)"
)
"""github.com/parthenon-hpc-lab/parthenon/issues/1260"""
WITHIN = (
    "[1750940426.960564] [jpbo-007-24:516901:0] ucp_worker.c:1903 UCX  INFO    ucp_context_0 intra-node "
    "cfg#4 tag(sysv/memory cma/memory rc_mlx5/mlx5_3:1 rc_mlx5/mlx5_0:1 cuda_ipc/cuda)"
)
"""The same, shortened."""


CONNECTIONS = {
    "UCX 1.20.1, from two hosts of network namespaces": (
        "[1795399034.595766] [n1:22   :0] ucp_worker.c:1912 UCX  INFO    ucp_context_0 inter-node cfg#1 "
        "tag(tcp/eth0)  rma_am(tcp/eth0)  am(tcp/eth0)"
    ),
    "UCX 1.13.1, from there too": (
        "[1795399337.464472] [n1:25   :0] ucp_worker.c:1763 UCX  INFO ep_cfg[1]: tag(tcp/eth0)"
    ),
    "github.com/openucx/ucx/issues/8511": (
        "[1665438955.217120] [slurm-slehpc15-james-hpc-pg0-1:27342:0] ucp_worker.c:1777 UCX  INFO "
        "ep_cfg[1]: tag(dc_mlx5/mlx5_0:1); "
    ),
    "github.com/openucx/ucx/issues/9560, with a host": (
        "[1665438955.217120] [n1:1:0] ucp_worker.c:1783 UCX  INFO ep_cfg[3]: tag(tcp/ib1 tcp/ib0)"
    ),
    "the form of 1.20 with UCX's lanes to a GPU beside it": (
        "[1.5] [n1:2:0] ucp_worker.c:1912 UCX  INFO    mpi inter-node cfg#2 "
        "tag(rc_mlx5/mlx5_0:1 cuda_copy/cuda gdr_copy/cuda)"
    ),
    "rails": RAILS,
    # NICs that UCX set up for connections within a host carry nothing.
    "within a host": WITHIN,
    "within a host, by the network alone": (
        "[1.5] [n1:2:0] ucp_worker.c:1912 UCX  INFO    mpi intra-node cfg#2 tag(rc_mlx5/mlx5_0:1)"
    ),
    "issue 8511: no word of where it leads, but lanes of one host": (
        "[1665438955.2] [n1:2:0] ucp_worker.c:1777 UCX  INFO ep_cfg[0]: tag(self/memory0 dc_mlx5/mlx5_0:1); "
    ),
    "issue 9560, the same": (
        "[1665438955.2] [n1:2:0] ucp_worker.c:1783 UCX  INFO ep_cfg[2]: tag(sysv/memory cma/memory tcp/ib1)"
    ),
    "a remark": (
        "[1795399034.4] [n1:22   :0] ucp_worker.c:1590 UCX  DIAG  failed to open CM on component rdmacm"
    ),
    "another one": (
        "[1795399034.4] [n1:22   :0] parser.c:2364 UCX  INFO  UCX_* env variables: UCX_LOG_LEVEL=info"
    ),
    # Warnings and errors stay in a failure's log, and others' lines.
    "an error": ("[1795399034.4] [n1:22   :0] ib_mlx5_log.c:177  UCX  ERROR Transport retry count exceeded"),
    "a signal": "[n1:22   :0:22] Caught signal 11 (Segmentation fault: address not mapped to object)",
    "an MPI's words": "MPI says UCX  INFO ep_cfg[1]: tag(tcp/eth0)",
    "a warning": "[1795399034.4] [n1:22   :0] x.c:1  UCX  WARN  ep_cfg[1]: tag(tcp/eth0)",
    "nothing": "",
}


def test_lines_of_ucx(golden: Golden) -> None:
    """Protects the reading of what UCX has written over the years: every rail once, in UCX's order."""

    def told(line: str) -> str:
        assert ucx_log.UcxLog().take(line) == ucx_log.is_remark(line)
        return f"{'a remark' if ucx_log.is_remark(line) else 'stays in the log'}: {ucx_log.connection(line)}"

    golden("evidence/ucx_lines", {title: told(line) for title, line in CONNECTIONS.items()})


def test_a_rank_finds_its_own_lines() -> None:
    """Protects ranks of one host from each other's NICs; UCX cuts the domain off a host's name."""
    log = ucx_log.UcxLog()
    assert all(map(log.take, (RAILS, WITHIN, RAILS)))
    rank = {"rank": 3, "host": "jpbo-007-31.jupiter.internal", "pid": 2814548}
    assert [one["name"] for one in log.of(rank)] == ["mlx5_2:1", "mlx5_0:1", "mlx5_1:1", "mlx5_3:1"]
    assert log.of({**rank, "pid": 1}) == log.of({**rank, "host": "jpbo-007-24", "pid": 516901}) == []


def test_the_users_own_log_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a user's UCX_LOG_LEVEL and UCX_LOG_FILE, either of which says where the log is wanted."""
    for name in ucx_log.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert ucx_log.variables() == {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "stderr"}
    monkeypatch.setenv("UCX_LOG_FILE", "mine.log")
    assert ucx_log.variables() == {}


IB = "NET/IB : Using [0]mlx5_8:1/IB [1]mlx5_9:1/IB [2]mlx5_10:1/IB [7]mlx5_16:1/RoCE ; OOB ib8:192.168.1.8<0>"
"""Shortened from github.com/NVIDIA/nccl/issues/707 (NCCL 2.7.6)."""
CHANNELS = {
    "github.com/NVIDIA/nccl/issues/707": ([IB], ["NET/IB/0/GDRDMA", "NET/IB/7"]),
    "PXN: rank 5 of the host sends for this one": ([IB], ["NET/IB/2(5)/GDRDMA"]),
    "github.com/NVIDIA/nccl-tests/issues/185": (
        ["NET/IB : Using [0]mlx5_10:1/RoCE [1]mlx5_11:1/RoCE [RO]; OOB enp220s0np0:11.1.128.136<0>"],
        ["NET/IB/1/GDRDMA"],
    ),
    "github.com/NVIDIA/nccl/issues/1814: a plug-in with a name of its own": (
        ["NET/IB : Using [0]mlx5_bond_0:1/RoCE [3]mlx5_bond_3:1/RoCE [RO]; OOB eth0:172.21.17.82<0>"],
        ["NET/IBext_v8/3"],
    ),
    "github.com/NVIDIA/nccl/issues/1053": (["NET/Socket : Using [0]lo:127.0.0.1<0>"], ["NET/Socket/0"]),
    "the form of net_ib: two ports made one device": (
        [
            "NET/IB : Made virtual device [0] name=mlx4_0 speed=40000 ndevs=1",
            "NET/IB : Using [0]mlx4_0:1/IB [1]mlx4_0:2/IB [RO]; OOB eth0:10.0.0.1<0>",
            "NET/IB : Made virtual device [2] name=mlx4_0+mlx4_0 speed=80000 ndevs=2",
        ],
        ["NET/IB/2"],
    ),
    "github.com/NVIDIA/nccl/issues/229: no line numbers the plug-in's devices": ([], ["NET/AWS Libfabric/0"]),
    "within a host": ([IB], ["P2P/CUMEM/read", "SHM/direct/direct"]),
}


def test_channels_of_nccl(golden: Golden) -> None:
    """Protects the NIC's name from NCCL's own numbers, and the word on GPUDirect RDMA."""

    def told(networks: list[str], ways: list[str]) -> str:
        channels = [{"from": 0, "to": 1, "via": way, "count": 2} for way in ways]
        return "\n".join(map(str, nccl_log.nics({"channels": channels, "networks": networks}))) or "none"

    golden("evidence/nccl_channels", {title: told(*case) for title, case in CHANNELS.items()})


def test_a_transport_that_says_nothing() -> None:
    """Protects every other transport, which has no channels."""
    assert nccl_log.nics({}) == nccl_log.nics({"via": "unknown (NCCL_DEBUG is set)"}) == []
