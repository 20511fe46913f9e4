"""Runs a case as a process of its own, with real ranks where it measures, and sees what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import click
from fuzz import cases, hostile, in_process
from support import leftovers
from support.command import PATIENCE, WIRESPEED

MARK = "FUZZED_BY"
QUICK = {
    "sizes": "8",
    "loops": "3",
    "warmup": "1",
    "paths": "host",
    "between": "0,0",
    "ranks": "2",
    "timeout": "30",
    "count": "1",
    "every": "0",
    "launcher": "auto",
}
"""Given once more at the end, where the command has them: what is measured is small, and here."""
UNWANTED = ("--with", "--hosts", "--help", "-h", "--try", "--test")
"""They start other jobs, or ranks elsewhere."""
TRAPS = ("click.py", "rich.py", "numpy.py", "mpi4py.py", "sitecustomize.py", "json.py")
"""Modules in the case's folder, which must not be imported from there."""


def make(seed: str) -> cases.Case:
    """A case that ends soon: half of them measure."""
    case, rng = cases.make(seed), Random(f"{seed} as a process")
    words = [word for word in case.words if not word.startswith(UNWANTED)]
    command = cases.commands().get(words[0] if words else "")
    if command is None or rng.random() < 0.4:
        words = ["pingpong", *words[1:]] if rng.random() < 0.5 else ["pingpong", *hostile.some(rng, _GOOD, 3)]
        command = cases.commands()["pingpong"]
    name = words[0]
    if name == "doctor":
        words.append("--look-only")
    elif name != "script":
        known = {one.name for one in command.params if isinstance(one, click.Option)}
        for key, value in QUICK.items():
            if key in known:
                words += [f"--{key}", "h2h" if (name, key) == ("copy", "paths") else value]
        if "paths" in known:
            words += ["--device", rng.choice(("cpu", "emulated"))]
    variables = {name: value for name, value in case.environment.items() if name != "XDG_CACHE_HOME"}
    if "RANK" in variables:
        # Nobody else comes.
        variables["WIRESPEED_RENDEZVOUS_TIMEOUT"] = "1"
    files = case.files | {trap: f"open('{hostile.CANARY}', 'w')".encode() for trap in TRAPS}
    return cases.Case(seed, words, variables, files)


_GOOD = ("--no-evidence", "--debug", "--out=new.jsonl", "--format=json", "--precision=50%")


def run_case(case: cases.Case, folder: Path) -> in_process.Noted:
    """Runs it in the folder; `started` is what still runs when it has ended."""
    in_process.lay_out(case, folder)
    variables = {**os.environ, **case.environment, MARK: case.seed}
    process = subprocess.Popen(
        [str(WIRESPEED), *case.words],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    left = orphans(case.seed)
    return in_process.Noted(process.returncode, _text(out), _text(err), [], left)


def _text(printed: bytes) -> str:
    return printed.decode("utf-8", "replace")


def orphans(seed: str) -> list[str]:
    """Processes of the case that do not end by themselves."""
    began = time.monotonic()
    while found := _running(f"{MARK}={seed}".encode()):
        if time.monotonic() - began > leftovers.PATIENCE:
            return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in found]
        time.sleep(0.05)
    return []


def _running(mark: bytes) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found
