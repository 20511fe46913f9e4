"""What the benchmarks have in common: their command lines, and starting wirespeed and other programs."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import wirespeed
from wirespeed.results.model import Entry

COMMAND = str(Path(sys.prefix, "bin", "wirespeed"))


def parser(about: str | None, **options: Any) -> argparse.ArgumentParser:
    """A command line with an option for each of `options`: its name and its default, whose type it takes.

    A list as default takes all that follows `--`: options of wirespeed.
    """
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in options.items():
        if isinstance(default, list):
            made.add_argument(name, nargs="*")
        else:
            made.add_argument(f"--{name}", default=default, type=str if default is None else type(default))
    return made


def said(command: Sequence[object], **how: Any) -> str:
    """What the command printed; where it fails, the end, with what it said of that."""
    words = [str(word) for word in command]
    done: subprocess.CompletedProcess[str] = subprocess.run(words, capture_output=True, text=True, **how)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def measured(folder: str | Path, *words: object) -> list[Entry]:
    """The entries of one launch of wirespeed, new processes each time."""
    file = Path(folder, "result.jsonl")
    file.unlink(missing_ok=True)
    said([COMMAND, *words, "--out", file])
    return wirespeed.load(file).entries


def compiled(source: str, target: Path, prefix: Path, library: Path, *flags: str) -> Path:
    """A C program of this folder, linked against the MPI in `prefix`."""
    folders = (prefix / "include", *Path("/usr/lib").glob("*/openmpi/include"))
    includes = [f"-I{folder}" for folder in folders if folder.exists()]
    code = Path(__file__).with_name(source)
    said(["cc", "-O3", *includes, code, "-o", target, library, *flags])
    return target


def in_turn(pairs: int, ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[list[Any], list[Any]]:
    """What both returned, `pairs` times each, first the one and first the other in turn."""
    found: tuple[list[Any], list[Any]] = [], []
    for pair in range(pairs):
        for turn in (pair % 2, 1 - pair % 2):
            found[turn].append((ours, theirs)[turn]())
    return found


def ratios(ours: list[float], theirs: list[float]) -> list[float]:
    return [one / other for one, other in zip(ours, theirs, strict=True)]
