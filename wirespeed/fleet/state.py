"""Record of a `fleet run` in the folder that it measured into: what was asked for, who fell silent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field, json

from wirespeed.errors import WirespeedError
from wirespeed.fleet.names import node_name, not_a_node
from wirespeed.inputs import files_below
from wirespeed.results.parts import moment
from wirespeed.results.reading import read_json, shown
from wirespeed.results.whole_file import replace_whole

FILE = "fleet-run.json"


class SilentNode(Struct, frozen=True):
    """A node that did not answer, and was left out from then on."""

    node: str
    part: str = ""
    """Part that was being measured: 'round 3 of 8'."""
    why: str = ""
    """One line."""
    at: str = ""
    """ISO 8601, with its offset from UTC."""


class FleetRun(Struct):
    """The content of the file."""

    figures: dict[str, Any]
    """Options that the figures depend on, by name."""
    silent: list[SilentNode] = field(default_factory=list)


@dataclass
class FleetState:
    """The file of a folder."""

    folder: Path
    run: FleetRun

    @property
    def names(self) -> set[str]:
        """The silent nodes."""
        return {silent_node.node for silent_node in self.run.silent}

    def add(self, node: SilentNode) -> None:
        """Notes a silent node. Raises WirespeedError if the file cannot be written."""
        self.run.silent.append(node)
        self.write()

    def write(self) -> None:
        """The file, whole or not at all. Raises WirespeedError."""
        replace_whole(self.folder / FILE, json.format(json.encode(self.run), indent=1) + b"\n")


def begin(folder: Path, figures: Mapping[str, Any], *, resume: bool) -> FleetState:
    """Makes the folder and its file, or goes on with them. Raises WirespeedError."""
    file, name = folder / FILE, shown(folder)
    before = read_json(FleetRun, file) if file.exists() else None
    if before and not resume:
        raise WirespeedError(f"--out {name}: a run is in there; go on with --resume, or name another folder")
    changed = [key for key, value in figures.items() if before and before.figures.get(key) != value]
    if changed:
        options = ", ".join(f"--{key}" for key in changed)
        raise WirespeedError(
            f"--resume: the run in {name} was begun with another {options}; use the same, "
            "or name another folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WirespeedError(f"--out {name}: cannot make this folder ({error.strerror})") from None
    state = FleetState(folder, before or FleetRun(dict(figures)))
    state.write()
    return state


def silent_below(folder: Path, begin: datetime, warnings: list[str]) -> Iterator[SilentNode]:
    """Nodes that fell silent since a moment in UTC, in all runs below a folder.

    Adds a line to `warnings` for each file that cannot be read, and each name that is no node's.
    """
    for file in (file for file in files_below(folder) if file.name == FILE):
        try:
            run = read_json(FleetRun, file)
        except WirespeedError as error:
            warnings.append(f"{error}; left out")
            continue
        for silent_node in run.silent:
            at = moment(silent_node.at)
            if not (at and at >= begin):
                continue
            if node_name(silent_node.node) is None:
                warnings.append(f"{shown(file)}: {not_a_node(silent_node.node)}")
            else:
                yield silent_node
