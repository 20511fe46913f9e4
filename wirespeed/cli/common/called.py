"""Commands as somebody may copy them: with the wirespeed and the mpiexec that ran, wherever they are."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def wirespeed() -> str:
    """What starts this wirespeed again: 'wirespeed', '.venv/bin/wirespeed', 'python3 -m wirespeed'."""
    script = Path(sys.argv[0])
    if script.name == "__main__.py":
        return f"{named(Path(sys.executable))} -m wirespeed"
    return named(script)


def named(program: Path) -> str:
    """A program as a shell finds it: by its name if PATH leads to it, else by its path from here."""
    found = shutil.which(program.name)
    if found and Path(found).resolve() == program.resolve():
        return program.name
    path = os.path.relpath(program) if program.absolute().is_relative_to(Path.cwd()) else str(program)
    return shlex.quote(path if os.sep in path else f"./{path}")
