"""Our copies through CUDA IPC beside a bare loop of the same calls, turn about.

    .venv/bin/python bench/ipc_pingpong.py [--sizes 8,4K,64K,1M,16M,256M] [--pairs 7] [--between 0,1]
        [-- OPTIONS of wirespeed pingpong]

Each turn starts new processes, first ours or first the bare ones in turn; the figure is the median of the
ratios of neighbouring turns, with their smallest and largest. It needs nvcc and two NVIDIA GPUs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from beside import HERE, SIZES, bare, compare
from common import parser, said

from wirespeed.units import parse_sizes


def main() -> None:
    given = parser(__doc__, sizes=SIZES, pairs=7, between="0,1", options=[]).parse_args()
    # The same as the bare loop does: the copy engine, and completion signalled by the host.
    given.options += ["--test", "copy=engine", "--test", "signal=host"]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "bare_ipc")
        said(["nvcc", "-O3", "-o", program, HERE / "bare_ipc.cu"])
        command = [program, *given.between.split(","), *parse_sizes(given.sizes)]
        compare("ipc-write", "bare copies", lambda: bare(command), given, Path(folder))


if __name__ == "__main__":
    main()
