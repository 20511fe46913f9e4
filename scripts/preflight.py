"""Can this machine build wirespeed? Tried out, not guessed; one line says what to install.

Written for any Python from 3.6 on, so that it is able to say that a newer one is needed.
"""

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import List, Optional, Tuple

OLDEST_PYTHON = (3, 10)
ROOT = Path(__file__).resolve().parent.parent
COMPILERS = ("c++", "g++", "clang++", "g++-14", "g++-13", "g++-12", "g++-11")
# The options that CMakeLists.txt builds the core with.
OPTIONS = ["-std=c++20", "-shared", "-fPIC", "-pthread", "-static-libstdc++", "-static-libgcc"]
PROGRAM = """
#include <atomic>
#include <span>
extern "C" int preflight(int* values, unsigned count) {
    int sum = 0;
    for (const int value : std::span<int>(values, count)) sum += value;
    std::atomic_ref<int>(values[0]).store(sum);
    return sum;
}
"""


class Missing:
    """One thing that is not there: in words, and as a package's name where there is one."""

    def __init__(self, words: str, package: str = "") -> None:
        self.words = words
        self.package = package


def succeeds(command: List[str]) -> bool:
    try:
        return subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def python_problem() -> str:
    """Why this Python is too old, and which one to use instead; empty if it will do."""
    if sys.version_info >= OLDEST_PYTHON:
        return ""
    newer = [name for name in (f"python3.{minor}" for minor in range(20, 9, -1)) if shutil.which(name)]
    remedy = f"use make PYTHON={newer[0]}" if newer else "install one and name it: make PYTHON=python3.12"
    return f"Python 3.10 or newer is needed, and {sys.executable} is {sys.version.split()[0]}: {remedy}"


def pip_wheel() -> Optional[Path]:
    """The wheel of pip that ensurepip installs; None where ensurepip is missing or keeps it elsewhere."""
    try:
        import ensurepip
    except ImportError:
        return None
    folders = [Path(ensurepip.__file__).parent / "_bundled", sysconfig.get_config_var("WHEEL_PKG_DIR")]
    wheels = [wheel for folder in folders if folder for wheel in sorted(Path(folder).glob("pip-*.whl"))]
    return wheels[0] if wheels else None


def venv_problem(folder: Path) -> List[Missing]:
    """Makes a virtual environment in `folder`, with a pip that gives a sign of life unless it is unpacked."""
    trial = folder / "venv"
    venv = [sys.executable, "-m", "venv"]
    pip = [str(trial / "bin" / "python"), "-m", "pip", "--version"]
    if succeeds([*venv, "--without-pip", str(trial)]) and pip_wheel():
        return []
    if succeeds([*venv, "--clear", str(trial)]) and succeeds(pip):
        return []
    default = Path("/usr/bin/python3").resolve() == Path(sys.executable).resolve()
    package = "python3-venv" if default else f"python3.{sys.version_info[1]}-venv"
    return [Missing(f"Python's venv and ensurepip ({sys.executable} lacks them)", package)]


def builds(compiler: str, folder: Path) -> bool:
    """Does it compile and link C++20, and does the result run here?"""
    source, library = folder / "preflight.cpp", folder / "preflight.so"
    source.write_text(PROGRAM)
    if not succeeds([*shlex.split(compiler), *OPTIONS, str(source), "-o", str(library)]):
        return False
    values = (ctypes.c_int * 3)(1, 2, 4)
    try:
        return bool(ctypes.CDLL(str(library)).preflight(values, 3) == 7 == values[0])
    except (OSError, AttributeError):
        return False


def find_compiler(folder: Path) -> str:
    """The compiler that CXX names, else the first one known here that works; empty if there is none."""
    named = os.environ.get("CXX")
    for compiler in [named] if named else COMPILERS:
        if builds(compiler, folder):
            return compiler
    return ""


def compiler_problem(compiler: str) -> List[Missing]:
    if compiler:
        return []
    named = os.environ.get("CXX")
    if named:
        return [Missing(f"a C++20 compiler (CXX={named} is none that works)")]
    return [Missing("a C++20 compiler (g++ 11 or newer)", "g++")]


def make_problem() -> List[Missing]:
    return [] if shutil.which("make") else [Missing("make", "make")]


def advice(missing: List[Missing]) -> str:
    """One line: what is missing and the command that brings it."""
    line = "wirespeed needs " + " and ".join(thing.words for thing in missing)
    packages = [thing.package for thing in missing if thing.package]
    if not packages:
        return line
    installer = "apt"
    if shutil.which("dnf"):
        installer, packages = "dnf", ["python3.12", "make", "gcc-c++", "libstdc++-static"]
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{line}; to install: {sudo}{installer} install {' '.join(packages)}"


def check(with_venv: bool = True) -> Tuple[str, str]:
    """(the compiler to use, the line that says what is missing); one of the two is empty."""
    problem = python_problem()
    if problem:
        return "", problem
    try:
        folder = Path(tempfile.mkdtemp(prefix=".preflight-", dir=str(ROOT)))
    except OSError as error:
        return "", f"cannot write in {ROOT} ({error.strerror}): copy the project to a folder of your own"
    try:
        missing = venv_problem(folder) if with_venv else []
        compiler = find_compiler(folder)
        missing += compiler_problem(compiler) + make_problem()
    finally:
        shutil.rmtree(str(folder), ignore_errors=True)
    return ("", advice(missing)) if missing else (compiler, "")


def main(arguments: List[str]) -> int:
    """Exit code 0: ready; 1: something is missing. --python looks at Python's version alone."""
    compiler, problem = ("", python_problem()) if arguments == ["--python"] else check()
    if problem:
        sys.stderr.write(problem + "\n")
        return 1
    if compiler:
        sys.stdout.write(f"ready: Python {sys.version.split()[0]}, {compiler}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
