"""Our NCCL ping-pong beside a bare C++ loop over the same libnccl, turn about.

    .venv/bin/python bench/nccl_pingpong.py [--paths nccl,nccl-stream] [--sizes 8,4K,64K,1M,16M,256M]
        [--pairs 7] [--between 0,1] [--wait block|poll] [-- OPTIONS of wirespeed pingpong]

Each turn starts new processes, first ours or first the bare ones in turn; the figure is the median of the
ratios of neighbouring turns, with their smallest and largest. `nccl` stands beside a loop whose CPU waits
after each iteration (--wait: by cuStreamSynchronize, or by looking), `nccl-stream` beside one that waits
after the last iteration of a batch. It needs a C++ compiler and two NVIDIA GPUs.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from beside import HERE, SIZES, bare, compare
from common import parser, said

from wirespeed.host.libraries import known_libraries
from wirespeed.units import parse_sizes

NATIVE = HERE.parent / "native"
ITERATIONS = {"nccl": "host", "nccl-stream": "stream"}


def build(folder: Path) -> Path:
    """The bare loop; it opens its libraries at run time, as ours does."""
    target = folder / "bare_nccl"
    sources = [HERE / "bare_nccl.cpp", NATIVE / "libraries/library.cpp", NATIVE / "libraries/nccl.cpp"]
    said(["g++", "-std=c++20", "-O3", "-I", NATIVE, "-o", target, *sources, "-ldl"])
    return target


def main() -> None:
    line = parser(__doc__, paths="nccl,nccl-stream", sizes=SIZES, pairs=7, between="0,1", options=[])
    line.add_argument("--wait", choices=("block", "poll"), default="block")
    given = line.parse_args()
    paths = given.paths.split(",")
    if unknown := [path for path in paths if path not in ITERATIONS]:
        line.error(f"no bare loop for {', '.join(unknown)}; there are: {', '.join(ITERATIONS)}")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for path in paths:
            command = [program, known_libraries().get("nccl", ""), *given.between.split(",")]
            command += [ITERATIONS[path], given.wait, *parse_sizes(given.sizes)]
            how = f"bare calls, waiting by {given.wait}"
            compare(path, how, partial(bare, command), given, Path(folder))


if __name__ == "__main__":
    main()
