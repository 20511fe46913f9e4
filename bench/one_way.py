"""What a rank that only sends is timed at, beside the one-way time of the same ranks' ping-pong.

    .venv/bin/python bench/one_way.py [--repeats 10] [--path host] [-- OPTIONS of wirespeed]

Each repeat starts both, new processes each, one after the other. A transfer cannot arrive sooner than half a
round trip: a ratio well below 1 would be the gap between messages of a sender that runs ahead.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from common import measured, parser


def main() -> None:
    given = parser(__doc__, repeats=10, path="host", options=[]).parse_args()
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        one_way = Path(folder, "one_way.csv")
        one_way.write_text("step,from,to,bytes\n0,0,1,8\n")
        common = ("--no-evidence", "--paths", given.path, *given.options)
        for _ in range(given.repeats):
            (half,) = measured(folder, "pingpong", "--sizes", 8, *common)
            (whole,) = measured(folder, "custom", "--file", one_way, *common)
            found.append(whole.seconds / half.seconds)
    low, middle, high = statistics.quantiles(found, n=4)
    print(
        f"{given.path}, 8 B: a transfer of one way takes {middle:.2f} x the ping-pong's one way "
        f"(quartiles {low:.2f} to {high:.2f}, least {min(found):.2f}, {given.repeats} launches of each)"
    )


if __name__ == "__main__":
    main()
