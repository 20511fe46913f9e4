"""Each fault is made on a fake machine; all that the doctor finds there is in tests/golden/doctor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of
from support.fake_machine import GPUS, NICS, FakeGpu, FakeNvml, adapter, pci_device, process
from support.golden import Golden

from wirespeed.doctor.collect import Sources, collect
from wirespeed.doctor.facts.model import Limits, MachineFacts, MpiFact, Net, RankPlacement
from wirespeed.doctor.facts.tree import Tree
from wirespeed.doctor.finding import Finding
from wirespeed.doctor.findings import find_all
from wirespeed.frontend.machine import Machine
from wirespeed.host.variables import table

PROPRIETARY = {"proc/modules": "nvidia 1 0", "proc/driver/nvidia/version": "NVIDIA UNIX"}
UNKNOWN = {"current_link_speed": "Unknown", "max_link_speed": "Unknown", "current_link_width": "0"}
VIRTUAL = {"proc/cpuinfo": "flags : fpu hypervisor lahf_lm"}
FAR = Limits(None, (0, 1))
CRASHED = {"tried": "crash", "tried_text": "crashed", "where": "here"}
WHEEL = MpiFact("MPICH 5.0.2", "mpich", prefix="/w", mpiexec="/w/bin/mpiexec", source="wheel")
STEPS = {"current_link_speed": "2.5 GT/s PCIe"}


def two(*gpus: dict[str, Any], **both: Any) -> FakeNvml:
    given = [*gpus, {}, {}][:2]
    return FakeNvml(*(FakeGpu(pci, **{**both, **how}) for pci, how in zip(GPUS, given, strict=True)))


def ranks(*places: tuple[int, int]) -> tuple[RankPlacement, ...]:
    """(CPU, GPU) of each rank."""
    return tuple(RankPlacement(rank, "n1", (cpu,), GPUS[gpu]) for rank, (cpu, gpu) in enumerate(places))


def made(
    root: Path,
    files: dict[str, str] | None = None,
    gpu: dict[int, dict[str, str]] | None = None,
    nic: dict[int, dict[str, str]] | None = None,
    port: dict[int, dict[str, str]] | None = None,
    *,
    adapters: bool = True,
    memory: dict[str, Any] | None = None,
    mpi: dict[str, Any] | None = None,
    more: Sequence[MpiFact] = (),
    changed: dict[str, Any] | None = None,
    **how: Any,
) -> MachineFacts:
    """A healthy machine with these files, members of PCI devices, ports, limits and MPIs."""
    fake_machine.tree(root, adapters=adapters)
    fake_machine.write(root, files or {})
    for addresses, devices in ((GPUS, gpu or {}), (NICS, nic or {})):
        for number, members in devices.items():
            node = int(members.pop("node", number))
            pci_device(root, addresses[number], node, ("0-3", "4-7", "0-7")[node], **members)
    for number, members in (port or {}).items():
        adapter(root, f"mlx5_{number}", NICS[number], **members)
    facts = facts_of(root, **how)
    facts = structs.replace(facts, memory=structs.replace(facts.memory, **(memory or {})), **(changed or {}))
    return structs.replace(facts, mpis=(structs.replace(facts.mpis[0], **(mpi or {})), *more))


MACHINES: dict[str, dict[str, Any]] = {
    "a healthy machine": {},
    "peer access is refused": {"nvml": FakeNvml(p2p=4)},
    "NVLinks are down": {"nvml": two({}, {"links": [1] * 6 + [0] * 12})},
    "boards that nobody knows, alike": {"nvml": two(name="Unheard of", links=[1] * 4)},
    "boards that nobody knows, one with a link less": {
        "nvml": two({"links": [1] * 4}, {"links": [1, 1, 1, 0]}, name="Unheard of")
    },
    "one GPU of a switched machine has nobody to link to": {
        "nvml": FakeNvml(FakeGpu(GPUS[0], links=[0] * 18))
    },
    "the fabric is not up": {"nvml": two(fabric=1)},
    "MIG": {"nvml": two({"mig": 1})},
    "compute mode: prohibited": {"nvml": two({"mode": 2})},
    "compute mode: exclusive": {"nvml": two({"mode": 3})},
    "somebody else computes": {"nvml": two({"processes": [process(4711)]})},
    "a program chooses its GPUs late": {
        "nvml": two({"processes": [process(4711), process(4712)]}, {"processes": [process(4712)]})
    },
    "two processes on a GPU each, and two that share one": {
        "nvml": two({"processes": [process(4711), process(4712)]}, {"processes": [process(4713)]})
    },
    "who looks is nobody else": {"nvml": two({"processes": [process(os.getpid())]})},
    "a GPU that lost half of its lanes": {"gpu": {0: {"current_link_width": "8"}}},
    "an adapter that lost half of its lanes": {"nic": {0: {"current_link_width": "8"}}},
    "a slow adapter": {"nic": {0: {"current_link_speed": "8.0 GT/s PCIe"}}},
    "GPUs idle at a lower generation": {"gpu": {0: STEPS}},
    "a slot of an older generation, which does not sleep": {
        "gpu": {1: {**STEPS, "slot_speed": "16.0 GT/s PCIe"}}
    },
    "a virtual slot means nothing": {
        "files": VIRTUAL,
        "gpu": {1: {"slot_speed": "2.5 GT/s PCIe", "slot_width": "1"}},
    },
    "a virtual machine does not know its link": {"gpu": {0: UNKNOWN}},
    "a port is down": {"port": {1: {"state": "1: DOWN"}}},
    "every port is down": {"port": {0: {"state": "2: INIT"}, 1: {"state": "2: INIT"}}},
    "an adapter lost lanes": {"port": {0: {"rate": "100 Gb/sec (1X NDR)"}}},
    "an adapter is slower than an identical one": {"port": {0: {"rate": "200 Gb/sec (4X HDR)"}}},
    "RoCE has fewer lanes by design": {
        "port": {number: {"rate": "25 Gb/sec (1X EDR)", "link_layer": "Ethernet"} for number in (0, 1)}
    },
    "no GPUDirect RDMA": {"files": PROPRIETARY},
    "GPUDirect RDMA by the older module": {"files": {**PROPRIETARY, "proc/modules": "nv_peer_mem 1 0"}},
    "locked memory: 64 KiB": {"limit": Limits(64 << 10, (0, 4))},
    "locked memory: 1 GiB": {"limit": Limits(1 << 30, (0, 4))},
    "without adapters neither matters": {
        "adapters": False,
        "files": PROPRIETARY,
        "limit": Limits(65536, (0, 4)),
    },
    "this process may not run near a GPU and an adapter": {"limit": FAR},
    "devices of an unknown node are nowhere far": {
        "limit": FAR,
        "gpu": {1: {"node": "-1"}},
        "nic": {1: {"node": "-1"}},
    },
    "a rank is far from its GPU, and no set of CPUs is near both": {
        "changed": {"places": ranks((0, 0), (1, 1))}
    },
    "ranks on one GPU can be put near it": {"changed": {"places": ranks((0, 1), (4, 1))}},
    "ranks are near": {"changed": {"places": ranks((0, 0), (4, 1))}},
    "/dev/shm is small": {"memory": {"shm_bytes": 64 << 20, "shm_free": 60 << 20, "container": "docker"}},
    "/dev/shm is full": {"memory": {"shm_free": 1 << 20}},
    "/dev/shm is not there": {"memory": {"shm_bytes": None}},
    "/dev/shm cannot be written": {"memory": {"shm_writable": False}},
    "CMA is refused": {
        "files": {"proc/sys/kernel/yama/ptrace_scope": "3", "proc/self/status": "CapEff:\t0"},
        "cma": "Operation not permitted",
    },
    "CMA only when asked": {"cma": "after asking"},
    "a container": {"memory": {"container": "docker"}},
    "an MPI that is not GPU-aware": {
        "mpi": {"says": False, "says_text": "MPIX_Query_cuda_support: no", **CRASHED}
    },
    "an MPI that is GPU-aware on paper": {"mpi": {"says": True, "says_text": "says yes", **CRASHED}},
    "an MPI that is, though it says no": {"mpi": {"says": False, "tried": "works"}},
    "another MPI is the remedy": {
        "mpi": {"tried": "hang", "tried_text": "hung", "where": "here"},
        "more": [WHEEL],
    },
    "no NVLS is no fault": {"variables": {"NCCL_NVLS_ENABLE": "0", "NVSHMEM_DISABLE_NVLS": "1"}},
    "the most expensive first": {
        "nvml": FakeNvml(p2p=5),
        "variables": {"NCCL_DEBUG": "INFO", "MPICH_GPU_SUPPORT_ENABLED": "0"},
    },
}

SET = """
NCCL_P2P_DISABLE=1 NCCL_P2P_LEVEL=LOC NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=1 NCCL_NET_GDR_LEVEL=loc
NCCL_NET=Socket NCCL_MAX_NCHANNELS=2 NCCL_MAX_CTAS=1 NCCL_PROTO=Simple NCCL_ALGO=Ring NCCL_SOCKET_IFNAME=lo
NCCL_DEBUG=TRACE CUDA_LAUNCH_BLOCKING=1 HIP_LAUNCH_BLOCKING=1 HSA_ENABLE_SDMA=0 HSA_ENABLE_PEER_SDMA=0
UCX_RNDV_THRESH=inf UCX_ZCOPY_THRESH=inf UCX_RNDV_SCHEME=am UCX_MAX_RNDV_RAILS=1 UCX_IB_GPU_DIRECT_RDMA=no
UCX_LOG_LEVEL=trace_data UCX_MEMTYPE_CACHE=n OMPI_MCA_btl_vader_single_copy_mechanism=none
OMPI_MCA_smsc=^cma OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=127.0.0.0/8
OMPI_MCA_opal_cuda_support=false OMPI_MCA_btl_smcuda_use_cuda_ipc=0 OMPI_MCA_pml=ob1 MPIR_CVAR_ENABLE_GPU=0
MPIR_CVAR_NOLOCAL=1 FI_PROVIDER=tcp;ofi_rxm FI_TCP_IFACE=lo MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD=-1
MPICH_GPU_SUPPORT_ENABLED=0 MPICH_GPU_IPC_ENABLED=0 MV2_USE_CUDA=0 MV2_USE_GPUDIRECT_RDMA=0
I_MPI_OFFLOAD=off I_MPI_FABRICS=ofi PAMI_DISABLE_IPC=1

NCCL_P2P_DISABLE=0 NCCL_P2P_LEVEL=SYS NCCL_DEBUG=WARN NCCL_NET=IB NCCL_MAX_NCHANNELS=32 UCX_MAX_RNDV_RAILS=4
UCX_TLS=all OMPI_MCA_btl=^ofi OMPI_MCA_pml=ucx OMPI_MCA_smsc=cma I_MPI_OFFLOAD=1 I_MPI_FABRICS=shm:ofi
UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1 NCCL_IB_HCA=mlx5 NCCL_PROTO=LL,LL128,Simple NCCL_SOCKET_IFNAME=eth0
UCX_RNDV_THRESH=8192 UCX_RNDV_SCHEME=get_zcopy FI_PROVIDER=verbs

UCX_TLS=rc,sm,cuda_copy UCX_TLS=^cuda_ipc UCX_TLS=^cuda UCX_TLS=tcp UCX_TLS=tcp,sm,cuda UCX_TLS=^ib
UCX_TLS=^rc,ud UCX_TLS=tcp,ud_verbs,sm,cuda UCX_TLS=^sm UCX_TLS=^posix,sysv,xpmem UCX_TLS=rc,cuda,shm
UCX_TLS=^tcp UCX_TLS=sm,cuda_ipc,cuda_copy UCX_TLS=rc:aux,posix,cuda_ipc

UCX_NET_DEVICES=mlx5_1:1 UCX_NET_DEVICES=^mlx5_1:1 UCX_NET_DEVICES=all UCX_NET_DEVICES=eth0
UCX_NET_DEVICES=lo UCX_NET_DEVICES=mlx5_9:1 UCX_NET_DEVICES=^mlx5_0:1,mlx5_1:1 NCCL_IB_HCA=mlx5_1
NCCL_IB_HCA==mlx5_1 NCCL_IB_HCA=^mlx5_1 NCCL_IB_HCA=mlx4 NCCL_IB_HCA=mlx5_0,mlx5_1

UCX_RNDV_THRESH=INF UCX_RNDV_THRESH=1g UCX_RNDV_THRESH=16m UCX_RNDV_THRESH=intra:8k,inter:inf
UCX_RNDV_THRESH=auto UCX_RNDV_THRESH=1 UCX_RNDV_THRESH=256k UCX_RNDV_THRESH=1m
UCX_RNDV_THRESH=intra:8k,inter:64k
"""
"""Values that hurt, values that do not, and borders between them."""
INTERFACES = (Net("eth0", "up", 100.0), Net("eth1", "up", 1.0), Net("eth2", "down", 400.0))


def lines(found: Finding) -> list[str]:
    trial = found.trial
    options = [f"option: {one.title}: {one.setting.words()}" for one in found.options]
    told = [f"try: {trial.path} at {trial.sizes} with {trial.after.words()}"] if trial else []
    told = [*(f"- {one}" for one in found.evidence), *(f"$ {one}" for one in found.remedy), *options, *told]
    return [f"[{found.cost}] {found.key}: {found.title}", *(f"    {line}" for line in told)]


def said(facts: MachineFacts) -> str:
    return "\n".join(line for found in find_all(facts) for line in lines(found)) or "nothing"


def test_machines(tmp_path: Path, golden: Golden) -> None:
    """Protects each rule: what it finds with which evidence, remedy and trial, and what it leaves alone."""
    texts = {
        title: said(made(tmp_path / str(number), **how))
        for number, (title, how) in enumerate(MACHINES.items())
    }
    golden("doctor/machines", texts)


def test_variables(tmp_path: Path, golden: Golden) -> None:
    """Protects every variable of the table, and values of it that do no harm."""
    words = SET.split()
    assert {word.partition("=")[0] for word in words} >= {entry["name"] for entry in table("fault")}
    assert all(entry["source"] for entry in table("fault"))
    root = fake_machine.tree(tmp_path)
    pairs = [word.split("=", 1) for word in words]
    golden("doctor/variables", {f"{n}={v}": said(facts_of(root, variables={n: v})) for n, v in pairs})


def test_variables_without_adapters(tmp_path: Path, golden: Golden) -> None:
    """Protects users of Ethernet: slow interfaces, those that lead nowhere, and rails without adapters."""
    root = fake_machine.tree(tmp_path, adapters=False)
    pairs = [("UCX_NET_DEVICES", value) for value in ("lo", "eth1", "^eth0", "eth0", "^lo", "all", "bond0")]
    texts = {
        f"{name}={value}": said(structs.replace(facts_of(root, variables={name: value}), nets=INTERFACES))
        for name, value in (*pairs, ("UCX_MAX_RNDV_RAILS", "1"))
    }
    golden("doctor/variables_ethernet", texts)


def test_without_gpus_their_variables_do_not_matter(tmp_path: Path) -> None:
    variables = {"NCCL_P2P_DISABLE": "1", "UCX_TLS": "sm", "CUDA_LAUNCH_BLOCKING": "1"}
    sources = Sources(Tree(tmp_path), FakeNvml(lacks="none"), variables, Limits(), "")
    (tmp_path / "dev/shm").mkdir(parents=True)
    facts = collect(Machine("host", [], [], {}), sources)
    assert not [found for found in find_all(facts) if found.key.startswith("variable")]


def test_a_trial_on_the_path_that_this_machine_can_run(tmp_path: Path) -> None:
    facts = facts_of(fake_machine.tree(tmp_path), variables={"UCX_RNDV_THRESH": "inf"})
    for kind, path in (("cuda", "aware"), ("host", "host")):
        (found,) = find_all(structs.replace(facts, kind=kind))
        assert found.trial is not None and found.trial.path == path
