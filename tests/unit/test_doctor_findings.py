"""Each fault is made on a fake machine; all that the doctor finds there is in tests/golden/doctor."""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of
from support.fake_machine import GPUS, NICS, FakeGpu, FakeNvml, adapter, pci_device, process
from support.golden import Golden
from support.records import as_read
from support.transcripts import records

from wirespeed.doctor import job, trials
from wirespeed.doctor.collect import Sources, collect
from wirespeed.doctor.facts.model import Limits, MachineFacts, MpiFact, Net, RankPlacement
from wirespeed.doctor.facts.tree import Tree
from wirespeed.doctor.finding import Finding
from wirespeed.doctor.findings import find_all
from wirespeed.frontend.machine import Machine
from wirespeed.host.variables import table
from wirespeed.results.parts import Cpu
from wirespeed.results.runs import collect as collect_runs

PROPRIETARY = {"proc/modules": "nvidia 1 0", "proc/driver/nvidia/version": "NVIDIA UNIX"}
UNKNOWN = {"current_link_speed": "Unknown", "max_link_speed": "Unknown", "current_link_width": "0"}
VIRTUAL = {"proc/cpuinfo": "flags : fpu hypervisor lahf_lm"}
FAR = Limits(None, (0, 1))
CRASHED = {"tried": "crash", "tried_text": "crashed", "where": "here"}
WHEEL = MpiFact("MPICH 5.0.2", "mpich", prefix="/w", mpiexec="/w/bin/mpiexec", source="wheel")
STEPS = {"current_link_speed": "2.5 GT/s PCIe"}
PCIE = [FakeGpu(pci, "NVIDIA L40S", links=[]) for pci in GPUS]
ACS_AT = 0x148
LEFT = {f"sm_segment.n1.0.36c70001.{number}": 16 << 20 for number in range(14)}
BOTH = ("GPU-0", "GPU-1")
TURNS = "ranks 0-4 on n1 share CPUs 0-1"
NEAR = {"name": "mlx5_0:1", "share": 1.0, "distance": "PIX"}
BEYOND = {"name": "mlx5_1:1", "share": 1.0, "distance": "SYS"}
CURVE = "step host\nhost 8:512K 1us+100ps/B"
TWO_SLOW = "host 8K,16K 7us"
OPENMP = """run plan.allocator="openmp" plan.context="CONTEXT"
    step aware pointers=[{"rank":0,"memory":"device","context":"primary","ipc":true,"rdma":true}]
    """
ON_A_POINTER = f"{OPENMP}failure aware - unavailable: Open MPI 5.0.11 crashed on a device pointer in ucp"
OF_OPENMP = f"""{OPENMP}aware 4K 1ms
    {{"kind": "evidence", "path": "aware", "bytes": 4096, "iterations": 9, "verdict": "V", "text": "by host"}}
"""


def two(*gpus: dict[str, Any], **both: Any) -> FakeNvml:
    given = [*gpus, {}, {}][:2]
    return FakeNvml(*(FakeGpu(pci, **{**both, **how}) for pci, how in zip(GPUS, given, strict=True)))


def ranks(*places: tuple[int, int]) -> tuple[RankPlacement, ...]:
    """(CPU, GPU) of each rank."""
    return tuple(RankPlacement(rank, "n1", (cpu,), GPUS[gpu]) for rank, (cpu, gpu) in enumerate(places))


def on(number: int, *nics: dict[str, Any], host: str = "") -> dict[str, Any]:
    """The NICs that a rank used."""
    return {"rank": number, "host": host or f"n{number}", "nics": list(nics), "by": ["counters"]}


def over(*used: dict[str, Any], rate: float | None = 50e9, cpus: str = "", ports: int = 2) -> str:
    """Ranks near the first port of their host, by their GPU or their CPUs; `rate`: of its other ports."""
    device = None if cpus else {"kind": "cuda", "pci": GPUS[0]}
    ranks = [{"rank": one["rank"], "host": one["host"], "cpus": cpus, "device": device} for one in used]
    wires = [
        {"host": host, "kind": "infiniband", "name": f"mlx5_{number} port 1"}
        | {"rate": rate if number else 50e9, "pci": f"0000:{number}8:00.0"}
        | {"near": "8-15" if number else "0-7"}
        | {"distances": {gpu: "PIX" if place == number else "SYS" for place, gpu in enumerate(GPUS)}}
        for host in dict.fromkeys(one["host"] for one in used)
        for number in range(ports)
    ]
    proof = {"kind": "evidence", "path": "host", "bytes": 1 << 20, "verdict": "network", "text": "over"}
    records = ({"kind": "wires", "path": "host", "wires": wires}, {**proof, "nics": used})
    return "\n".join([f"step host ranks={json.dumps(ranks)}\nhost 1M 100us", *map(json.dumps, records)])


def sees(*seen: tuple[str, str, tuple[str, ...]]) -> dict[str, Any]:
    """(host, GPU, GPUs that it sees) of each rank."""
    places = (RankPlacement(n, host, (4 * n,), "", gpu, all_) for n, (host, gpu, all_) in enumerate(seen))
    return {"places": tuple(places)}


def bridge(control: int) -> bytes:
    """Registers of a bridge: two extended capabilities, the second of which is ACS."""
    space = bytearray(4096)
    struct.pack_into("<I", space, 0x100, ACS_AT << 20 | 2 << 16 | 0x0001)
    struct.pack_into("<IHH", space, ACS_AT, 1 << 16 | 0x000D, 0x5F, control)
    return bytes(space)


def room(vendor: str, count: int, free: int) -> dict[str, Any]:
    """So many ranks of an MPI, and so much of /dev/shm."""
    few = {"limits": Limits(None, tuple(range(count))), "cpu": Cpu(cores=count), "gpus": (), "nics": ()}
    return {"memory": {"shm_bytes": free, "shm_free": free}, "mpi": {"vendor": vendor}, "changed": few}


def waited(by: str | None, share: float, shared: str | None, vendor: str = "mpich", quota: float = 0) -> str:
    """A ring of five ranks on two CPUs."""
    place = {"host": "n1", "pid": 1, "cpus": "0-1", "cpu_quota": quota or None, "device": None}
    five = json.dumps([{"rank": rank, **place} for rank in range(5)])
    cores = json.dumps({"rank": 0, "preempted": 9, "waited": share, "by": by, "shared": shared})
    mpi = json.dumps({"vendor": vendor, "version": "5.0.2", "library": "MPI"})
    return f"""run plan.pattern=ring plan.ranks=5
    step host transport=mpi mpi={mpi} ranks={five}
    host 8 16ms cores={cores}"""


def beside(copies: str | None, *apart: str) -> str:
    """Two ranks of one host, and what the second one says of the first one."""
    place = {"host": "n1", "pid": 1, "cpus": "0-3", "device": None}
    two = [{"rank": 0, **place}, {"rank": 1, **place, "copies": copies, "apart": apart}]
    return f"step host ranks={json.dumps(two)}\nhost 8 1us"


def by_way_of(verdict: str) -> str:
    text = "over TCP on the loopback interface (100 % of the bytes)"
    proof = {"kind": "evidence", "path": "host", "bytes": 64 << 10, "verdict": verdict, "text": text}
    return f"step host transport=mpi\nhost 64K 60us\nhost 16K 55us\nhost 8K 90us\n{json.dumps(proof)}"


def wrong(path: str = "ipc-write") -> str:
    return f"failure {path} 64 mismatch: wrong data: byte 3 of 64 from rank 0 on rank 1"


def soaked(damaged: int) -> str:
    told = {"pattern": "pingpong", "path": "ucx-host", "bytes": 8, "messages": 1000, "launch": 1}
    return json.dumps({"kind": "soak", "step": 0, **told, "wrong": {"damaged": damaged}})


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
    iommu: str = "",
    acs: int | None = None,
    lines: str = "",
    **how: Any,
) -> MachineFacts:
    """A healthy machine with these files, members of PCI devices, ports, limits and MPIs.

    `iommu`: the type of the GPUs' groups. `acs`: control of their bridges. `lines`: of a result file.
    """
    fake_machine.tree(root, adapters=adapters)
    fake_machine.write(root, files or {})
    for pci in GPUS if iommu else ():
        fake_machine.write(root, {f"sys/class/iommu/dmar0/devices/{pci}": ""})
        fake_machine.write((root / "sys/bus/pci/devices" / pci).resolve() / "iommu_group", {"type": iommu})
    for pci in GPUS if acs is not None else ():
        ((root / "sys/bus/pci/devices" / pci).resolve().parent / "config").write_bytes(bridge(acs or 0))
    for addresses, devices in ((GPUS, gpu or {}), (NICS, nic or {})):
        for number, members in devices.items():
            node = int(members.pop("node", number))
            pci_device(root, addresses[number], node, ("0-3", "4-7", "0-7")[node], **members)
    for number, members in (port or {}).items():
        adapter(root, f"mlx5_{number}", NICS[number], **members)
    facts = facts_of(root, **how)
    if lines:
        found = records([line.strip() for line in lines.strip().splitlines()], 0, random.Random(1))
        read = as_read(one for one in found if not isinstance(one, str))
        facts = structs.replace(facts, runs=tuple(collect_runs(read)), file="r.jsonl")
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
    "wrong bytes by the host": {"lines": wrong("host")},
    "wrong bytes by a path of GPUs, in a program": {"lines": f"run plan.pattern=jacobi\n{wrong('gpu')}"},
    "a soak whose messages are right": {"lines": f"run\n{soaked(0)}"},
    "a soak with two wrong messages": {"lines": f"run\n{soaked(2)}"},
    "a path that was right since": {"lines": f"run\n{wrong()}\nrun\nipc-write 64 1us"},
    "a path that was right before": {"lines": f"run\nipc-write 64 1us\nrun\n{wrong()}"},
    "nothing but the host was wrong": {"lines": f"run\ngpu 8 1us\nnccl 8 2us\n{wrong('staged')}"},
    "a fast rate with lost bytes is no advice": {
        "lines": f"run\ngpu 1M 1us\nnccl 1M 2us\nstaged 1M 9us\nstaged-pinned 1M 30us\n{wrong()}"
    },
    **{
        f"an IOMMU of type {kind}, {way}, {path or 'nothing wrong'}": {
            "iommu": kind,
            "nvml": FakeNvml(*PCIE) if way == "PCIe" else FakeNvml(),
            "lines": path and wrong(path),
        }
        for kind, way, path in (
            ("DMA", "PCIe", ""),
            ("DMA", "PCIe", "ipc-write"),
            ("DMA-FQ", "PCIe", "ipc-write"),
            # In nobody's way: passed through, by NVLink, through the host.
            ("identity", "PCIe", "ipc-write"),
            ("DMA", "NVLink", "ipc-write"),
            ("DMA", "PCIe", "staged"),
        )
    },
    **{
        f"bridges whose ACS control is {control:#x}": {
            "acs": control,
            "nvml": FakeNvml(*PCIE),
            "lines": wrong(),
        }
        for control in (0x1D, 0x01, 0)
    },
    **{
        f"/dev/shm of {free} MiB for {count} ranks of {vendor}": room(vendor, count, free << 20)
        for vendor, count, free in (
            *(("openmpi", 2, 60), ("openmpi", 2, 12), ("openmpi", 8, 60), ("mpich", 8, 60)),
            *(("mpich", 2, 8), ("intel", 2, 16), ("spectrum", 8, 1)),
        )
    },
    "dead processes left files in /dev/shm": {"memory": {"left": LEFT, "left_bytes": 1 << 20}},
    "they fill it": {"memory": {"left": LEFT, "left_bytes": 1 << 20, "shm_free": 64 << 20}},
    "files of any name fill it": {
        "memory": {"shm_free": 1 << 20, "others": {"a b.bin": 215 << 20, "torch_1": 3 << 20}}
    },
    "files of any name, and room": {"memory": {"others": {"a b.bin": 215 << 20}}},
    "an MPI sends by loopback": {"lines": by_way_of("loopback")},
    "one that is as slow by shared memory": {"lines": by_way_of("shared memory")},
    **{
        f"copies between ranks: {copies}": {"lines": beside(copies)}
        for copies in ("works", None, "Operation not permitted")
    },
    **{
        f"ranks without a common namespace: {', '.join(kinds)}": {"lines": beside(None, *kinds)}
        for kinds in (("pid",), ("user",), ("shm", "ipc"))
    },
    **{
        f"Slurm hides each rank's GPU from the other, MPI tried: {tried or 'no'}": {
            "mpi": {"tried": tried, "tried_text": "cuIpcOpenMemHandle failed", "where": "here"},
            "changed": sees(("n1", "GPU-0", ("GPU-0",)), ("n1", "GPU-1", ("GPU-1",))),
        }
        for tried in ("error", "works", "")
    },
    "ranks see all GPUs": {"changed": sees(("n1", "GPU-0", BOTH), ("n1", "GPU-1", BOTH))},
    "ranks share the only one": {"changed": sees(("n1", "GPU-0", BOTH[:1]), ("n1", "GPU-0", BOTH[:1]))},
    "ranks of two hosts": {"changed": sees(("n1", "GPU-0", BOTH[:1]), ("n2", "GPU-7", ("GPU-7",)))},
    "slices of one GPU": {"changed": sees(("n1", "MIG-0", ("MIG-0",)), ("n1", "MIG-1", ("MIG-1",)))},
    "GPUs that nobody told": {"changed": sees(("n1", "GPU-0", ()), ("n1", "GPU-1", ()))},
    **{
        f"more ranks of {vendor} than CPUs": {"lines": waited("ranks", 0.85, TURNS, vendor)}
        for vendor in ("openmpi", "mpich", "intel", "cray")
    },
    "a quota stops ranks": {"lines": waited("quota", 0.4, None, quota=6)},
    "a quota stops ranks that share CPUs": {"lines": waited("quota", 0.4, TURNS, quota=6)},
    **{
        f"five ranks on two CPUs may use {quota:g} CPUs' time": {
            "lines": waited("ranks", 0.8, f"5 ranks on n1 may use {quota:g} CPUs' time", quota=quota)
        }
        for quota in (0.5, 1.5, 2.0, 4.0)
    },
    **{
        f"a curve, {what}": {"lines": lines, "adapters": False}
        for what, lines in (
            ("as it should be", CURVE),
            ("of which one size stands out", f"{CURVE}\nhost 8K 5us"),
            ("of which two sizes do", f"{CURVE}\n{TWO_SLOW}"),
            ("of which two sizes do in one run, and none in the next", f"{CURVE}\n{TWO_SLOW}\nrun\n{CURVE}"),
            ("of which none did before", f"run\n{CURVE}\nrun\n{CURVE}\n{TWO_SLOW}"),
            ("of which two sizes do in both runs", f"{CURVE}\n{TWO_SLOW}\nrun\n{CURVE}\n{TWO_SLOW}"),
            ("of which two sizes may, by their intervals", f"{CURVE}\n{TWO_SLOW.replace('us', 'us±60%')}"),
            ("of which nobody knows the intervals", f"{CURVE}\n{TWO_SLOW} precision=null"),
        )
    },
    "a rank uses a NIC that is farther from its GPU": {"lines": over(on(0, NEAR), on(1, BEYOND))},
    "it was told to": {
        "lines": over(on(0, NEAR), on(1, BEYOND)),
        "variables": {"UCX_NET_DEVICES": "mlx5_1:1"},
    },
    "one of no GPU uses three that are farther from its CPUs": {
        "lines": over(
            on(0, NEAR | {"distance": "NODE"}),
            on(1, *(BEYOND | {"name": f"mlx5_{number}:1"} for number in (1, 2, 3))),
            cpus="0-7",
            ports=4,
        )
    },
    "both use the nearer one": {"lines": over(on(0, NEAR), on(1, NEAR))},
    "the nearer one is slower": {"lines": over(on(0, NEAR), on(1, BEYOND), rate=100e9)},
    "PCIe is made up": {"lines": over(on(0, NEAR), on(1, BEYOND)), "changed": {"virtual": True}},
    "PCIe is made up here, and the file is another machine's": {
        "lines": over(on(0, NEAR), on(1, BEYOND)),
        "changed": {"virtual": True, "foreign": True},
    },
    "all ranks of a host use one NIC": {"lines": over(*(on(n, NEAR, host=f"n{n // 2}") for n in range(4)))},
    "each uses another one": {
        "lines": over(*(on(n, (NEAR, BEYOND)[n % 2], host=f"n{n // 2}") for n in range(4)))
    },
    "the other one is slower": {"lines": over(*(on(n, NEAR, host=f"n{n // 2}") for n in range(4)), rate=1e9)},
    "ranks that hardly waited": {"lines": waited(None, 0.01, TURNS)},
    "others were in the way, which the figure says": {"lines": waited("others", 0.5, None)},
    "a quota that hardly stopped them": {"lines": waited("quota", 0.1, None)},
    **{
        f"{title}, with the context {context!r}": {"lines": lines.replace("CONTEXT", context)}
        for context in ("own", "primary")
        for title, lines in (
            ("an MPI that crashes on memory of OpenMP", ON_A_POINTER),
            ("an MPI that stages memory of OpenMP", OF_OPENMP.replace('"V"', '"staged"')),
            ("an MPI that takes memory of OpenMP", OF_OPENMP.replace('"V"', '"direct"')),
        )
    },
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


@pytest.mark.parametrize("size", [0, 64, 256, 0x104])
def test_registers_that_only_root_may_read(tmp_path: Path, size: int) -> None:
    root = fake_machine.tree(tmp_path)
    above = (root / "sys/bus/pci/devices" / GPUS[0]).resolve().parent
    (above / "config").write_bytes(bridge(0x1D)[:size])
    assert facts_of(root).gpus[0].redirects == ()


def test_the_trial_has_as_many_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects --try: two ranks on two CPUs would show no gain."""
    asked = []

    def measure(path: str, sizes: object, base: object, setting: Any, pattern: Any, **_: Any) -> job.Attempt:
        asked.append((path, dict(setting.variables), tuple(pattern)))
        return job.Attempt()

    monkeypatch.setattr(job, "measure", measure)
    (found,) = find_all(made(tmp_path, lines=waited("ranks", 0.85, TURNS)))
    assert found.trial
    trials.try_remedy(found, found.trial, job.Base())
    ring = ("ring", "--ranks", "5")
    assert asked == [("host", {}, ring), ("host", {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}, ring)]
