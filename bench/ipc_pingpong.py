"""Our copies through CUDA IPC beside a bare loop of the same calls, turn about.

    .venv/bin/python bench/ipc_pingpong.py [--sizes 8,4K,64K,1M,16M,256M] [--pairs 7] [--between 0,1]
        [-- OPTIONS of wirespeed pingpong]

Each turn starts new processes, first ours or first the bare ones in turn; the figure is the median of the
ratios of neighbouring turns, with their smallest and largest. It needs nvcc and two NVIDIA GPUs.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from beside import HERE, bare, compare

from wirespeed.units import parse_sizes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="8,4K,64K,1M,16M,256M")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--between", default="0,1")
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    # The same as the bare loop does: the copy engine, and the word raised by the host.
    given.options += ["--test", "copy=engine", "--test", "tell=host"]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "bare_ipc")
        subprocess.run(["nvcc", "-O3", "-o", str(program), str(HERE / "bare_ipc.cu")], check=True)
        command = [str(program), *given.between.split(","), *map(str, parse_sizes(given.sizes))]
        compare("ipc-write", "bare copies", lambda: bare(command), given, Path(folder))


if __name__ == "__main__":
    main()
