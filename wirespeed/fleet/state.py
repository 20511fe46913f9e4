"""What a folder says of the `fleet run` that measured into it: what was asked for, and who fell silent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from wirespeed.errors import WirespeedError
from wirespeed.results.reading import shown
from wirespeed.results.whole_file import write_whole

FILE = "fleet-run.json"


@dataclass(frozen=True)
class SilentNode:
    """A node that did not answer, and was left out from then on."""

    node: str
    part: str
    """What was being measured: 'round 3 of 8'."""
    why: str
    """One line."""
    at: str
    """ISO 8601, with its offset from UTC."""


@dataclass
class FleetState:
    """The file of a folder."""

    folder: Path
    figures: dict[str, Any]
    """What the figures depend on, by the names of the options."""
    silent: list[SilentNode] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """The silent nodes."""
        return {one.node for one in self.silent}

    def add(self, node: SilentNode) -> None:
        """Notes a silent node. Raises WirespeedError if the file cannot be written."""
        self.silent.append(node)
        self.write()

    def write(self) -> None:
        """The file, whole or not at all. Raises WirespeedError."""
        found = {"figures": self.figures, "silent": [asdict(one) for one in self.silent]}
        write_whole(self.folder / FILE, json.dumps(found, indent=1) + "\n")


def begin(folder: Path, figures: Mapping[str, Any], *, resume: bool) -> FleetState:
    """Makes the folder and its file, or goes on with them. Raises WirespeedError."""
    file = folder / FILE
    before = _read(file)
    name = shown(folder)
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
    state = before or FleetState(folder, dict(figures))
    state.write()
    return state


def silent_below(folder: Path, begin: datetime) -> Iterator[SilentNode]:
    """Nodes that fell silent since a moment in UTC, in all runs below a folder."""
    for file in sorted(folder.rglob(FILE)):
        state = _read(file)
        for one in state.silent if state else ():
            with suppress(ValueError):
                if datetime.fromisoformat(one.at).replace(tzinfo=None) >= begin:
                    yield one


def _read(file: Path) -> FleetState | None:
    """None of a file that is not there, or is damaged."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        found = json.loads(file.read_text())
        return FleetState(file.parent, dict(found["figures"]), [SilentNode(**one) for one in found["silent"]])
    return None
