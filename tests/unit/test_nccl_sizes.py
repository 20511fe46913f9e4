"""Sizes that make NCCL fast and wrong, and what is said of variables that ranks were given."""

from __future__ import annotations

from pathlib import Path

from support import fake_machine
from support.fake_facts import facts_of
from support.golden import Golden

from wirespeed.doctor.findings import find_all, nccl_sizes
from wirespeed.doctor.set_variables import set_variables
from wirespeed.doctor.tables import table as doctor_table

SETTINGS = (
    *(f"NCCL_CHUNK_SIZE={size}" for size in ("1048576", "0x40000", "-1", "131072", "128K")),
    # The other of the pair, without which it is wrong.
    "NCCL_CHUNK_SIZE=262144 NCCL_P2P_NET_CHUNKSIZE=262144",
    "NCCL_CHUNK_SIZE=131072 NCCL_P2P_NET_CHUNKSIZE=65536",
    "NCCL_CHUNK_SIZE=131072 NCCL_BUFFSIZE=524288",
    *(f"NCCL_P2P_NET_CHUNKSIZE={size}" for size in ("262144", "1048576", "1048576 NCCL_BUFFSIZE=8388608")),
    *(f"NCCL_P2P_NVL_CHUNKSIZE={size}" for size in ("524288", "512KiB")),
    *(f"NCCL_LL128_BUFFSIZE={size}" for size in ("131072", "123000", "122880", "0")),
    "NCCL_LL_BUFFSIZE=131074",
    *(f"NCCL_BUFFSIZE={size}" for size in ("1000000", "8388608", "020000000", "4194304x", "4M")),
    "NCCL_P2P_PCI_CHUNKSIZE=2097152",
    *(f"NCCL_NTHREADS={count}" for count in ("480", "256", "many")),
)
NAMES = (
    *("OMPI_MCA_btl_tcp_sndbuf", "UCX_TCP_RCVBUF", "FI_SOCKETS_MAX_CONN_RETRY", "HSA_ENABLE_IPC_MODE_LEGACY"),
    *("MPIR_CVAR_CH4_IPC_GPU_HANDLE_CACHE", "FI_SHM_USE_XPMEM", "NCCL_HOSTID", "NCCL_CTA_POLICY"),
    *("NCCL_CHUNK_SIZE", "NCCL_LL128_BUFFSIZE"),
)


def test_fast_and_wrong(golden: Golden, tmp_path: Path) -> None:
    """Protects from sizes with which NCCL is wrong, and units that it does not read; no others are blamed."""
    root, told = fake_machine.tree(tmp_path), {}
    for setting in SETTINGS:
        facts = facts_of(root, variables=dict(word.split("=") for word in setting.split()))
        lines = [
            f"{one.key}, {one.cost}: {one.title}; {'; '.join(one.remedy)}; {one.trial}"
            for one in find_all(facts)
        ]
        told[setting] = "\n".join(lines) or "nothing"
    for line in set_variables(dict.fromkeys(NAMES, "1")):
        told[line.name] = f"{line.value}: {line.does} ({line.source})"
    golden("doctor/nccl_sizes", told)


def test_no_remedy_sets_any_of_them() -> None:
    """Protects --try: what is fast and wrong must not win."""
    wrong = {name for rule in nccl_sizes.RULES for name in rule.names}
    proposed = [*doctor_table("tunings"), *doctor_table("hang_remedies")]
    assert len(proposed) > 20
    assert not [name for remedy in proposed for name in remedy.get("variables", {}) if name in wrong]
