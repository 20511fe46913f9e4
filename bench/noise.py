"""The noise that machines have, made up: nine kinds, each with its settings.

A measurement's logarithm is `own` noise of that measurement, plus effects that measurements share: of their
launch, their day, the time since the first one, and the hardware. Nothing here knows how verdicts come about.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]


@dataclass(frozen=True)
class Noise:
    """Settings; all shares and scales are of the time, so that 0.01 is 1 %."""

    normal: float = 0.01
    """Standard deviation of normal noise of each measurement."""
    t3: float = 0.0
    """Scale of Student's t with 3 degrees of freedom, of each measurement."""
    exponential: float = 0.0
    """Mean of exponential noise of each measurement."""
    late_share: float = 0.0
    """Share of the measurements that are late ..."""
    late: float = 0.05
    """... by an exponential time with this mean."""
    mode_share: float = 0.0
    """Share of the measurements in a slow mode ..."""
    mode: float = 0.05
    """... that takes so much longer."""
    drift: float = 0.0
    """From the first measurement to the last, everything becomes slower by this."""
    launch: float = 0.0
    """Standard deviation of an effect that all measurements of a launch share."""
    launch_t3: float = 0.0
    """Scale of Student's t with 3 degrees of freedom of the same."""
    launch_exponential: float = 0.0
    """Mean of exponential noise of the same."""
    slow_launch: float = 0.0
    """One launch, drawn at random, is slower by this."""
    day: float = 0.0
    """Standard deviation of an effect that all measurements of a day share."""
    slow_day: float = 0.0
    """One day, drawn at random, is slower by this."""
    old_share: float = 0.0
    """Share of the nodes that are of older hardware ..."""
    old: float = 0.15
    """... which is slower by this; two old nodes together are no slower than one."""

    def measured(self, random: Generator, launches: Places, days: Places, moments: Floats) -> Floats:
        """Logarithmic noise of measurements, all arrays of the same shape.

        `launches`, `days`: numbers from 0 of each measurement's launch and day; `moments`: 0 at the first
        measurement, 1 at the last.
        """
        shape = launches.shape
        found = random.normal(0, self.normal, shape) if self.normal else np.zeros(shape)
        if self.t3:
            found += self.t3 * random.standard_t(3, shape)
        if self.exponential:
            found += random.exponential(self.exponential, shape)
        if self.late_share:
            late = random.random(shape) < self.late_share
            found += np.where(late, np.log1p(random.exponential(self.late, shape)), 0.0)
        if self.mode_share:
            found += np.log1p(self.mode) * (random.random(shape) < self.mode_share)
        found += np.log1p(self.drift) * moments
        return found + self.common(random, launches, days)

    def common(self, random: Generator, launches: Places, days: Places) -> Floats:
        """The effects of launches and days alone."""
        of_launch = np.zeros(int(launches.max()) + 1)
        of_day = np.zeros(int(days.max()) + 1)
        of_launch += random.normal(0, self.launch, len(of_launch)) if self.launch else 0.0
        of_launch += self.launch_t3 * random.standard_t(3, len(of_launch)) if self.launch_t3 else 0.0
        if self.launch_exponential:
            of_launch += random.exponential(self.launch_exponential, len(of_launch))
        of_day += random.normal(0, self.day, len(of_day)) if self.day else 0.0
        if self.slow_launch:
            of_launch[random.integers(len(of_launch))] += np.log1p(self.slow_launch)
        if self.slow_day:
            of_day[random.integers(len(of_day))] += np.log1p(self.slow_day)
        return of_launch[launches] + of_day[days]

    def old_nodes(self, random: Generator, nodes: int) -> NDArray[np.bool_]:
        """Which nodes are of older hardware."""
        old = np.zeros(nodes, dtype=bool)
        old[random.choice(nodes, round(self.old_share * nodes), replace=False)] = True
        return old

    @property
    def words(self) -> str:
        """The settings that are not 0, in percent: 'normal 1, late_share 5, late 5'."""
        of = {"late": self.late_share, "mode": self.mode_share, "old": self.old_share}
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return ", ".join(f"{k} {100 * v:g}" for k, v in values.items() if v and of.get(k, 1.0))


KINDS = {
    "normal": Noise(),
    "t3": Noise(normal=0.0, t3=0.01),
    "exponential": Noise(normal=0.0, exponential=0.01),
    "late": Noise(late_share=0.05, late=0.05),
    "two-mode": Noise(mode_share=0.3, mode=0.05),
    "drifting": Noise(drift=0.10),
    "common-effect": Noise(launch=0.03, slow_launch=0.10, day=0.02, slow_day=0.10),
    "launch-t3": Noise(launch_t3=0.02),
    "mixed-hardware": Noise(old_share=0.10, old=0.15),
}
