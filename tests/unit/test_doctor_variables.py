"""Variables that hurt are found where they matter, and harmless ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of, keys, one
from support.fake_machine import FakeNvml

from wirespeed.doctor.collect import Sources, collect
from wirespeed.doctor.facts.model import Limits, Net
from wirespeed.doctor.facts.tree import Tree
from wirespeed.doctor.findings import find_all
from wirespeed.doctor.shell import quoted
from wirespeed.frontend.machine import Machine
from wirespeed.host.variables import table


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path)


BAD: dict[str, str] = {
    "NCCL_P2P_DISABLE": "1",
    "NCCL_P2P_LEVEL": "LOC",
    "NCCL_SHM_DISABLE": "1",
    "NCCL_IB_DISABLE": "1",
    "NCCL_NET_GDR_LEVEL": "loc",
    "NCCL_NET": "Socket",
    "NCCL_MAX_NCHANNELS": "2",
    "NCCL_MAX_CTAS": "1",
    "NCCL_PROTO": "Simple",
    "NCCL_ALGO": "Ring",
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_DEBUG": "TRACE",
    "CUDA_LAUNCH_BLOCKING": "1",
    "HIP_LAUNCH_BLOCKING": "1",
    "HSA_ENABLE_SDMA": "0",
    "HSA_ENABLE_PEER_SDMA": "0",
    "UCX_RNDV_THRESH": "inf",
    "UCX_ZCOPY_THRESH": "inf",
    "UCX_RNDV_SCHEME": "am",
    "UCX_MAX_RNDV_RAILS": "1",
    "UCX_IB_GPU_DIRECT_RDMA": "no",
    "UCX_LOG_LEVEL": "trace_data",
    "UCX_MEMTYPE_CACHE": "n",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_smsc": "^cma",
    "OMPI_MCA_btl": "self,tcp",
    "OMPI_MCA_btl_tcp_if_include": "127.0.0.0/8",
    "OMPI_MCA_opal_cuda_support": "false",
    "OMPI_MCA_btl_smcuda_use_cuda_ipc": "0",
    "OMPI_MCA_pml": "ob1",
    "MPIR_CVAR_ENABLE_GPU": "0",
    "MPIR_CVAR_NOLOCAL": "1",
    "FI_PROVIDER": "tcp;ofi_rxm",
    "FI_TCP_IFACE": "lo",
    "MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD": "-1",
    "MPICH_GPU_SUPPORT_ENABLED": "0",
    "MPICH_GPU_IPC_ENABLED": "0",
    "MV2_USE_CUDA": "0",
    "MV2_USE_GPUDIRECT_RDMA": "0",
    "I_MPI_OFFLOAD": "off",
    "I_MPI_FABRICS": "ofi",
    "PAMI_DISABLE_IPC": "1",
}
HARMLESS = {
    "NCCL_P2P_DISABLE": "0",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_DEBUG": "WARN",
    "NCCL_NET": "IB",
    "NCCL_MAX_NCHANNELS": "32",
    "UCX_MAX_RNDV_RAILS": "4",
    "UCX_TLS": "all",
    "OMPI_MCA_btl": "^ofi",
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_smsc": "cma",
    "I_MPI_OFFLOAD": "1",
    "I_MPI_FABRICS": "shm:ofi",
    "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1",
    "NCCL_IB_HCA": "mlx5",
    "NCCL_PROTO": "LL,LL128,Simple",
    "NCCL_SOCKET_IFNAME": "eth0",
    "UCX_RNDV_THRESH": "8192",
    "UCX_RNDV_SCHEME": "get_zcopy",
    "FI_PROVIDER": "verbs",
}


class TestVariables:
    def test_each_entry_of_the_table_is_tried_here(self) -> None:
        assert set(BAD) == {entry["name"] for entry in table("fault")}
        for entry in table("fault"):
            assert entry["source"], entry["name"]

    @pytest.mark.parametrize("name", BAD)
    def test_a_value_that_hurts(self, root: Path, name: str) -> None:
        finding = one(facts_of(root, variables={name: BAD[name]}), f"variable-{name}")
        assert finding.remedy[0] in (f"unset {name}", f"export {name}=1")

    @pytest.mark.parametrize("name", HARMLESS)
    def test_a_value_that_does_not(self, root: Path, name: str) -> None:
        assert keys(facts_of(root, variables={name: HARMLESS[name]})) == []

    def test_without_gpus_their_variables_do_not_matter(self, tmp_path: Path) -> None:
        variables = {"NCCL_P2P_DISABLE": "1", "UCX_TLS": "sm", "CUDA_LAUNCH_BLOCKING": "1"}
        sources = Sources(Tree(tmp_path), FakeNvml(lacks="none"), variables, Limits(), "")
        (tmp_path / "dev/shm").mkdir(parents=True)
        facts = collect(Machine("host", [], [], {}), sources)
        assert not [key for key in keys(facts) if key.startswith("variable")]

    @pytest.mark.parametrize(
        ("value", "lacks"),
        [
            ("rc,sm,cuda_copy", ["cuda_ipc"]),
            ("^cuda_ipc", ["cuda_ipc"]),
            ("^cuda", ["cuda_ipc"]),
            ("tcp", ["cuda_ipc", "sm", "rc"]),
            ("tcp,sm,cuda", ["rc"]),
            ("^ib", ["rc"]),
            ("^rc,ud", []),
            ("tcp,ud_verbs,sm,cuda", []),
            ("^sm", ["sm"]),
            ("^posix,sysv,xpmem", ["sm"]),
            ("rc,cuda,shm", []),
            ("sm,cuda_ipc,cuda_copy", []),
            ("^tcp", []),
            ("rc:aux,posix,cuda_ipc", []),
        ],
    )
    def test_ucx_tls(self, root: Path, value: str, lacks: list[str]) -> None:
        found = find_all(facts_of(root, variables={"UCX_TLS": value}))
        titles = [f"UCX_TLS={quoted(value)} leaves out {' and '.join(lacks)}"] if lacks else []
        assert [finding.title for finding in found] == titles

    @pytest.mark.parametrize(
        ("name", "value", "hurts"),
        [
            ("UCX_NET_DEVICES", "mlx5_1:1", True),
            ("UCX_NET_DEVICES", "^mlx5_1:1", True),
            ("UCX_NET_DEVICES", "all", False),
            ("UCX_NET_DEVICES", "eth0", True),
            ("UCX_NET_DEVICES", "lo", True),
            ("UCX_NET_DEVICES", "mlx5_9:1", True),
            ("UCX_NET_DEVICES", "^mlx5_0:1,mlx5_1:1", True),
            ("NCCL_IB_HCA", "mlx5_1", True),
            ("NCCL_IB_HCA", "=mlx5_1", True),
            ("NCCL_IB_HCA", "^mlx5_1", True),
            ("NCCL_IB_HCA", "mlx4", True),
            ("NCCL_IB_HCA", "mlx5_0,mlx5_1", False),
        ],
    )
    def test_one_of_several_adapters(self, root: Path, name: str, value: str, hurts: bool) -> None:
        assert keys(facts_of(root, variables={name: value})) == ([f"variable-{name}"] if hurts else [])

    @pytest.mark.parametrize(
        ("value", "lacks"),
        [
            ("lo", "names the loopback interface, by which UCX reaches no other host"),
            ("eth1", "leaves out eth0, the fastest interface (100 Gb/s)"),
            ("^eth0", "leaves out eth0, the fastest interface (100 Gb/s)"),
            ("eth0", ""),
            ("^lo", ""),
            ("all", ""),
            ("bond0", ""),
        ],
    )
    def test_interfaces_where_there_is_no_rdma(self, tmp_path: Path, value: str, lacks: str) -> None:
        """Protects users of Ethernet, too: a slow interface, or one that leads nowhere."""
        facts = facts_of(fake_machine.tree(tmp_path, adapters=False), variables={"UCX_NET_DEVICES": value})
        nets = (Net("eth0", "up", 100.0), Net("eth1", "up", 1.0), Net("eth2", "down", 400.0))
        found = find_all(structs.replace(facts, nets=nets))
        assert [one.title for one in found] == ([f"UCX_NET_DEVICES={quoted(value)} {lacks}"] if lacks else [])

    @pytest.mark.parametrize(
        ("value", "hurts"),
        [
            *((value, True) for value in ("inf", "INF", "1g", "16m", "intra:8k,inter:inf")),
            *((value, False) for value in ("auto", "1", "256k", "1m", "intra:8k,inter:64k")),
        ],
    )
    def test_rendezvous_that_never_begins(self, root: Path, value: str, hurts: bool) -> None:
        assert keys(facts_of(root, variables={"UCX_RNDV_THRESH": value})) == (
            ["variable-UCX_RNDV_THRESH"] if hurts else []
        )

    def test_a_trial_on_the_path_that_this_machine_can_run(self, root: Path) -> None:
        facts = facts_of(root, variables={"UCX_RNDV_THRESH": "inf"})
        for kind, path in (("cuda", "aware"), ("host", "host")):
            trial = one(structs.replace(facts, kind=kind), "variable-UCX_RNDV_THRESH").trial
            assert trial is not None and trial.path == path

    def test_one_rail_needs_two_adapters(self, tmp_path: Path) -> None:
        root = fake_machine.tree(tmp_path, adapters=False)
        assert keys(facts_of(root, variables={"UCX_MAX_RNDV_RAILS": "1"})) == []
