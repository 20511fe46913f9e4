"""Processes of one host that cannot share memory well: /dev/shm, CMA, containers."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import HostMemory, MachineFacts
from wirespeed.doctor.finding import Cost, Finding

SMALL_SHM = 1 << 30
"""NCCL's advice for containers is 1 GiB: its Troubleshooting page, 'Shared memory'."""
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"


def find(facts: MachineFacts) -> Iterator[Finding]:
    """Each obstacle by itself."""
    memory = facts.memory
    yield from _shm(memory)
    yield from _cma(memory)
    if memory.container and memory.own_ipc:
        yield Finding(
            "ipc-namespace",
            "This container has an IPC namespace of its own: ranks in other containers of this host share "
            "no memory with it",
            Cost.SMALL,
            (f"container: {memory.container}; its IPC namespace is not the host's",),
            ("docker run --ipc=host ...  # only if a job's ranks run in several containers of one host",),
            source="ipc_namespaces(7)",
        )


def _shm(memory: HostMemory) -> Iterator[Finding]:
    if memory.shm_bytes is None or not memory.shm_writable:
        why = "it does not exist" if memory.shm_bytes is None else "this user may not write there"
        yield Finding(
            "shm-missing",
            "/dev/shm cannot be used: ranks of one host have no shared memory",
            Cost.BREAKS,
            (f"/dev/shm: {why}",),
            ("sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm",),
            source=_NCCL,
        )
        return
    full, free = memory.shm_bytes >= SMALL_SHM, memory.shm_free or 0
    if full and free >= SMALL_SHM // 4:
        return
    enlarge = "sudo mount -o remount,size=50% /dev/shm"
    if memory.container:
        enlarge = "docker run --shm-size=4g ...  # or --ipc=host; Kubernetes: an emptyDir of medium Memory"
    where = f" in this container ({memory.container})" if memory.container else ""
    yield Finding(
        "shm-full" if full else "shm-small",
        f"/dev/shm is {'nearly full' if full else 'small'}{where}: MPI and NCCL may fail or fall back",
        Cost.SOME,
        (f"/dev/shm: {memory.shm_bytes >> 20} MiB, {free >> 20} MiB of it free",),
        ("ls -lS /dev/shm  # killed jobs leave files behind",) if full else (enlarge,),
        source=_NCCL,
    )


def _cma(memory: HostMemory) -> Iterator[Finding]:
    """Without copies between processes (CMA), MPI copies large host messages twice."""
    if memory.cma in ("", "works"):
        return
    asks = memory.cma == "after asking"
    title = "Processes may not read each other's memory: MPI copies host data twice"
    evidence = [f"process_vm_readv: {memory.cma}"]
    if asks:
        title = "Processes may read each other's memory only when asked: some MPIs then copy host data twice"
        evidence = ["process_vm_readv works only once the other process has allowed it (PR_SET_PTRACER)"]
    if memory.ptrace_scope is not None:
        evidence.append(f"kernel.yama.ptrace_scope = {memory.ptrace_scope}")
    if not memory.may_trace:
        evidence.append("this process has no CAP_SYS_PTRACE")
    remedy = ["docker run --cap-add=SYS_PTRACE ...  # or --security-opt seccomp=unconfined"]
    remedy = remedy if memory.container else []
    remedy += ["sudo sysctl kernel.yama.ptrace_scope=0"] if memory.ptrace_scope else []
    yield Finding(
        "cma",
        title,
        Cost.SMALL if asks else Cost.SOME,
        tuple(evidence),
        tuple(remedy) or ("docker run --cap-add=SYS_PTRACE ...",),
        source="https://github.com/openucx/ucx/issues/3046; https://github.com/open-mpi/ompi/issues/4948",
    )
