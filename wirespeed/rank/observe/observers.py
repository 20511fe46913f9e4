"""What is read of the hosts around a path: found once, for all paths of a job step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wirespeed.host.core import Core
from wirespeed.rank.observe.host_counters import HostCounters
from wirespeed.rank.observe.host_health import HostHealth
from wirespeed.rank.world import World


@dataclass(frozen=True)
class Observers:
    """The hosts' health, and the counters of their wires."""

    health: HostHealth
    counters: HostCounters

    @classmethod
    def found(cls, comm: World, core: Core, device: Any) -> Observers:
        """Collective."""
        return cls(HostHealth(comm, core, device), HostCounters(comm, core, device))

    def close(self) -> None:
        """Releases what was opened to be read."""
        self.health.close()
        self.counters.close()
