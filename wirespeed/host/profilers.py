"""Profilers that ranks are started under: what each is called, and how it is told where to write."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wirespeed.errors import ExitCode, WirespeedError

RANK = "%RANK%"
"""Stands for the rank's number in a command line."""


@dataclass(frozen=True)
class Profiler:
    """One profiler. Its programs are tried in turn: their arguments, up to those of the profiled program."""

    title: str
    programs: Mapping[str, tuple[str, ...]]

    def command(self, name: str, folder: Path, path: str) -> tuple[str, ...]:
        """The command line for each rank of a path. Raises WirespeedError where it is not installed."""
        for program, arguments in self.programs.items():
            if found := shutil.which(program):
                file = f"rank{RANK}-{path}"
                return found, *(
                    argument.replace("FOLDER", str(folder)).replace("FILE", file) for argument in arguments
                )
        programs = " or ".join(self.programs)
        raise WirespeedError(
            f"--profile {name}: there is no {programs} on PATH; install {self.title}, or add its folder "
            "to PATH",
            ExitCode.UNAVAILABLE,
        )


PROFILERS = {
    "nsys": Profiler(
        "NVIDIA Nsight Systems",
        {
            "nsys": (
                *("profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none"),
                *("--force-overwrite=true", "--output=FOLDER/FILE"),
            )
        },
    ),
    "rocprof": Profiler(
        "AMD ROCprofiler",
        {
            "rocprofv3": (
                *("--marker-trace", "--kernel-trace", "--memory-copy-trace", "--output-format", "pftrace"),
                *("--output-directory", "FOLDER", "--output-file", "FILE", "--"),
            ),
            "rocprof": ("--roctx-trace", "--hip-trace", "-o", "FOLDER/FILE.csv"),
        },
    ),
    "ncu": Profiler(
        "NVIDIA Nsight Compute",
        {"ncu": ("--nvtx", "--force-overwrite", "--export", "FOLDER/FILE")},
    ),
    "vtune": Profiler(
        "Intel VTune",
        {"vtune": ("-collect", "hotspots", "-quiet", "-result-dir", "FOLDER/FILE", "--")},
    ),
}
