"""How often `wirespeed fleet show` finds planted faults, and how often it names what is sound.

.venv/bin/python bench/fleet_faults.py --seeds 20

Fleets of 5,000 nodes with log-normal noise: each node alone, and pairs in 8 random disjoint rounds. 3 nodes,
2 links and 1 switch are slower, by as much as the first column says; by 0 %: nothing is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from common import parser

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.simulated_fleet import Planted, named, simulate


def main() -> None:
    given = parser(__doc__, seeds=20, nodes=5000, noise=0.01).parse_args()
    print("slower by   nodes found   links found   switches found   named by mistake   fleets with one")
    for by in (0.0, 0.03, 0.05, 0.10, 0.20):
        fleets = [_fleet(seed, by, given.nodes, given.noise) for seed in range(given.seeds)]
        found = [named(one) for one in fleets]
        cells = []
        for kind in ("node", "link", "switch"):
            planted = sum(one == kind for fleet in fleets for one, _ in fleet.faults)
            right = sum(
                one == kind
                for names, fleet in zip(found, fleets, strict=True)
                for one, _ in names & fleet.faults
            )
            cells.append(f"{right} of {planted}")
        wrong = [len(names - fleet.faults) for names, fleet in zip(found, fleets, strict=True)]
        print(
            f"{by:>8.0%}   {cells[0]:>11}   {cells[1]:>11}   {cells[2]:>14}   {sum(wrong):>16}   "
            f"{sum(map(bool, wrong)):>4} of {given.seeds}",
            flush=True,
        )


def _fleet(seed: int, by: float, nodes: int, noise: float) -> Planted:
    if not by:
        return simulate(seed, nodes, slow_nodes=0, slow_links=0, slow_switches=0, noise=noise)
    return simulate(seed, nodes, by=by, noise=noise)


if __name__ == "__main__":
    main()
