"""How near figures come to a known truth: emulated GPUs that keep a declared bandwidth, by sleeping.

    .venv/bin/python bench/declared.py [--repeats 5] [-- OPTIONS of wirespeed]

Each ratio is the rate measured by the rate declared. A sleep never ends early, so no ratio is above 1; what
waking up and handing over take is missing from it.
"""

from __future__ import annotations

import os
import statistics
import tempfile

from common import measured, parser

SIZE, RATE = 32 << 20, 1e9
"""33.6 ms a copy: on a quiet machine, waking up takes far less than 2 % of it."""
EMULATED = f"count=2,h2d={RATE},d2h={RATE / 2},d2d={2 * RATE},peer={RATE}"
MESSAGES = {
    "ipc-write": RATE,
    "ipc-read": RATE,
    # One copy after the other: SIZE / RATE and 2 SIZE / RATE.
    "staged-pinned": RATE / 3,
    # Both at once: the slower one decides.
    "staged-pipelined": RATE / 2,
}
COPIES = {"h2d-pinned": RATE, "d2h-pinned": RATE / 2, "d2d": 2 * RATE}
STEPS = 6


def repeat(folder: str, options: list[str]) -> dict[str, float]:
    """Measured by declared, of one launch of each command."""
    common = (
        "--device",
        "emulated",
        "--sizes",
        SIZE,
        "--max-time",
        0.5,
        "--warmup",
        0,
        "--no-evidence",
        *options,
    )
    found: dict[str, float] = {}
    for entry in measured(folder, "pingpong", "--paths", ",".join(MESSAGES), *common):
        found[f"{entry.path}, one way"] = entry.rate / MESSAGES[entry.path]
    for entry in measured(folder, "copy", "--paths", ",".join(COPIES), *common):
        if entry.pattern == "copy":
            found |= {
                f"{entry.path}, {team.name}": entry.amount / team.seconds / COPIES[entry.path]
                for team in entry.teams
            }
    words = ("copy", "--both-ways", "--ranks", 1, "--paths", "h2d-pinned")
    for entry in measured(folder, *words, *common):
        if entry.pattern == "copy":
            # The slower way takes as long as 2 SIZE at RATE.
            found["h2d-pinned, both ways at once"] = entry.rate / RATE
    for entry in measured(folder, "ring", "--ranks", 2, "--steps", STEPS, "--paths", "ipc-write", *common):
        found[f"ipc-write, ring of {STEPS} steps"] = STEPS * (SIZE / RATE) / entry.seconds
    return found


def main() -> None:
    given = parser(__doc__, repeats=5, options=[]).parse_args()
    os.environ["WIRESPEED_EMULATED"] = EMULATED
    with tempfile.TemporaryDirectory() as folder:
        each = [repeat(folder, given.options) for _ in range(given.repeats)]
    print(f"measured by declared: median, lowest and highest of {given.repeats} launches")
    for name in each[0]:
        ratios = [found[name] for found in each]
        print(f"{name:<32} {statistics.median(ratios):.3f} [{min(ratios):.3f}, {max(ratios):.3f}]")


if __name__ == "__main__":
    main()
