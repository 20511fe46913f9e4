"""Every variable of an MPI or of its libraries that is set gets a line, and none is called a fault for it."""

from __future__ import annotations

import re
from pathlib import Path

from support import fake_machine
from support.fake_facts import facts_of
from support.golden import Golden
from support.records import console, text_of

from wirespeed.doctor.findings import find_all
from wirespeed.doctor.result import Result
from wirespeed.doctor.set_variables import set_variables
from wirespeed.host.variables import table
from wirespeed.report.doctor.terminal import print_result

SEEN = {
    "UCX_PROTO_INFO": "y",
    "UCX_IB_NUM_PATHS": "1",
    "UCX_RC_TM_ENABLE": "y",
    "NCCL_NVLS_ENABLE": "0",
    "RCCL_MSCCL_ENABLE": "1",
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": "core",
    "FI_LOG_LEVEL": "warn",
    "MPICH_OFI_NIC_POLICY": "GPU",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "I_MPI_DEBUG": "5",
    "HSA_XNACK": "1",
    "CUDA_VISIBLE_DEVICES": "0,1",
    "PSM3_DEVICES": "self",
    "PAMI_ENABLE_STRIPING": "1",
    "PAMI_IBV_DEVICE_NAME_1": "mlx5_3:1,mlx5_0:1",
    "PMPI_GPU_AWARE": "1",
    "MPICH_RDMA_ENABLED_CUDA": "1",
    "OMPI_MCA_btl_openib_flags": "1",
    "CUDA_NIC_INTEROP": "1",
}
UNKNOWN = {"UCX_NOBODY_KNOWS": "hidden", "UCX_NOR_THIS": "hidden", "NCCL_IB_KEY": "hidden"}
PLACES = {"CUDA_HOME": "/c", "NCCL_VERSION": "2", "I_MPI_ROOT": "/i", "OPAL_PREFIX": "/o", "UCX_DIR": "/u"}


LONG = {"NCCL_NVLS_ENABLE": "0", "UCX_MODULE_DIR_X": "/opt/some", "FI_HOOK": f"/a{'/folder' * 6}"}


def test_each_has_a_line_and_none_is_a_finding(tmp_path: Path, golden: Golden) -> None:
    """Protects readers from a setting that nobody mentions, and from an alarm about a harmless one."""
    root = fake_machine.tree(tmp_path)
    texts = {}
    for title, variables in {
        "harmless, places, and unknown ones, whose values are not shown": {**SEEN, **PLACES, **UNKNOWN},
        "meanings stand in a column, but for a value too long for it": LONG,
    }.items():
        facts = facts_of(root, variables=variables)
        assert find_all(facts) == []
        screen = console(100)
        print_result(screen, Result(facts, ()))
        texts[title] = text_of(screen).partition("No findings.")[2]
        assert "hidden" not in text_of(screen)
    golden("doctor/set_variables", texts)


def test_nothing_where_nothing_is_set() -> None:
    assert set_variables({"PATH": "/bin", "SLURM_JOB_ID": "1", "OMPI_COMM_WORLD_RANK": "0"}) == []


def test_the_first_entry_that_fits_counts() -> None:
    (one,) = set_variables({"NCCL_IB_TC": "5"})
    assert (one.library, one.does) == ("NCCL", "traffic class of RoCE packets")
    assert one.source.endswith("/env.html#nccl-ib-tc")
    assert set_variables({"UCX_CUDA_COPY_TLS": "x"})[0].does
    assert set_variables({"UCX_CUDA_COPY_TLS": "x"}, told=("UCX_CUDA_COPY_TLS",)) == []


def test_every_entry_can_be_met_and_has_its_source() -> None:
    """Protects from an entry that an earlier pattern hides, or that belongs to another library."""
    for library in table("library"):
        assert library["source"] and library["title"]
        re.compile(library.get("ignore", ""))
        for pattern, does in library["does"].items():
            name = pattern.replace("*", "X")
            (found,) = set_variables({name: "1"})
            assert (found.library, found.does) == (library["title"], does), pattern
        for pattern in library.get("also", ()):
            assert pattern.startswith(tuple(library["prefix"])), pattern
