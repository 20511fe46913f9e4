"""How often `wirespeed fleet run` and `fleet show` are right, from the command to the exit code.

.venv/bin/python bench/fleet_black_box.py --repetitions 20 --nodes 64

Fleets are made up launch by launch with the noise of noise.py and written as result files, with suspects
measured again; no rank starts. Six sizes of a launch share most of their noise, as real ones do
(results/interleaved). `slow`: one node, by so much.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from common import parser
from noise import KINDS, Noise

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.fake_fleet import FakeFleet

from wirespeed.cli.main import main as wirespeed
from wirespeed.fleet.names import expand
from wirespeed.frontend import session

ALIKE = 0.01
"""Standard deviation between sound nodes."""
OF_ITS_OWN = 0.5
"""Share of its noise that a size does not have in common with others of its launch."""
LAUNCHES = 20
"""Until the drift is complete."""


@dataclass
class NoisyFleet(FakeFleet):
    """Times with noise, which the model knows nothing of."""

    noise: Noise = field(default_factory=Noise)
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    own: dict[str, float] = field(default_factory=dict)
    """Logarithms of what nodes differ by."""
    slower: dict[str, float] = field(default_factory=dict)
    """Logarithms of what slow and old nodes take longer; the slowest counts."""
    _shared: dict[tuple[int, ...], float] = field(default_factory=dict)
    _launch: tuple[int, float] = (0, 0.0)

    def _measured(self, launch: int) -> float:
        zero = np.zeros(1, dtype=np.int64)
        quiet = Noise(
            **{
                **vars(self.noise),
                "launch": 0.0,
                "launch_t3": 0.0,
                "slow_launch": 0.0,
                "day": 0.0,
                "slow_day": 0.0,
            }
        )
        return float(quiet.measured(self.random, zero, zero, np.array([launch / LAUNCHES]))[0])

    def _team(self, ranks: tuple[int, ...], hosts: list[str], each: int) -> dict[str, Any]:
        launch = len(self.launches)
        if launch != self._launch[0]:
            zero = np.zeros(1, dtype=np.int64)
            # One slow launch in ten.
            common = float(self.noise.common(self.random, zero, zero)[0]) if launch % 10 == 1 else 0.0
            common += float(self.random.normal(0, self.noise.launch)) if self.noise.launch else 0.0
            self._launch, self._shared = (launch, common), {}
        shared = self._shared.setdefault(ranks, self._measured(launch))
        nodes = sorted({hosts[rank // each] for rank in ranks})
        logs = sum(self.own[node] for node in nodes) + max(self.slower.get(node, 0.0) for node in nodes)
        logs += self._launch[1] + (1 - OF_ITS_OWN) * shared + OF_ITS_OWN * self._measured(launch)
        seconds = 1e-5 * float(np.exp(logs))
        times = {"median": seconds, "low": seconds * 0.99, "high": seconds * 1.01}
        return {"name": "-".join(map(str, ranks)), "first": ranks[0], "ranks": len(ranks), "seconds": times}


def run(kind: str, nodes: int, slow: float, seed: int) -> tuple[int, list[str], list[str]]:
    """The exit code, the names, and what should be named."""
    noise, random = KINDS[kind], np.random.default_rng(seed)
    words = f"n[{1:03d}-{nodes:03d}]"
    hosts = expand(words)
    fleet = NoisyFleet(noise=noise, random=random)
    fleet.own = dict(zip(hosts, random.normal(0, ALIKE, nodes).tolist(), strict=True))
    old = noise.old_nodes(random, nodes)
    fleet.cpu = {host: "old CPU" if is_old else "new CPU" for host, is_old in zip(hosts, old, strict=True)}
    fleet.slower = {
        host: float(np.log1p(noise.old)) for host, is_old in zip(hosts, old, strict=True) if is_old
    }
    planted = (
        [str(random.choice([host for host, is_old in zip(hosts, old, strict=True) if not is_old]))]
        if slow
        else []
    )
    fleet.slower |= dict.fromkeys(planted, float(np.log1p(slow)))
    session.measure = fleet
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as errors:
        out = str(Path(folder, "f"))
        given = ("--device", "cpu", "--sizes", "8,64,512,4K,64K,1M", "--hosts", words, "--out", out)
        with contextlib.redirect_stdout(io.StringIO()):
            code = wirespeed(["fleet", "run", *given])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            wirespeed(["fleet", "show", out, "--format", "json"])
    if not printed.getvalue():
        sys.exit(f"exit code {code}: {errors.getvalue()}")
    return code, [one["name"] for one in json.loads(printed.getvalue())["findings"]], planted


def main() -> None:
    given = parser(__doc__, repetitions=20, nodes=64, slow=0.0, noise="").parse_args()
    for kind, noise in KINDS.items():
        if given.noise and given.noise != kind:
            continue
        codes: Counter[int] = Counter()
        wrong = found = 0
        for seed in range(given.repetitions):
            code, names, planted = run(kind, given.nodes, given.slow, seed)
            codes[code] += 1
            wrong += bool({*names} - {*planted})
            found += bool(planted) and {*planted} <= {*names}
        listed = ", ".join(f"{count} x {code}" for code, count in sorted(codes.items()))
        print(
            f"{given.nodes:>4} nodes {given.slow:>4.0%} {kind:<15} found {found:>3}, wrong in {wrong:>3} "
            f"of {given.repetitions}; exit codes: {listed}  ({noise.words})",
            flush=True,
        )


if __name__ == "__main__":
    main()
