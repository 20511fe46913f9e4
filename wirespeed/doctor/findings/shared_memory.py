"""Processes of one host that cannot share memory well: /dev/shm, its leftovers, CMA, containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import structs

from wirespeed.doctor.facts.model import HostMemory, MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.shell import quoted
from wirespeed.grouping import grouped
from wirespeed.host.process import span
from wirespeed.host.variables import switches_of
from wirespeed.results.parts import LoadedMpi, Rank
from wirespeed.units import format_memory, format_size

NCCL_SHM = 1 << 30
"""NCCL's advice for containers is 1 GiB: its Troubleshooting page, 'Shared memory'."""
MAX_NAMED = 6
NAMESPACES = {
    "pid": (
        "a PID namespace",
        "no IPC handles of GPUs, no copies between processes",
        "docker run --pid=host ...  # or --pid=container:NAME",
    ),
    "user": ("a user namespace", "no copies between processes (CMA)", "docker run --userns=host ..."),
    "ipc": (
        "an IPC namespace",
        "no IPC handles of GPUs",
        "docker run --ipc=host ...  # or --ipc=container:NAME",
    ),
    "shm": ("/dev/shm", "no shared memory", "docker run --ipc=host ...  # or --ipc=container:NAME"),
}
"""Kinds of results/parts.py's Rank.apart: a name, what lacks without it, what shares it."""
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"


def find(facts: MachineFacts) -> Iterator[Finding]:
    """Each obstacle by itself."""
    memory = facts.memory
    yield from _shm(facts, memory)
    yield from _left(memory)
    yield from _unused(facts)
    yield from _apart(facts)
    yield from _cma(_as_ranks_found(facts))


def _needs(facts: MachineFacts) -> dict[str, int]:
    """Bytes of /dev/shm that a job on all of this host takes, by what takes it, in words."""
    needs = {}
    mpi = facts.chosen
    if mpi and (each := switches_of(mpi.vendor).get("shm")):
        ranks = max(2, min(facts.cpu.cores or len(facts.limits.cpus), len(facts.limits.cpus) or 2))
        needs[f"{mpi.title} takes {each / 2**20:.3g} MiB a rank, for {ranks} ranks"] = each * ranks
    if len([gpu for gpu in facts.real_gpus if gpu.kind == "cuda"]) > 1:
        needs["NCCL's advice for several GPUs is"] = NCCL_SHM
    return needs


def _shm(facts: MachineFacts, memory: HostMemory) -> Iterator[Finding]:
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
    free, needs = memory.shm_free or 0, _needs(facts)
    lacking = {what: need for what, need in needs.items() if free < (need // 4 if need == NCCL_SHM else need)}
    small = {what: need for what, need in needs.items() if memory.shm_bytes < need}
    if not lacking and not small:
        return
    full = not small
    enlarge = "sudo mount -o remount,size=50% /dev/shm"
    if memory.container:
        enlarge = "docker run --shm-size=4g ...  # or --ipc=host; Kubernetes: an emptyDir of medium Memory"
    where = f" in this container ({memory.container})" if memory.container else ""
    yield Finding(
        "shm-full" if full else "shm-small",
        f"/dev/shm is {'nearly full' if full else 'small'}{where}: MPI and NCCL may fail or fall back",
        Cost.SOME,
        (
            f"/dev/shm: {format_memory(memory.shm_bytes)}, {format_memory(free)} of it free",
            *(f"{what} {format_memory(need)}" for what, need in (small or lacking).items()),
            *_others(memory),
        ),
        (f"{_fuser(memory.others)}  # killed jobs leave files behind",) if full else (enlarge,),
        source=f"{_NCCL}; measured sizes: wirespeed/host/variables.toml (shm)",
    )


def _others(memory: HostMemory) -> Iterator[str]:
    """'files that no process uses: model.bin 205 MiB', the largest first."""
    largest = sorted(memory.others, key=lambda name: -memory.others[name])[:MAX_NAMED]
    if largest:
        named = ", ".join(f"{name} {format_memory(memory.others[name])}" for name in largest)
        yield f"files that no process uses: {named}"


def _fuser(others: Mapping[str, int]) -> str:
    """The command that shows who uses these files, or which files there are."""
    largest = sorted(others, key=lambda name: -others[name])[:MAX_NAMED]
    files = " ".join(quoted(f"/dev/shm/{name}") for name in largest)
    return f"fuser -v {files}" if files else "ls -lS /dev/shm"


def _left(memory: HostMemory) -> Iterator[Finding]:
    """What dead processes left behind; nothing is removed unasked."""
    if not (names := sorted(memory.left, key=lambda name: -memory.left[name])):
        return
    total, taken = sum(memory.left.values()), memory.left_bytes
    near = memory.shm_free is not None and max(total, taken) > memory.shm_free
    free = format_memory(memory.shm_free or 0)
    shown = [quoted(f"/dev/shm/{name}") for name in names[:MAX_NAMED]]
    more = f"  # ... {len(names)} in all" if len(names) > MAX_NAMED else ""
    yield Finding(
        "shm-left",
        f"Dead processes left {len(names)} file{'s' * (len(names) > 1)} in /dev/shm: {format_memory(total)}",
        Cost.SOME if near else Cost.SMALL,
        (
            f"segments of MPI libraries that no process uses: {', '.join(names[:MAX_NAMED])}"
            + (f", ... {len(names)} in all" if len(names) > MAX_NAMED else ""),
            f"they take {format_memory(taken)} of memory; /dev/shm has {free} free",
        ),
        (f"fuser -v {' '.join(shown)}  # nobody uses them?", f"rm -- {' '.join(shown)}{more}"),
        source="/proc/PID/maps and /proc/PID/fd of every process that this user sees",
    )


def _unused(facts: MachineFacts) -> Iterator[Finding]:
    """An MPI whose bytes between ranks of one host went by TCP, as the counters of its interfaces say."""
    for run in reversed(facts.runs):
        proofs = run.evidence_of("host")
        if not run.of_path("host") or not proofs:
            continue
        largest = proofs[-1]
        if largest.verdict == "loopback":
            mpi = run.step("host").mpi or LoadedMpi()
            name = f"{switches_of(mpi.vendor).get('name', 'MPI')} {mpi.version}".strip()
            free = facts.memory.shm_free
            room = (
                f"; /dev/shm has {format_memory(free)} free" if free is not None and not facts.foreign else ""
            )
            yield Finding(
                "shm-unused",
                f"{name} sends by loopback TCP what shared memory could carry",
                Cost.HIGH,
                (f"{facts.file}: host at {format_size(largest.bytes)} went {largest.text}{room}",),
                (
                    "df -h /dev/shm  # Open MPI goes by TCP where it finds too little room: enlarge it",
                    "env | grep -e OMPI_MCA_btl -e UCX_TLS -e I_MPI_FABRICS  # or is it switched off?",
                ),
                source="counters of the loopback interface; Open MPI's btl_sm looks for room at its start",
            )
        return


def _ranks(facts: MachineFacts) -> list[Rank]:
    """Ranks of this host in the latest job step, the trial's or the result file's."""
    for run in filter(None, (facts.trial, *reversed(facts.runs))):
        if run.steps and run.steps[-1].ranks:
            return [rank for rank in run.steps[-1].ranks if facts.foreign or rank.host == facts.host]
    return []


def _apart(facts: MachineFacts) -> Iterator[Finding]:
    """Ranks of one host in namespaces of their own."""
    apart = ((kind, rank.rank) for rank in _ranks(facts) for kind in rank.apart)
    if known := grouped(pair for pair in apart if pair[0] in NAMESPACES):
        names = [NAMESPACES[kind][0] for kind in known]
        yield Finding(
            "namespaces",
            f"Ranks of one host do not share {' and '.join(names)}: {NAMESPACES[next(iter(known))][1]}",
            Cost.HIGH,
            tuple(
                f"rank {span(ranks)}: {NAMESPACES[kind][0]} other than the first one's of its host"
                for kind, ranks in known.items()
            ),
            tuple(dict.fromkeys(NAMESPACES[kind][2] for kind in known)),
            source="namespaces(7); https://docs.docker.com/engine/containers/run/: --pid, --ipc, --userns",
        )


def _as_ranks_found(facts: MachineFacts) -> HostMemory:
    """What ranks found between each other counts more than what this process found of its own child."""
    refused = [rank.copies for rank in _ranks(facts) if rank.copies not in (None, "works")]
    if refused and facts.memory.cma in ("", "works"):
        return structs.replace(facts.memory, cma=f"{refused[0]} (between two ranks)")
    return facts.memory


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
