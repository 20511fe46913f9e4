"""Command lines, variables and versions that stand around figures."""

from __future__ import annotations

import re

from wirespeed.foreign.found import MOST, Reader
from wirespeed.foreign.text import plain

ORDER = -1
_PREFIXES = (
    *(
        "UCX_",
        "NCCL_",
        "RCCL_",
        "OMPI_",
        "PMIX_",
        "PRTE_",
        "MPICH_",
        "MPIR_",
        "I_MPI_",
        "MV2_",
        "MVP_",
        "FI_",
    ),
    *(
        "CUDA_",
        "HIP_",
        "ROCR_",
        "HSA_",
        "GPU_DEVICE",
        "PSM2_",
        "PSM3_",
        "CXI_",
        "SLURM_",
        "NVSHMEM_",
        "PMPI_",
    ),
    *(
        "SHARP_",
        "HCOLL_",
        "IBV_",
        "MLX5_",
        "RDMAV_",
        "OMP_",
        "FLUX_",
        "PALS_",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
    ),
    *("CRAY_", "HCA_"),
)
_NAMES = frozenset(name if name.endswith("_") else f"{name.partition('_')[0]}_" for name in _PREFIXES)
_SETTING = re.compile(
    rf"(?<![\w$])((?:{'|'.join(_PREFIXES)})\w*)\s*(?:=|:=)\s*"
    r"(\"[^\"]*\"|'[^']*'|[^\s;,\"']*(?:,[^\s;\"']+)*)"
)
_HINT = re.compile(
    r"(?:NCCL|RCCL) (?:INFO|WARN)|UCX +(?:WARN|ERROR)"
    r"|\b(?:[Yy]ou (?:can|may|could)|[Tt]ry|[Cc]onsider|[Pp]lease)\b"
)
"""A line of a library, or advice: what it names is not set."""
_QUOTED = re.compile(r"`[^`]*(?:`|$)")
"""Code within a sentence, which tells of another run perhaps."""
LONGEST_COMMAND = 10
"""Lines of a command that goes on after a backslash."""
_MCA = re.compile(r"--?(?:g?mca|prtemca|pmixmca) +(\w+) +(\S+)")
_SET_BY = re.compile(r"NCCL INFO (\w+) set by (?:environment|user) to ['\"]?([^\s'\"]+?)\.?['\"]?$")
_PROGRAMS = (
    r"mpirun|mpiexec(?:\.\w+)?|srun|jsrun|flux|torchrun|prun|aprun|orterun|salloc|sbatch|numactl|taskset|ib_\w+|ucx_\w+|osu_\w+"
    r"|\w+_perf|nvbandwidth|IMB-\w+|p2pBandwidthLatencyTest|bandwidthTest|TransferBench|nixlbench|nvidia-smi|ibstat|fi_\w+"
    r"|ompi_info|docker|singularity|apptainer|kubectl"
)
_COMMAND = re.compile(
    r"\s*(?:(?:\[[\w.@~:/ -]{1,60}\]|[\w.@~:/-]*)[$#%>+]\s+)?(?:(?:export|env|time|sudo|exec)\s+)*"
    rf"(?:\w+=\S*\s+)*(?:\S*/)?(?:{_PROGRAMS})(?!\s+(?:[Vv]ersion|v\d))(?:\s+\S|$)"
)
_PROMPT = re.compile(r"\s*(?:[\w.@~:/()\[\] -]{0,60})\$\s+\S")
_OPTION = re.compile(
    r"(--(?:gpus(?:-per-\w+)?|gpu-bind|tres-bind|tres-per-task|gres|mpi|cpu-bind|use_cuda\w*|use_rocm\w*|ntasks(?:-per-\w+)?|nodes))"
    r"[= ](\S+)"
)
_VERSIONS = tuple(
    (mark, library, re.compile(pattern))
    for mark, library, pattern in (
        ("Open MPI", "Open MPI", r"\(Open MPI\) (\d[\w.]*)|Open MPI:? v?(\d[\w.]*)"),
        ("MPICH", "MPICH", r"MPICH Version:?\s+(\d[\w.]*)|\bMPICH (\d[\w.]*)"),
        (
            "Intel(R) MPI",
            "Intel MPI",
            r"Intel\(R\) MPI Library(?: for Linux\* OS)?,? (?:Version )?(\d[\w.]*)",
        ),
        ("MVAPICH", "MVAPICH", r"MVAPICH\S*\s+(?:Version:?\s+)?v?(\d[\w.]*)"),
        ("Library version", "UCX", r"Library version:\s*(\d+\.\d+[\w.]*)"),
        ("UCX", "UCX", r"UCX (?:version )?v?(\d+\.\d+[\w.]*)"),
        ("ucx", "UCX", r"ucx[/-](\d+\.\d+[\w.]*)"),
        ("CUDA", "CUDA", r"CUDA (?:Runtime |Driver )?[Vv]ersion:?\s+(\d[\d.]*)"),
        ("Cuda", "CUDA", r"Cuda compilation tools, release (\d[\d.]*)"),
        ("ROCm", "ROCm", r"ROCm (?:version:?\s+)?v?(\d[\d.]*)"),
        ("rocm", "ROCm", r"rocm-(\d[\d.]+)"),
        ("libfabric", "libfabric", r"libfabric(?: version)?:? v?(\d[\w.]*)"),
        ("OFI", "libfabric", r"OFI version:? v?(\d[\w.]*)"),
        ("Driver Version", "driver", r"(?<!CUDA )Driver Version:\s+(\d[\d.]*)"),
    )
)
"""Mark of a line, library, where its version stands."""


_DIGIT = re.compile(r"\d\.|\d{4}").search
"""Whether anything can be a version."""


class Surroundings(Reader):
    """Takes no line for itself but command lines and settings."""

    words = (
        *_NAMES,
        *(
            "$",
            "mpirun",
            "mpiexec",
            *("srun", "SBATCH"),
            "jsrun",
            "torchrun",
            "prun",
            "orterun",
            "salloc",
            "sbatch",
            "flux",
        ),
        *("mca", "gmca", "ib_", "ucx_", "osu_", "perf", "nvbandwidth", "IMB", "nixlbench", "TransferBench"),
        *("nvidia", "ibstat", "fi_", "numactl", "taskset", "docker", "singularity", "apptainer", "kubectl"),
        *("bandwidthTest", "BandwidthLatencyTest", "ompi_", "export"),
        *(
            "MPI",
            "MPICH",
            "MVAPICH",
            "UCX",
            "ucx",
            "CUDA",
            "Cuda",
            "ROCm",
            "rocm",
            "libfabric",
            "OFI",
            "Driver",
        ),
        "Library",
    )
    command_line = 0
    """Of the last command."""

    def take(self, text: str, line: int) -> bool:
        command = bool(_COMMAND.match(text) or _PROMPT.match(text) or text.startswith("#SBATCH "))
        if (
            not command
            and self.stream.own_command.endswith("\\")
            and line - self.command_line <= LONGEST_COMMAND
        ):
            self.stream.own_command = self.found.command = f"{self.stream.own_command[:-1]}{text.strip()}"
        settings = 0
        named = "=" in text and not _NAMES.isdisjoint(self.stream.hits)
        if not command and "`" in text:
            text = _QUOTED.sub("", text)
        if named and (command or not _HINT.search(text)):
            for found in _SETTING.finditer(text):
                self.found.setting(found[1], found[2].strip("\"'"))
                settings += 1
        if "mca " in text:
            for found in _MCA.finditer(text):
                self.found.setting(f"OMPI_MCA_{found[1]}", found[2].strip("\"'"))
                settings += 1
        if "set by" in text and (one := _SET_BY.search(text)):
            self.found.setting(one[1], one[2])
            settings += 1
        if command:
            self.stream.own_command = self.found.command = text.strip()
            self.command_line = line
            for reader in self.stream.readers:
                reader.close()
            if len(self.found.commands) < MOST:
                self.found.commands.append((line, text.strip()))
            for option in _OPTION.finditer(text):
                self.found.setting(option[1], option[2])
        for mark, library, pattern in _VERSIONS if _DIGIT(text) else ():
            if mark in text and (version := pattern.search(text)):
                self.found.version(library, plain(next(filter(None, version.groups())).rstrip(".")))
        return command or settings > 0


READER = Surroundings
