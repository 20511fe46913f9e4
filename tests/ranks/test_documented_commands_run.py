"""Every command line in README and docs is run, on emulated GPUs, with short times; or says what it needs."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from support import measured
from support.command import wirespeed
from support.documented_commands import PAGES, ROOT, documented

pytestmark = pytest.mark.slow(after=1)

NEEDS = {
    r"--hosts|fleet run": "several hosts",
    r"cuda:": "NVIDIA's GPUs",
    r"--(device|allocator) openmp": "OpenMP's runtime for GPUs",
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
}
"""What the machine of the tests lacks, by a part of the command line."""
SHORTER = {
    r"--(soak) \S+": r"--\1 0.3s",
    r"--every \d+m": "--every 0",
    r"--for \S+": "--for 1s",
    r"--count \d+": "--count 2",
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
OF_GPUS = ("copy", "offload", "load")
WITHOUT_SIZES = ("blocks", "custom", "offload")
VERDICTS = (0, 6, 8)
"""Exit codes of a command that judges."""
FILES = r"\b(before|after|results|hung|wirespeed-20260101-120000)\.jsonl|before-\*\.jsonl|\bFILE\b(?:\.\.\.)?"
FOLDERS = ("before", "after", "good", "results", "DIR")
FROM = ROOT / "results/h200-x2-paths.jsonl.gz"


def lines() -> list[str]:
    """Each command line once; a name alone is part of a sentence."""
    found = (shlex.join(words) for page in PAGES for words in documented(page))
    return [line for line in dict.fromkeys(found) if " " in line or line in MEASURE]


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
    for name in ("before", "before-1", "after", "results", "hung", "wirespeed-20260101-120000", "FILE"):
        (folder / f"{name}.jsonl").write_text(content)
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


@pytest.mark.parametrize("line", lines())
def test_it_runs(line: str, tmp_path: Path) -> None:
    """Protects readers from examples that are understood, and do not work."""
    if reason := missing(line):
        pytest.skip(reason)
    prepare(tmp_path)
    short = re.sub(r"\bFILE\b(\.\.\.)?", "FILE.jsonl", line)
    for long, instead in SHORTER.items():
        short = re.sub(long, instead, short)
    words = expanded(shlex.split(short), tmp_path)
    if words[0] in (*MEASURE, "watch"):
        words += ["--max-time", "0.01"]
    if (words[0] in (*MEASURE, "survey", "watch") or "--measure" in words) and "--device" not in words:
        words += ["--device", "emulated" if {"--paths", *OF_GPUS} & {*words} else "cpu"]
    if words[0] == "watch" and not {"--count", "--for"} & {*words}:
        words += ["--count", "1"]
    if "--out" in words:
        (tmp_path / words[words.index("--out") + 1]).unlink(missing_ok=True)
    if words[0] in MEASURE and not {"--sizes", "--list"} & {*words}:
        words += SIZES.get(words[0], () if words[0] in WITHOUT_SIZES else ("--sizes", "8,64K"))
    done = wirespeed(*words, cwd=tmp_path, patience=200)
    done.no_stack_trace()
    allowed = VERDICTS if words[0] in ("check", "watch", "compare", "doctor", "fleet") else (0,)
    assert done.code in allowed, f"wirespeed {shlex.join(words)}\n{done.out}\n{done.err}"


README = [shlex.join(words) for words in documented(ROOT / "README.md") if " " in shlex.join(words)]
MACHINES = {"no GPU": ("cpu", 1), "one GPU": ("emulated", 1), "two GPUs": ("emulated", 2)}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("line", [*README, "pairs", "allreduce"])
def test_readme_on_any_machine(line: str, machine: str, tmp_path: Path) -> None:
    """Protects README's first screen where there is no GPU, one, and two."""
    if reason := missing(line):
        pytest.skip(reason)
    device, gpus = MACHINES[machine]
    prepare(tmp_path)
    for long, instead in SHORTER.items():
        line = re.sub(long, instead, line)
    words = expanded(shlex.split(line), tmp_path)
    if words[0] in MEASURE:
        words += ["--device", device, "--max-time", "0.01"]
        words += SIZES.get(words[0], () if "--sizes" in words else ("--sizes", "8,64K"))
    done = wirespeed(*words, cwd=tmp_path, environment={"WIRESPEED_EMULATED": f"count={gpus}"})
    done.no_stack_trace()
    assert done.code in (VERDICTS if words[0] == "compare" else ()) or done.code == 0, done.out + done.err
    assert "please report it" not in done.out + done.err
