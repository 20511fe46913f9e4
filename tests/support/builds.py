"""What tests compile, compiled once for all workers and for later sessions."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from support import mpis

_KEPT = 3
"""Folders of builds, the last ones used: sources change back, and sessions overlap."""


def compiler() -> str:
    """The C++ compiler; installing wirespeed has taken one."""
    return os.environ.get("CXX") or shutil.which("g++") or "c++"


def _sources(root: Path) -> Iterator[tuple[Path, bytes]]:
    """All that is compiled, and the Python files that say how, with their content."""
    for room in ("examples", "native", "tests", "wirespeed"):
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".c", ".cpp", ".h", ".hpp"):
                yield path, path.read_bytes()
            elif path.suffix == ".py" and room == "tests":
                content = path.read_bytes()
                if path.parent.name == "support" or b"support.builds" in content:
                    yield path, content


def builds_folder(root: Path) -> Path:
    """The folder of what is compiled; another one once a source, command, compiler or MPI has changed."""
    digest = hashlib.sha256()
    for path, content in _sources(root):
        digest.update(f"{path} {len(content)}\n".encode() + content)
    version = subprocess.run([compiler(), "--version"], capture_output=True, check=True).stdout
    digest.update(compiler().encode() + version)
    for found in map(mpis.find, mpis.NAMES):
        if isinstance(found, mpis.InstalledMpi):
            digest.update(f"{found.library} {found.library.stat().st_mtime_ns}\n".encode())
    folder = root / "build" / "tests" / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for old in sorted(folder.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def once(folder: Path, build: Callable[[Path], object]) -> Path:
    """The folder, filled by `build` unless it was before; another worker waits, and takes what is there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder.with_name(f"{folder.name}.done")
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            build(folder)
            done.touch()
    return folder


def program(builds: Path, name: str, *words: str | Path) -> Path:
    """A program of that name, compiled with these flags; sources together, which takes half as long."""

    def build(folder: Path) -> None:
        folder.mkdir()
        sources = [word for word in map(str, words) if word.endswith(".cpp")]
        together = folder / f"{name}.cpp"
        together.write_text("".join(f'#include "{source}"\n' for source in sources))
        others = [word for word in map(str, words) if word not in sources]
        command = [compiler(), "-std=c++20", str(together), *others, "-o", str(folder / name)]
        subprocess.run(command, check=True)

    return once(builds / f"program-{name}", build) / name
