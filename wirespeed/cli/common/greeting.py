"""`wirespeed` alone: what this machine has, and which commands answer what, without opening a device."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from wirespeed._version import __version__
from wirespeed.cli.common import called
from wirespeed.grouping import grouped
from wirespeed.host import mpi
from wirespeed.host.process import host_name
from wirespeed.report.facts.machine import cpu_line
from wirespeed.results import environment
from wirespeed.systems.recognition import look

NO_GPU = (
    ("survey", "how fast are the CPUs' memory and MPI here?"),
    ("pingpong --device emulated", "what would the paths between GPUs be? (on emulated ones)"),
    ("doctor", "what is wrong here, and what to set?"),
)
ONE_GPU = (
    ("survey", "how fast are this GPU, its memory and its wires?"),
    ("copy", "what do copies between host and GPU reach, at each size?"),
    ("doctor", "what is wrong here, and what to set?"),
)
GPUS = (
    ("survey", "how fast are these GPUs, and is MPI GPU-aware?"),
    ("pairs", "which link between two GPUs is slow?"),
    ("doctor", "what is wrong here, and what to set?"),
)


def greeting() -> str:
    """Machine, three commands, and where the rest is."""
    with ThreadPoolExecutor(1) as pool:
        mpis = pool.submit(mpi.all_mpis)
        gpus = _gpus()
        cpu = cpu_line(environment.cpu())
        found = [one.title for one in mpis.result()]
    parts = [f"{len(alike)} x {name}" for name, alike in grouped((gpu, gpu) for gpu in gpus).items()]
    parts = parts or ["no GPU"]
    parts += [", ".join(found) or "no MPI"]
    commands = NO_GPU if not gpus else ONE_GPU if len(gpus) == 1 else GPUS
    width = max(len(words) for words, _ in commands)
    lines = [f"wirespeed {__version__} on {host_name()}", f"  {cpu}", *(f"  {part}" for part in parts), ""]
    lines += [f"  {called.wirespeed()} {words:<{width}}  {why}" for words, why in commands]
    return "\n".join([*lines, "", f"All that it answers: {called.wirespeed()} --help"])


def _gpus() -> list[str]:
    """Names of the GPUs, by the files of their drivers; of a container that hides them, the device files."""
    named = [*look().devices]
    named = named or ["NVIDIA GPU" for file in Path("/dev").glob("nvidia*") if file.name[6:].isdecimal()]
    nodes = Path("/sys/class/kfd/kfd/topology/nodes").glob("*/properties")
    return named + ["AMD GPU" for node in nodes if re.search(r"^simd_count [1-9]", _text(node), re.MULTILINE)]


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(errors="replace")
    return ""
