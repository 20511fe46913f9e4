"""Processes of one host that cannot share memory well: /dev/shm, CMA, containers."""

from __future__ import annotations

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Cost, Finding

SMALL_SHM = 1 << 30
"""NCCL's own advice for containers is 1 GiB: its Troubleshooting page, 'Shared memory'."""
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"


def find(facts: Facts) -> list[Finding]:
    """Each obstacle by itself."""
    return [*_shm(facts), *_cma(facts), *_namespace(facts)]


def _shm(facts: Facts) -> list[Finding]:
    memory = facts.memory
    enlarge = (
        "docker run --shm-size=4g ...  # or --ipc=host; Kubernetes: an emptyDir of medium Memory"
        if memory.container
        else "sudo mount -o remount,size=50% /dev/shm"
    )
    if memory.shm_bytes is None or not memory.shm_writable:
        why = "there is none" if memory.shm_bytes is None else "this user may not write there"
        return [
            Finding(
                "shm-missing",
                "/dev/shm cannot be used: ranks of one host have no shared memory",
                Cost.BREAKS,
                (f"/dev/shm: {why}",),
                ("sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm",),
                source=_NCCL,
            )
        ]
    if memory.shm_bytes >= SMALL_SHM and (memory.shm_free or 0) >= SMALL_SHM // 4:
        return []
    size, free = memory.shm_bytes >> 20, (memory.shm_free or 0) >> 20
    where = f" in this container ({memory.container})" if memory.container else ""
    full = memory.shm_bytes >= SMALL_SHM
    return [
        Finding(
            "shm-full" if full else "shm-small",
            f"/dev/shm is {'nearly full' if full else 'small'}{where}: MPI and NCCL may fail or fall back",
            Cost.SOME,
            (f"/dev/shm: {size} MiB, {free} MiB of it free",),
            ("ls -lS /dev/shm  # killed jobs leave files behind",) if full else (enlarge,),
            source=_NCCL,
        )
    ]


def _cma(facts: Facts) -> list[Finding]:
    """Copies between processes (CMA) halve what MPI copies for large host messages."""
    memory = facts.memory
    if memory.cma in ("", "works"):
        return []
    asks = memory.cma == "after asking"
    evidence = [
        "process_vm_readv works only once the other process has allowed it (PR_SET_PTRACER)"
        if asks
        else f"process_vm_readv: {memory.cma}"
    ]
    if memory.ptrace_scope is not None:
        evidence.append(f"kernel.yama.ptrace_scope = {memory.ptrace_scope}")
    if not memory.may_trace:
        evidence.append("this process has no CAP_SYS_PTRACE")
    remedy = []
    if memory.container:
        remedy.append("docker run --cap-add=SYS_PTRACE ...  # or --security-opt seccomp=unconfined")
    if memory.ptrace_scope:
        remedy.append("sudo sysctl kernel.yama.ptrace_scope=0")
    remedy = remedy or ["docker run --cap-add=SYS_PTRACE ..."]
    return [
        Finding(
            "cma",
            "Processes may read each other's memory only when asked: some MPIs then copy host data twice"
            if asks
            else "Processes may not read each other's memory: MPI copies host data twice",
            Cost.SMALL if asks else Cost.SOME,
            tuple(evidence),
            tuple(remedy),
            source="https://github.com/openucx/ucx/issues/3046; https://github.com/open-mpi/ompi/issues/4948",
        )
    ]


def _namespace(facts: Facts) -> list[Finding]:
    memory = facts.memory
    if not (memory.container and memory.own_ipc):
        return []
    return [
        Finding(
            "ipc-namespace",
            "This container has an IPC namespace of its own: ranks in other containers of this host share "
            "no memory with it",
            Cost.SMALL,
            (f"container: {memory.container}; its IPC namespace is not the host's",),
            ("docker run --ipc=host ...  # only if a job's ranks run in several containers of one host",),
            source="ipc_namespaces(7)",
        )
    ]
