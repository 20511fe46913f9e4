"""Known lines by which libraries, launchers and kernels tell of a failure (foreign/failing.toml)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from wirespeed.foreign.found import Reader
from wirespeed.toml import parse

ORDER = 1


class Failing(Reader):
    """Each line stands alone."""

    words = (
        *(
            "Ipc",
            "ipc",
            "shm",
            "etry",
            "RETRY",
            "egister",
            "MEMLOCK",
            "memlock",
            "eer",
            "gdr",
            "GDR",
            "GPU Direct",
        ),
        *(
            "GPUDirect",
            "DMA-BUF",
            "IB dev",
            "UCX ",
            "ucx",
            "unreachable",
            "libfabric",
            "OFI",
            "fi_getinfo",
            "provider",
        ),
        *(
            "CUDA",
            "cudaError",
            "hipError",
            "egmentation",
            "signal",
            "SIG",
            "MPI_",
            "Fatal",
            "emory",
            "oom-kill",
        ),
        *(
            "aware",
            "GTL",
            "unrecoverable",
            "TERMINATION",
            "Bus error",
            "transport",
            "ibv_",
            "core dumped",
            "Connection",
        ),
        *("No components", "P2P", "No device", "support"),
    )

    def take(self, text: str, line: int) -> bool:
        if (kind := kind_of(text)) is None:
            return False
        self.found.failure(kind, text, line)
        return True


def kind_of(text: str) -> str | None:
    """Kind of failure that a line tells of; None for any other line."""
    found = _pattern().search(text)
    return _kinds()[int(found.lastgroup[1:])] if found and found.lastgroup else None


@cache
def _table() -> list[dict[str, list[str]]]:
    found: list[dict[str, list[str]]] = parse(Path(__file__).parents[1].joinpath("failing.toml").read_text())[
        "line"
    ]
    return found


@cache
def _kinds() -> list[str]:
    return [str(one["kind"]) for one in _table()]


@cache
def _pattern() -> re.Pattern[str]:
    # What stands first in a line wins: of several at one place, the first kind.
    return re.compile("|".join(f"(?P<k{at}>{'|'.join(one['patterns'])})" for at, one in enumerate(_table())))


READER = Failing
