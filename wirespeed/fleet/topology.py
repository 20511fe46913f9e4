"""Nodes behind each switch: a file as Slurm's topology.conf (topology/tree).

The format: https://slurm.schedmd.com/topology.conf.html.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from wirespeed import inputs
from wirespeed.errors import WirespeedError
from wirespeed.fleet.names import expand

_WORD = re.compile(r"(\w+)\s*=\s*(\S+)")


@dataclass(frozen=True)
class NetworkSwitch:
    """A switch, and what is behind it."""

    name: str
    level: int
    """0: nodes are plugged into it; else one more than the highest switch below it."""
    nodes: tuple[str, ...]
    """All nodes below it, through other switches, too."""


@dataclass(frozen=True)
class Topology:
    """The switches of a fleet by their names, the lowest first."""

    switches: dict[str, NetworkSwitch]

    def rack(self, node: str) -> str:
        """The switch that the node is plugged into; '' if the file does not say."""
        return self._racks.get(node, "")

    @cached_property
    def _racks(self) -> dict[str, str]:
        leaves = [switch for switch in self.switches.values() if switch.level == 0]
        return {node: leave.name for leave in leaves for node in leave.nodes}

    @property
    def levels(self) -> list[list[NetworkSwitch]]:
        """Switches by level, the highest first."""
        top = max((switch.level for switch in self.switches.values()), default=-1)
        return [
            [switch for switch in self.switches.values() if switch.level == at] for at in range(top, -1, -1)
        ]


NO_TOPOLOGY = Topology({})


def read_topology(file: str) -> Topology:
    """The switches in a file. Raises WirespeedError where it cannot be read, or has none."""
    try:
        text = inputs.text(file, errors="replace")
    except (OSError, ValueError) as error:
        raise WirespeedError(f"cannot read {file}: {inputs.why(error)}") from None
    return topology_of(text, file)


def topology_of(text: str, file: str = "topology.conf") -> Topology:
    """The switches in a text. Raises WirespeedError."""
    nodes: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for line in text.replace("\\\n", " ").splitlines():
        words = {name.lower(): value for name, value in _WORD.findall(line.partition("#")[0])}
        if name := words.get("switchname"):
            nodes[name] = expand(words["nodes"]) if "nodes" in words else []
            below[name] = expand(words["switches"]) if "switches" in words else []
    if not nodes:
        raise WirespeedError(
            f"{file}: no switch in it; write lines as in Slurm's topology.conf: SwitchName=s1 Nodes=n[1-16]"
        )
    found: dict[str, NetworkSwitch] = {}

    def visit(name: str, above: tuple[str, ...]) -> NetworkSwitch:
        if name in above:
            raise WirespeedError(f"{file}: switch {name} is behind itself")
        if name not in nodes:
            raise WirespeedError(f"{file}: switch {name} has no line of its own")
        if name not in found:
            under = [visit(word, (*above, name)) for word in below[name]]
            all_nodes = dict.fromkeys(
                [*nodes[name], *(node for network_switch in under for node in network_switch.nodes)]
            )
            level = max((network_switch.level + 1 for network_switch in under), default=0)
            found[name] = NetworkSwitch(name, level, tuple(all_nodes))
        return found[name]

    for name in nodes:
        visit(name, ())
    return Topology(dict(sorted(found.items(), key=lambda item: item[1].level)))
