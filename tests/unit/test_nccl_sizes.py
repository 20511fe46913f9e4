"""Sizes that make NCCL fast and wrong, and what is said of variables that ranks were given."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import fake_machine
from support.fake_facts import facts_of, keys, one

from wirespeed.doctor.findings import nccl_sizes
from wirespeed.doctor.set_variables import set_variables
from wirespeed.doctor.tables import table as doctor_table


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path)


class TestFastAndWrong:
    @pytest.mark.parametrize(
        ("name", "others", "wrong"),
        [
            ("NCCL_CHUNK_SIZE=1048576", {}, True),
            ("NCCL_CHUNK_SIZE=0x40000", {}, True),
            ("NCCL_CHUNK_SIZE=-1", {}, True),
            ("NCCL_CHUNK_SIZE=131072", {}, False),
            # The other of the pair, without which it is wrong.
            ("NCCL_CHUNK_SIZE=262144", {"NCCL_P2P_NET_CHUNKSIZE": "262144"}, False),
            ("NCCL_CHUNK_SIZE=131072", {"NCCL_P2P_NET_CHUNKSIZE": "65536"}, True),
            ("NCCL_CHUNK_SIZE=131072", {"NCCL_BUFFSIZE": "524288"}, True),
            ("NCCL_P2P_NET_CHUNKSIZE=262144", {}, False),
            ("NCCL_P2P_NET_CHUNKSIZE=1048576", {}, True),
            ("NCCL_P2P_NET_CHUNKSIZE=1048576", {"NCCL_BUFFSIZE": "8388608"}, False),
            ("NCCL_P2P_NVL_CHUNKSIZE=524288", {}, False),
            ("NCCL_LL128_BUFFSIZE=131072", {}, True),
            ("NCCL_LL128_BUFFSIZE=123000", {}, True),
            ("NCCL_LL128_BUFFSIZE=122880", {}, False),
            ("NCCL_LL128_BUFFSIZE=0", {}, True),
            ("NCCL_LL_BUFFSIZE=131074", {}, True),
            ("NCCL_BUFFSIZE=1000000", {}, True),
            ("NCCL_BUFFSIZE=8388608", {}, False),
            ("NCCL_BUFFSIZE=020000000", {}, False),
            ("NCCL_BUFFSIZE=4194304x", {}, False),
            ("NCCL_P2P_PCI_CHUNKSIZE=2097152", {}, True),
            ("NCCL_NTHREADS=480", {}, True),
            ("NCCL_NTHREADS=256", {}, False),
            ("NCCL_NTHREADS=many", {}, False),
        ],
    )
    def test_sizes_of_nccl(self, root: Path, name: str, others: dict[str, str], wrong: bool) -> None:
        """Protects from seven times the bandwidth with other bytes."""
        name, _, value = name.partition("=")
        facts = facts_of(root, variables={name: value, **others})
        assert keys(facts) == ([f"variable-{name}"] if wrong else [])
        if wrong:
            found = one(facts, f"variable-{name}")
            assert (found.cost, found.remedy, found.trial) == ("breaks", (f"unset {name}",), None)

    @pytest.mark.parametrize(
        ("name", "value", "read", "meant"),
        [
            ("NCCL_BUFFSIZE", "4M", 4, 4 << 20),
            ("NCCL_P2P_NVL_CHUNKSIZE", "512 KiB", 512, 512 << 10),
            ("NCCL_CHUNK_SIZE", "128K", 128, 128 << 10),
        ],
    )
    def test_a_unit_that_nccl_does_not_read(
        self, root: Path, name: str, value: str, read: int, meant: int
    ) -> None:
        """Protects who writes 4M as for UCX: NCCL takes it for 4 bytes."""
        found = one(facts_of(root, variables={name: value}), f"variable-{name}")
        assert f"NCCL reads {read}, without the unit" in found.title
        assert (found.cost, found.remedy) == ("breaks", (f"export {name}={meant}",))

    def test_no_remedy_sets_any_of_them(self) -> None:
        """Protects --try: what is fast and wrong must not win."""
        wrong = {name for rule in nccl_sizes.RULES for name in rule.names}
        proposed = [*doctor_table("tunings"), *doctor_table("hang_remedies")]
        assert len(proposed) > 20
        assert not [name for remedy in proposed for name in remedy.get("variables", {}) if name in wrong]

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("OMPI_MCA_btl_tcp_sndbuf", "socket's send buffer"),
            ("UCX_TCP_RCVBUF", "socket's receive buffer"),
            ("FI_SOCKETS_MAX_CONN_RETRY", "buffers"),
            ("HSA_ENABLE_IPC_MODE_LEGACY", "IPC handles"),
            ("MPIR_CVAR_CH4_IPC_GPU_HANDLE_CACHE", "stale"),
            ("FI_SHM_USE_XPMEM", "XPMEM"),
            ("NCCL_HOSTID", "tells hosts apart"),
            ("NCCL_CTA_POLICY", "since 2.27"),
            ("NCCL_CHUNK_SIZE", "wrong data"),
            ("NCCL_LL128_BUFFSIZE", "120 B"),
        ],
    )
    def test_each_is_explained_with_its_source(self, name: str, said: str) -> None:
        (line,) = set_variables({name: "1"})
        assert said in line.does and line.value == "1" and line.source
