"""Our NCCL ping-pong beside a bare C++ loop over the same libnccl, turn about.

    .venv/bin/python bench/nccl_pingpong.py [--paths nccl,nccl-stream] [--sizes 8,4K,64K,1M,16M,256M]
        [--pairs 7] [--between 0,1] [--wait block|poll] [-- OPTIONS of wirespeed pingpong]

Each turn starts new processes, first ours or first the bare ones in turn; the figure is the median of the
ratios of neighbouring turns, with their smallest and largest. `nccl` stands beside a loop whose CPU waits
after each round (--wait: by cuStreamSynchronize, or by looking), `nccl-stream` beside one that waits after
the last round of a batch. It needs a C++ compiler and two NVIDIA GPUs.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import wirespeed
from wirespeed.libraries import known_libraries
from wirespeed.units import format_size, parse_sizes

COMMAND = Path(sys.prefix, "bin", "wirespeed")
HERE = Path(__file__).resolve().parent
NATIVE = HERE.parent / "native"
ROUNDS = {"nccl": "host", "nccl-stream": "stream"}
Times = dict[int, float]


def build(folder: Path) -> Path:
    """The bare loop; it opens its libraries at run time, as ours does."""
    target = folder / "bare_nccl"
    sources = [HERE / "bare_nccl.cpp", NATIVE / "libraries/library.cpp", NATIVE / "libraries/nccl.cpp"]
    command = ["g++", "-std=c++20", "-O3", "-I", str(NATIVE), "-o", str(target), *map(str, sources), "-ldl"]
    subprocess.run(command, check=True)
    return target


def said(command: list[str]) -> str:
    """What the command printed; where it fails, the end, with what it said of that."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def bare(program: Path, rounds: str, given: argparse.Namespace, sizes: tuple[int, ...]) -> Times:
    """Seconds one way, by size."""
    library = str(known_libraries().get("nccl", ""))
    command = [str(program), library, *given.between.split(","), rounds, given.wait, *map(str, sizes)]
    lines = [line.split() for line in said(command).splitlines()]
    return {int(size): float(seconds) for size, seconds in lines}


def ours(path: str, given: argparse.Namespace, folder: Path) -> tuple[Times, set[str]]:
    """Seconds one way, by size; and the ways in which rounds came into the stream."""
    file = folder / "r.jsonl"
    file.unlink(missing_ok=True)
    command = [str(COMMAND), "pingpong", "--device", "cuda", "--paths", path, "--sizes", given.sizes]
    said([*command, "--between", given.between, "--out", str(file), *given.options])
    entries = wirespeed.load(file).entries
    ways = {entry["details"]["rounds"] for entry in entries if "rounds" in entry["details"]}
    return {entry["bytes"]: entry["seconds"]["median"] for entry in entries}, ways


def compare(path: str, program: Path, given: argparse.Namespace, folder: Path) -> None:
    sizes = tuple(parse_sizes(given.sizes))
    mine: list[Times] = []
    theirs: list[Times] = []
    ways: set[str] = set()
    for pair in range(given.pairs):
        for turn in (pair % 2, 1 - pair % 2):
            if turn:
                theirs.append(bare(program, ROUNDS[path], given, sizes))
            else:
                times, found = ours(path, given, folder)
                mine.append(times)
                ways |= found
    how = f" (rounds: {', '.join(sorted(ways))})" if ways else ""
    print(f"{path}{how} beside bare calls, waiting by {given.wait}: {given.pairs} pairs of runs, one way")
    for size in sizes:
        ratios = [own[size] / other[size] for own, other in zip(mine, theirs, strict=True)]
        print(
            f"{format_size(size):>9}  ours {statistics.median(t[size] for t in mine) * 1e6:11.3f} us  "
            f"bare {statistics.median(t[size] for t in theirs) * 1e6:11.3f} us  "
            f"ratio {statistics.median(ratios):.4f} [{min(ratios):.3f}, {max(ratios):.3f}]",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--paths", default="nccl,nccl-stream")
    parser.add_argument("--sizes", default="8,4K,64K,1M,16M,256M")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--between", default="0,1")
    parser.add_argument("--wait", choices=("block", "poll"), default="block")
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    paths = given.paths.split(",")
    if unknown := [path for path in paths if path not in ROUNDS]:
        parser.error(f"no bare loop for {', '.join(unknown)}; there are: {', '.join(ROUNDS)}")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for path in paths:
            compare(path, program, given, Path(folder))


if __name__ == "__main__":
    main()
