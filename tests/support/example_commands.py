"""Command lines of README, of docs and under "Next": made short, with the files that they name, and run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from support import measured
from support.command import PATIENCE, Done, wirespeed
from support.documented_commands import ROOT, launched
from support.mpis import InstalledMpi

NEEDS = {
    r"--hosts|fleet run": "several hosts",
    r"cuda:": "NVIDIA's GPUs",
    r"--(device|allocator) open(mp|acc)": "OpenMP's or OpenACC's runtime for GPUs",
    r"--mpi /opt": "an MPI in /opt",
    r"gasnet": "GASNet",
    r"--profile nsys": "Nsight Systems",
    r"--between 0,32": "33 CPUs",
    r"ranks-per-gpu 4|--ranks 8|20480": "a larger machine",
    r"systems FILE": "equations of one's own",
    r"91c0": "MIG",
    r"--paths aware( |$)": "a GPU-aware MPI",
    r"--since": "the measurements of four weeks",
    r"--after-hang": "the file of a hang",
    r"^custom$": "a file of transfers",
    r"^explain -$": "a pipe",
    r"/var/lib": "a folder of Prometheus",
}
"""What the machine of the tests lacks, by a part of the command line."""
SHORTER = {
    r"--(soak) \S+": r"--\1 0.3s",
    r"--every \d+m": "--every 0",
    r"--for \S+": "--for 1s",
    r"--count \d+": "--count 2",
    r"--system NAME": "--system summit",
    r"help COMMAND": "help pingpong",
    r"show FILES": "show FILE.jsonl",
    r"--steps 5000|--size 512x192": "",
    r"(--sizes) (8:1G|8:1M|8,1G)": r"\1 8,64K",
    r"(--total) 128M": r"\1 1M",
}
"""What would take long."""
MEASURE = (
    *("allgather", "allreduce", "blocks", "copy", "custom", "exchange", "groups", "halo", "jacobi", "lbm"),
    *("offload", "pairing", "pairs", "pingpong", "ring", "rma", "stream"),
)
SIZES = {"jacobi": ("--size", "64x32", "--steps", "8"), "lbm": ("--size", "64x32", "--steps", "8")}
OF_GPUS = ("copy", "offload", "load", "--paths", "--allocator", "--ranks-per-gpu")
WITHOUT_SIZES = ("blocks", "custom", "offload")
VERDICTS = (0, 6, 8)
"""Exit codes of a command that judges."""
OWN = ("before", "before-1", "after", "results", "hung", "wirespeed-20260101-120000", "wirespeed-1", "FILE")
LOGS = ("log", "osu", "p2p", "job", "old", "new", "osu-before", "osu-after")
FOLDERS = ("before", "after", "good", "results", "DIR")
FROM = ROOT / "results/h200-x2-paths.jsonl.gz"
OSU = ROOT / "tests/support/foreign_inputs/05-osu_bw-cuda-D-D-ucx115-ndr200.txt"


def missing(line: str) -> str:
    return next((f"it needs {what}" for part, what in NEEDS.items() if re.search(part, line)), "")


def prepare(folder: Path) -> None:
    """Files and folders that command lines name."""
    content = "".join(f"{line}\n" for line in measured.lines(FROM))
    for name in FOLDERS:
        (folder / name).mkdir()
        for number in range(5):
            text = re.sub('"run":"[0-9a-f]+"', f'"run":"{number:012x}"', content)
            (folder / name / f"{number}.jsonl").write_text(text)
    for name in OWN:
        (folder / f"{name}.jsonl").write_text(content)
    shutil.copy(ROOT / "results/h200-x2-lbm.jsonl", folder / "lbm.jsonl")
    for name in LOGS:
        shutil.copy(OSU, folder / f"{name}.txt")
    shutil.copytree(ROOT / "results/allocators", folder / "results/allocators")
    for file in (ROOT / "results").glob("h200-x2-*.jsonl*"):
        shutil.copy(file, folder / "results")
    (folder / "site.toml").write_text(
        '[[require]]\npattern = "pingpong"\npath = "host"\nsizes = {8 = "at most 1 s"}\n'
    )
    (folder / "topology.conf").write_text("SwitchName=s1 Nodes=n[1-16]\n")
    (folder / "mine.csv").write_text("step,from,to,bytes\n0,0,1,4K\n")
    (folder / ".venv").symlink_to(sys.prefix)


def expanded(words: list[str], folder: Path) -> list[str]:
    """With the names of files, as a shell puts them."""
    braces = re.compile(r"(.*)\{(.*)\}(.*)")
    found: list[str] = []
    for word in words:
        match = braces.fullmatch(word)
        alike = [f"{match[1]}{part}{match[3]}" for part in match[2].split(",")] if match else [word]
        files = [str(file.relative_to(folder)) for name in alike for file in folder.glob(name.rstrip("/"))]
        found += sorted(files) if "*" in word and files else alike
    return found


def shortened(line: str, folder: Path, device: str = "") -> list[str]:
    """Words that take little time, with the files that they name in the folder; without a device: theirs."""
    prepare(folder)
    line = re.sub(r"\bFILE\b(\.\.\.)?", "FILE.jsonl", line)
    for long, instead in SHORTER.items():
        line = re.sub(long, instead, line)
    words = expanded(shlex.split(line), folder)
    name = words[0]
    if name in (*MEASURE, "watch"):
        words += ["--max-time", "0.01"]
    measures = name in (*MEASURE, "survey", "watch") or "--measure" in words or (device and name == "doctor")
    if measures and "--device" not in words:
        words += ["--device", device or ("emulated" if {*OF_GPUS} & {*words} else "cpu")]
    if name == "watch" and not {"--count", "--for"} & {*words}:
        words += ["--count", "1"]
    if "--out" in words:
        (folder / words[words.index("--out") + 1]).unlink(missing_ok=True)
    if name in MEASURE and not {"--sizes", "--list", "--count"} & {*words}:
        words += SIZES.get(name, () if name in WITHOUT_SIZES else ("--sizes", "8,64K"))
    return words


README = list(
    dict.fromkeys(
        (tuple(before), shlex.join(words))
        for before, words in launched((ROOT / "README.md").read_text("utf-8"))
        if words
    )
)
"""Launcher, and words after `wirespeed`."""
JUDGES = ("check", "watch", "compare", "doctor", "explain", "fleet")
NO_EXAMPLE = ("please report it", "Traceback", "wirespeed: unexpected")


def fine(done: Done, name: str) -> None:
    """An example ends with 0, or with a verdict where the command judges, and without a fault of ours."""
    assert done.code in (VERDICTS if name in JUDGES else (0,)), done.out + done.err
    assert not [words for words in NO_EXAMPLE if words in done.out + done.err], done.out + done.err


def run_readme(
    before: tuple[str, ...],
    line: str,
    folder: Path,
    device: str,
    mpi: InstalledMpi,
    environment: dict[str, str] | None = None,
) -> None:
    """Runs a line of README in an empty folder; its launcher is the MPI's own."""
    words = shortened(line, folder, device)
    launcher = (str(mpi.prefix / "bin" / before[0]), *before[1:]) if before else ()
    variables = {**(mpi.variables if before else {}), **(environment or {})}
    done = wirespeed(*words, cwd=folder, before=launcher, environment=variables)
    fine(done, words[0])


def commands_listed(said: str) -> list[str]:
    """The commands that `wirespeed` alone, or a survey under "Next", has printed."""
    return re.findall(r"^  (\S.*?wirespeed .+?)(?: {2,}.*)?$", said, re.MULTILINE)


def run_listed(command: str, folder: Path, environment: dict[str, str] | None = None) -> None:
    """Runs one of them as it stands, but for short times and sizes."""
    words = shlex.split(command)
    name = next(word for at, word in enumerate(words) if "wirespeed" in words[at - 1] and word[0] != "-")
    if name in MEASURE:
        words += ["--sizes", "8,64K", "--max-time", "0.005", "--no-evidence"]
    ran = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    fine(Done(ran.returncode, ran.stdout, ran.stderr), name)
